"""Tables of results with strings that UTF-8 cannot hold, as pandas 3 keeps strings."""

import pytest

from sk_han import explain
from sk_han.translation import Alignment
from tests.tiny_models import TEXTS, tiny

pandas = pytest.importorskip("pandas")

LONE = "\ud800"
TEXTS = [f"{text} Odd{LONE} word." for text in TEXTS]
LABELS = 3 * (3 * [f"pos{LONE}"] + 3 * [f"neg{LONE}"])


@pytest.fixture(scope="module")
def classifier():
    return tiny().fit(TEXTS, LABELS)


@pytest.fixture(scope="module")
def explanations(classifier):
    return explain(classifier, TEXTS, y_true=LABELS)


@pytest.mark.parametrize("level", ["document", "sentence", "word"])
def test_explanations_are_returned_as_frames(explanations, level):
    frame = explanations.to_frame(level)
    assert frame["target"][0] == f"pos{LONE}"
    if level == "document":
        assert frame["text"].tolist() == TEXTS
        assert frame["true"].tolist() == LABELS
    assert explanations.mistakes()[:0].to_frame(level).columns.tolist() == frame.columns.tolist()


def test_an_alignment_is_returned_as_a_frame():
    frame = Alignment("", "", [LONE, "a"], [f"b{LONE}"], [[0.5, 0.5]]).to_frame()
    assert frame.loc[f"b{LONE}", LONE] == 0.5
