import pytest

from tests.by_hand import summarized


def test_a_class_is_found_by_its_label():
    assert summarized()["pos"].label == "pos"
    with pytest.raises(KeyError, match=r"'good' is not one of the classes 'neg', 'pos'"):
        summarized()["good"]
