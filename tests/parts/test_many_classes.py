"""Classifiers of many classes: their linear model, which does not learn portion by portion."""

import numpy as np
import pytest

from sk_han import HANClassifier

K = 37  # more than 30 problems have weights of TF-IDF
NUMBERS = np.random.RandomState(0).permutation(np.arange(5 * K) % K)
TEXTS = [f"topic{k} is here, said word{i % 19}. Topic{k}." for i, k in enumerate(NUMBERS)]


@pytest.fixture(scope="module")
def fitted():
    params = {"embedding_dim": 8, "word_hidden": 4, "sentence_hidden": 4, "max_epochs": 1}
    classes = [f"class {number}" for number in NUMBERS]
    return HANClassifier(**params, random_state=0).fit(TEXTS, classes)


def test_later_portions_do_not_change_the_ngram_model(fitted):
    before = fitted.ngram_model_
    again = HANClassifier().set_params(**fitted.get_params())
    again.from_state(fitted.to_state())
    with pytest.warns(UserWarning, match=f"model of {K} classes or labels stays as it is"):
        again.partial_fit(TEXTS[:40], [f"class {number}" for number in NUMBERS[:40]])
    np.testing.assert_array_equal(again.ngram_model_.weights, before.weights)


def test_without_repeated_ngrams_only_the_network_is_fitted():
    texts, labels = [f"a{i} b{i}" for i in range(2 * K)], np.arange(2 * K) % K
    classifier = HANClassifier(max_epochs=1, embedding_dim=5, random_state=0).fit(texts, labels)
    assert classifier.ngram_model_ is None
