import numpy as np
import pytest

from sk_han.validation.sentences import as_sentences, as_tags, check_iob2, forbidden_by_iob2


def test_words_become_tuples():
    assert as_sentences([["a", "b"], [], np.array(["c"])]) == [[("a",), ("b",)], [], [("c",)]]


def test_columns_are_kept():
    assert as_sentences([[("a", "N"), ["b", "V"]]]) == [[("a", "N"), ("b", "V")]]


def test_labels_become_one_array():
    assert as_tags([["A"], [], ("B", "A")], [1, 0, 2]).tolist() == ["A", "B", "A"]


def test_every_pair_of_iob2_labels():
    labels = ["B-x", "B-y", "I-x", "I-y", "O"]
    allowed = {("B-x", "I-x"), ("I-x", "I-x"), ("B-y", "I-y"), ("I-y", "I-y")}
    found = forbidden_by_iob2(np.array(labels))
    for i, before in enumerate(["start", *labels]):
        for j, label in enumerate(labels):
            assert found[i, j] == (label[0] == "I" and (before, label) not in allowed)


@pytest.mark.parametrize(
    ("labels", "lengths", "message"),
    [
        (["O", "B-x", "I-x"], [2, 1], "Token 0 of sentence 1 .*'I-x' after the start"),
        (["B-y", "I-x", "B-x"], [0, 3], "Token 1 of sentence 1 .*'I-x' after 'B-y'"),
    ],
)
def test_the_first_wrong_token_is_named(labels, lengths, message):
    classes, targets = np.unique(labels, return_inverse=True)
    with pytest.raises(ValueError, match=message):
        check_iob2(targets, np.array(lengths), classes)


def test_right_labels_pass():
    classes, targets = np.unique(["O", "B-x", "I-x", "I-x", "B-x"], return_inverse=True)
    check_iob2(targets, np.array([0, 4, 0, 1, 0]), classes)
