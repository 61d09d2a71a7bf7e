import pytest

from sk_han.inspection import Removal
from tests.by_hand import REMOVAL, summarized


def test_a_class_is_found_by_its_label():
    assert summarized()["pos"].label == "pos"
    with pytest.raises(KeyError, match=r"'good' is not one of the classes 'neg', 'pos'"):
        summarized()["good"]


def test_terms_are_found_by_part_and_side():
    found = summarized()["pos"]
    assert [term.text for term in found.of("network", speaks_for=True)] == ["good"]
    assert [term.text for term in found.of("network", speaks_for=False)] == ["bad"]
    assert found.of("ngrams", speaks_for=True) == ()


def test_shown_words_carry_a_share_of_what_all_words_do():
    assert REMOVAL.carried == 0.5
    assert REMOVAL.carried_random == 0.1
    for little in (0.0, 0.001):
        assert Removal(1, 0, 0.3, 0, little, 0, 0, 0).carried is None


def test_a_frame_without_terms_has_all_columns():
    empty = summarized(classes=())
    assert list(empty.to_frame().columns) == list(summarized().to_frame().columns)
    assert empty.to_frame()["decides"].dtype == float
