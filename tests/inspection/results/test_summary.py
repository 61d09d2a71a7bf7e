import pickle

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


def test_a_frame_has_a_row_for_each_class_and_term():
    frame = summarized().to_frame()
    assert frame["class"].tolist() == ["neg"] * 3 + ["pos"] * 3
    assert frame["term"].tolist() == ["good", "bad", "not good"] * 2
    assert frame["contribution"].tolist() == [-0.5, 0.25, 1.5, 0.5, -0.25, -1.5]
    assert frame["weight"].isna().tolist() == [True, True, False] * 2
    assert frame["contexts"][0] == ["A [good] film."]


def test_a_frame_without_terms_has_all_columns():
    empty = summarized(classes=())
    assert list(empty.to_frame().columns) == list(summarized().to_frame().columns)
    assert empty.to_frame()["decides"].dtype == float


def test_the_dict_holds_everything():
    found = summarized().to_dict()
    assert found["classes"][1]["terms"][2]["weight"] == -4.5
    assert found["classes"][0]["terms"][0]["contexts"][0]["start"] == 2
    assert found["removal"]["fall_all"] == 0.5


def test_a_summary_equals_its_pickle():
    summary = summarized()
    assert pickle.loads(pickle.dumps(summary)) == summary
    assert repr(summary) == "Summary(2 classes, 4 documents)"
