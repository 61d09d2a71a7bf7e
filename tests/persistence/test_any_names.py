"""Any words and any labels come back from a file."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sk_han import HierarchicalTokenizer, load, save
from tests.tiny_models import UNSEEN, fitted_classifier, with_classes


@pytest.fixture(scope="module")
def fitted():
    return fitted_classifier()


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("models") / "model.han"


# Lone surrogates, NUL and private characters too.
ANY_STRING = st.text(st.characters(codec=None, categories=None), max_size=8)
LABEL = ANY_STRING.filter(lambda label: not label.endswith("\0"))  # others are refused


class TestAnyModel:
    @pytest.mark.thorough
    @given(words=st.lists(ANY_STRING.filter(len), min_size=1, max_size=6, unique=True))
    def test_a_tokenizer_comes_back_with_its_words(self, path, words):
        tokenizer = HierarchicalTokenizer(vocabulary=words).fit(["a"])
        save(tokenizer, path)
        loaded = load(path)
        assert list(loaded.vocabulary_.items()) == list(tokenizer.vocabulary_.items())
        assert loaded.vocabulary == words

    @settings(max_examples=12)
    @given(
        labels=st.lists(LABEL, min_size=2, max_size=2, unique=True)
        | st.lists(st.integers(-(2**63), 2**63 - 1), min_size=2, max_size=2, unique=True)
        | st.just([True, False])
    )
    def test_a_classifier_comes_back_with_its_labels(self, fitted, path, labels):
        dtype = object if isinstance(labels[0], str) else None
        classifier = with_classes(fitted, np.array(sorted(labels), dtype=dtype))
        save(classifier, path)
        loaded = load(path)
        assert loaded.classes_.dtype == classifier.classes_.dtype
        assert loaded.classes_.tolist() == sorted(labels)
        assert loaded.predict(UNSEEN).tolist() == classifier.predict(UNSEEN).tolist()
