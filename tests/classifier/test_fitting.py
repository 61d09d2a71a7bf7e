"""What one fit takes from what the user hands over."""

import numpy as np
import pytest

from sk_han import DocumentArray
from tests.tiny_models import LABELS, TEXTS, tiny


def logits(classifier, X):
    return np.log(classifier.predict_proba(X))


def state_of(classifier):
    return sorted(name for name in vars(classifier) if name.endswith("_"))


@pytest.mark.parametrize(
    ("params", "arguments"),
    [
        ({"lr": -1.0}, {}),
        ({"embedding_init": "word2vec"}, {}),
        ({}, {"sample_weight": np.zeros(len(LABELS))}),
        ({}, {"X_val": TEXTS[:2]}),
        ({}, {"X_val": TEXTS[:2], "y_val": ["pos", "maybe"]}),
        ({"class_weight": {"maybe": 1.0}}, {}),
    ],
    ids=str,
)
def test_nothing_is_fitted_when_a_check_fails(params, arguments):
    classifier = tiny(**params)
    with pytest.raises(ValueError):
        classifier.fit(TEXTS, LABELS, **arguments)
    assert state_of(classifier) == []


def test_documents_of_weight_zero_are_left_out():
    # As word ids: a tokenizer reads the words of all documents, whatever they weigh.
    X = DocumentArray.from_nested(6 * [[[2, 3], [4]], [[3, 5]]])
    y, weights = np.array(6 * ["pos", "neg"]), np.ones(12)
    params = {"validation_fraction": None, "linear_ngrams": None, "batch_size": 12}
    weights[[0, 5]] = 0
    y_of_others = y.copy()
    y_of_others[[0, 5]] = ["neg", "pos"]
    weighted = tiny(**params).fit(X, y_of_others, sample_weight=weights)
    shorter = tiny(**params).fit(X[weights > 0], y[weights > 0])
    np.testing.assert_array_equal(weighted.predict_proba(X), shorter.predict_proba(X))


def test_ids_beyond_the_vocabulary_are_unknown_in_documents_for_validation():
    X = DocumentArray.from_nested(6 * [[[2, 3], [4]], [[3, 2]]])
    y = np.array(6 * ["pos", "neg"])
    beyond, unknown = (DocumentArray.from_nested([[[2, i]], [[i, 4]]]) for i in (99, 1))
    losses = [
        tiny(max_epochs=2).fit(X, y, X_val=X_val, y_val=["pos", "neg"]).history_[-1]["valid_loss"]
        for X_val in (beyond, unknown)
    ]
    assert losses[0] == losses[1]


def test_a_failed_check_leaves_the_earlier_fit():
    classifier = tiny().fit(TEXTS, LABELS)
    before = classifier.predict_proba(TEXTS)
    with pytest.raises(ValueError, match="X_val and y_val"):
        classifier.fit(TEXTS, LABELS, X_val=TEXTS[:2])
    np.testing.assert_array_equal(classifier.predict_proba(TEXTS), before)
