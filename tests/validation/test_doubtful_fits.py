"""A fit warns of doubtful data, once and at the line of the user."""

import warnings

import numpy as np
import pandas as pd
import pytest

from sk_han import DocumentArray, explain, explain_classes, report
from tests.tiny_models import LABELS, TEXTS, tiny

FEATURES = np.eye(7, dtype=int)[np.arange(100) % 7]  # a column of seven kinds, one-hot


@pytest.mark.parametrize("of_several", [False, True])
@pytest.mark.parametrize(
    ("other", "message"),
    [
        ("Pos", "alone: 'Pos' and 'pos'"),
        (" ", "look like missing values, and are learnt as any others: ' '"),
    ],
)
def test_a_fit_warns_of_doubtful_labels_once(of_several, other, message):
    frame = pd.DataFrame({other: [1, 0, 1] * 6, "pos": [0, 1, 1] * 6})
    y = frame if of_several else ["pos", other] * 9
    with pytest.warns(UserWarning, match=message) as told:
        model = tiny().fit(TEXTS, y)
    assert len(told) == 1
    assert set(model.classes_.tolist()) == {"pos", other}


@pytest.mark.parametrize("written", ["nan", "NaN", "None", "<NA> "])
def test_a_fit_warns_of_texts_that_are_missing_values(written):
    texts = [*TEXTS[:14], *4 * [written]]
    with pytest.warns(UserWarning, match=rf"4 of 18 texts are '{written.strip()}', probably miss"):
        tiny().fit(texts, LABELS)
    tiny().fit([*TEXTS[:14], *4 * [f"{written} of it"]], LABELS)


def test_a_fit_warns_of_validation_documents_among_training_documents():
    texts = [f"{text} {n}" for n in range(3) for text in TEXTS[:9]]
    labels = np.repeat(["a", "b", "c"], 9)
    with pytest.warns(UserWarning, match="27 of 27 validation documents are training documents"):
        tiny().fit(texts, labels, X_val=[text.upper() for text in texts], y_val=labels)
    tiny().fit(texts, labels, X_val=texts[:19], y_val=labels[:19])
    tiny().fit(texts, labels, X_val=[f"{text} new" for text in texts], y_val=labels)


def test_a_fit_counts_conflicts_among_documents_with_weight():
    documents = DocumentArray.from_nested([[[2 + n % 7, 9, 9 + n] * 4] for n in range(80)] * 2)
    labels = np.repeat(["a", "b"], 80)
    weights = np.ones(160)
    weights[:10] = 0
    with pytest.warns(UserWarning, match="140 of 150 documents "):
        model = tiny(validation_fraction=None).fit(documents, labels, sample_weight=weights)
    assert model.fit_summary_.n_conflicting == 140


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore:The network is useless")
def test_each_method_warns_of_a_reordered_index():
    X, turned = pd.Series(TEXTS), pd.Series(range(len(TEXTS)))[::-1]
    labels = pd.Series(LABELS)
    model = tiny().fit(X, labels)

    def told(names):
        return pytest.warns(UserWarning, match=f"{names} have the same index in another order")

    with told("X and sample_weight"):
        tiny().fit(X, labels, sample_weight=turned + 1)
    with told("X and groups"):
        tiny().fit(X, labels, groups=turned)
    with told("X and y"):
        report(model, X, labels[::-1], baseline=None)
    with told("X_train and y_train"):
        report(model, X, labels, X_train=X, y_train=labels[::-1], baseline=None)
    for explains in (explain, explain_classes):
        with told("X and y_true"):
            explains(model, X, y_true=labels[::-1], method="gradient_attention")


def test_a_table_of_numbers_warns_at_the_line_calling_fit():
    with pytest.warns(UserWarning, match="looks like a table of features") as warned:
        tiny().fit(FEATURES, np.arange(100) % 2)
    assert warned[0].filename == __file__


def warnings_of(learn):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        learn()
    assert all(warning.filename == __file__ for warning in caught)
    return [str(warning.message) for warning in caught]


def test_classes_of_a_single_document_are_named():
    labels = [*LABELS[:-2], "rare", "odd"]
    (message,) = warnings_of(lambda: tiny().fit(TEXTS, labels))
    assert message.startswith("2 of 4 classes have a single document: 'odd', 'rare'. It is")
    assert "trained on and not held out" in message


def test_a_document_of_weight_zero_does_not_count():
    weights = np.ones(len(TEXTS))
    weights[LABELS == "pos"] = 0
    weights[0] = 1
    (message,) = warnings_of(lambda: tiny().fit(TEXTS, LABELS, sample_weight=weights))
    assert "single document: 'pos'" in message


@pytest.mark.parametrize(
    ("params", "why"),
    [
        ({"validation_fraction": None}, "and validation_fraction is None. Give X_val"),
        ({"validation_fraction": 0.01}, "18 documents of 2 classes are too few to hold out"),
    ],
)
def test_early_stopping_without_held_out_documents_warns(params, why):
    classifier = tiny(n_iter_no_change=3, **params)
    (message,) = warnings_of(lambda: classifier.fit(TEXTS, LABELS))
    assert message.startswith("n_iter_no_change=3 has no effect without held-out documents")
    assert why in message


def test_documents_given_for_validation_are_enough_for_early_stopping():
    classifier = tiny(n_iter_no_change=3, validation_fraction=None)
    given = {"X_val": TEXTS, "y_val": LABELS}
    assert warnings_of(lambda: classifier.fit(TEXTS, LABELS, **given)) == []
