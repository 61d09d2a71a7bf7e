"""A fit warns of doubtful data, once and at the line of the user."""

import numpy as np
import pandas as pd
import pytest

from sk_han import DocumentArray, explain, explain_classes, report
from tests.tiny_models import LABELS, TEXTS, tiny

FEATURES = np.eye(7, dtype=int)[np.arange(100) % 7]  # a column of seven kinds, one-hot


@pytest.mark.parametrize("of_several", [False, True])
def test_a_fit_tells_them_once(of_several):
    frame = pd.DataFrame({"Pos": [1, 0, 1] * 6, "pos": [0, 1, 1] * 6})
    y = frame if of_several else ["pos", "Pos"] * 9
    with pytest.warns(UserWarning, match="alone: 'Pos' and 'pos'") as told:
        tiny().fit(TEXTS, y)
    assert len(told) == 1


@pytest.mark.parametrize("of_several", [False, True])
def test_a_fit_tells_of_a_blank_label(of_several):
    frame = pd.DataFrame({"pos": [1, 0, 1] * 6, " ": [0, 1, 1] * 6})
    y = frame if of_several else ["pos", " "] * 9
    with pytest.warns(UserWarning, match="A label is blank, ' ', and learnt as any other") as told:
        model = tiny().fit(TEXTS, y)
    assert len(told) == 1
    assert set(model.classes_.tolist()) == {"pos", " "}


@pytest.mark.parametrize("written", ["nan", "NaN", "None", "<NA> "])
def test_a_fit_tells_of_texts_that_are_missing_values(written):
    texts = [*TEXTS[:14], *4 * [written]]
    with pytest.warns(UserWarning, match=rf"4 of 18 texts are '{written.strip()}', probably miss"):
        tiny().fit(texts, LABELS)
    tiny().fit([*TEXTS[:14], *4 * [f"{written} of it"]], LABELS)


def test_a_fit_tells_of_validation_documents_that_are_training_documents():
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
def test_each_door_tells_of_an_order():
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
            explains(model, X, y_true=labels[::-1], method="attention")


def test_a_fit_warns_of_a_table_at_the_line_of_the_user():
    with pytest.warns(UserWarning, match="looks like a table of features") as warned:
        tiny().fit(FEATURES, np.arange(100) % 2)
    assert warned[0].filename == __file__
