import numpy as np
import pandas as pd
import pytest
import torch

from sk_han.tagging import TaggingNetwork
from sk_han.tagging.token_checks import as_sentences, as_tags, check_iob2, chunks_of


def test_words_become_tuples():
    assert as_sentences([["a", "b"], [], np.array(["c"])]) == [[("a",), ("b",)], [], [("c",)]]


def test_columns_are_kept_and_labels_become_one_array():
    assert as_sentences([[("a", "N"), ["b", "V"]]]) == [[("a", "N"), ("b", "V")]]
    assert as_tags((["A"], [], ("B", "A")), [1, 0, 2]).tolist() == ["A", "B", "A"]


def test_every_pair_of_iob2_labels():
    labels = ["B-x", "B-y", "I-x", "I-y", "O"]
    allowed = {("B-x", "I-x"), ("I-x", "I-x"), ("B-y", "I-y"), ("I-y", "I-y")}
    chunks = torch.from_numpy(chunks_of(np.array(labels)))
    network = TaggingNetwork([3], len(labels), chunks=chunks, crf=False)
    found = torch.vstack([each.view(-1, len(labels)) for each in network._chain()]).isinf()
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


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([{"a", "b"}], "Sentence 0 of X is a set"),
        (pd.DataFrame({"word": ["a"], "tag": ["N"]}), r"X is a DataFrame.*groupby"),
        ([["a"], pd.DataFrame({"word": ["a"]})], r"Sentence 1 of X is a DataFrame.*groupby"),
        ((sentence for sentence in [["a"]]), r"X is a generator.*list\(\.\.\.\)"),
        ([["a", float("nan")]], "Token 1 of sentence 0 of X is nan.*leave it out"),
    ],
)
def test_what_has_no_order_or_would_lose_its_tokens_is_refused(X, message):
    with pytest.raises(TypeError, match=message):
        as_sentences(X)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (3, "y is a int; expected a list"),
        ({0: ["A"]}, "y is a dict; expected a list"),
        (["A"], "Sentence 0 of y is the string 'A'; expected a list of labels, one for each token"),
        ([[1.0]], r"label 1.0 of type float.*str\(label\)"),
    ],
)
def test_labels_of_no_sentences_are_refused(y, message):
    with pytest.raises(TypeError, match=message):
        as_tags(y, [1])


def test_columns_of_pandas_hold_sentences_and_labels():
    frame = pd.DataFrame({"tokens": [["a", "b"], []], "tags": [["A", "B"], []]}, index=[7, 3])
    assert as_sentences(frame["tokens"]) == [[("a",), ("b",)], []]
    assert as_tags(frame["tags"], [2, 0]).tolist() == ["A", "B"]
