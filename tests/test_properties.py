"""What holds for any text, from the raw text to probabilities and explanations."""

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sk_han import HierarchicalTokenizer
from tests.growth import LIMIT, growth
from tests.thorough import first_fast
from tests.tiny_models import tiny

TEXTS = ["It was a good day. The sun shone!", "A bad day. Rain, and more rain."] * 8
LABELS = ["pos", "neg"] * 8
ANY_TEXT = st.one_of(
    st.text(st.characters(codec=None, categories=None), max_size=60),
    st.lists(st.sampled_from(["good", "rain", "day.", "!\n\n", "zyxxy"]), max_size=30).map(
        " ".join
    ),
)


@pytest.fixture(scope="module")
def fitted():
    return tiny().fit(TEXTS, LABELS)


class TestAnyText:
    @given(texts=st.lists(ANY_TEXT, min_size=2, max_size=5))
    def test_probabilities_depend_on_the_document_alone_and_sum_to_one(self, fitted, texts):
        together = fitted.predict_proba(texts)
        assert (together >= 0).all()
        np.testing.assert_allclose(together.sum(axis=1), 1)
        alone = np.concatenate([fitted.predict_proba([text]) for text in texts])
        np.testing.assert_allclose(together, alone, atol=1e-6)
        padded = fitted.tokenizer_.transform(texts).pad()
        np.testing.assert_array_equal(fitted.predict_proba(padded), fitted.predict_proba(texts))

    @pytest.mark.thorough
    @given(text=ANY_TEXT)
    def test_offsets_of_an_explanation_slice_its_text(self, fitted, text):
        explanation = fitted.explain([text])[0]
        assert explanation.text == text
        assert tuple(text[a:b] for a, b in explanation.word_spans) == explanation.words
        assert tuple(text[a:b] for a, b in explanation.sentence_spans) == explanation.sentences

    @given(text=ANY_TEXT)
    def test_attention_sums_to_one_where_there_are_words(self, fitted, text):
        explanation = fitted.explain([text])[0]
        of_sentences = np.bincount(explanation.sentence_of_word, explanation.word_attention)
        np.testing.assert_allclose(of_sentences, 1, atol=1e-6)
        total = explanation.combined_attention.sum()
        assert total == pytest.approx(1 if explanation.words else 0, abs=1e-6)


class TestHostileText:
    """Characters that make patterns with nested quantifiers take quadratic time, or worse."""

    @pytest.mark.parametrize("piece", first_fast(["\u0301\u0316", "a", ".", "\n", "<", "http://"]))
    def test_a_million_characters_are_read_in_seconds(self, piece):
        tokenizer = HierarchicalTokenizer(vocabulary=["a"], strip_accents="unicode").fit(["a"])
        text = piece * (1_000_000 // len(piece))
        start = time.process_time()
        tokenizer.spans([text])
        assert time.process_time() - start < 10

    @pytest.mark.thorough
    @pytest.mark.parametrize("piece", first_fast([".", "a", "\n", "<", "&", "a. "]))
    def test_explaining_and_rendering_hostile_text_takes_linear_time(self, fitted, piece):
        def show(n_characters):
            explanation = fitted.explain([piece * (n_characters // len(piece))])[0]
            return explanation.to_html(), str(explanation)

        assert growth(show) <= LIMIT
