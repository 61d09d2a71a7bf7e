import numpy as np
import pandas as pd
import pytest
import torch

from sk_han.tagging import TaggingNetwork
from sk_han.tagging.tags import as_sentences, as_tags, check_iob2, chunks_of


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


def test_any_sequences_hold_sentences_tokens_with_columns_and_labels():
    frame = pd.DataFrame({"tokens": [["a", "b"], []], "tags": [["A", "B"], []]}, index=[7, 3])
    assert as_sentences(frame["tokens"]) == [[("a",), ("b",)], []]
    assert as_tags(frame["tags"], [2, 0]).tolist() == ["A", "B"]
    assert as_sentences([[("a", "N"), ["b", "V"]], []]) == [[("a", "N"), ("b", "V")], []]
    assert as_sentences([np.array(["c"])]) == [[("c",)]]
    assert as_tags((["A"], [], ("B", "A")), [1, 0, 2]).tolist() == ["A", "B", "A"]
