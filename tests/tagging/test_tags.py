import numpy as np
import pandas as pd
import pytest
import torch

from sk_han.tagging import TaggingNetwork, tagged_html, tagged_text
from sk_han.tagging._tags import as_sentences, as_tags, iob2_chunks

SENTENCE = ["New", "York", "City", "greets", "Anna"]
LABELS = ["B-LOC", "I-LOC", "B-LOC", "O", "B-PER"]


SHOWN = [
    (SENTENCE, LABELS, "[New York]LOC [City]LOC greets [Anna]PER"),
    (["It", "is"], ["PRP", "VBZ"], "It/PRP is/VBZ"),
    (["a", "b", "c"], ["I-X", "O", "I-X"], "[a]X b [c]X"),
    (["a", "b"], ["B-X", "I-Y"], "[a]X [b]Y"),
    ([("Anna", "NNP")], ["B-PER"], "[Anna]PER"),
    (["a", "b"], [3, True], "a/3 b/True"),
    ([], [], ""),
]


@pytest.mark.parametrize(("tokens", "labels", "shown"), SHOWN)
def test_chunks_stand_in_brackets_and_other_labels_behind_a_slash(tokens, labels, shown):
    assert tagged_text([tokens], [labels], width=80) == shown
    lines = tagged_text([tokens * 50], [labels * 50], width=40).splitlines()
    assert max(map(len, lines), default=0) <= 40


def test_a_word_cannot_command_the_terminal():
    text = tagged_text([["\x1b[31m", "a\nb"]], [["\x1b[2J", "O"]], width=80)
    assert "\x1b[31m" not in text
    assert "\x1b[2J" not in text
    assert len(text.splitlines()) == 1


def test_html_escapes_words_and_labels():
    html = tagged_html([["<script>alert(1)</script>", "b"]], [["B-<i>", "<script>"]])
    assert "<script" not in html
    assert "<i>" not in html


def test_every_token_needs_a_label():
    for render in (tagged_text, tagged_html):
        with pytest.raises(ValueError, match="Sentence 1 has 2 tokens and 1 label:"):
            render([["a"], ["b", "c"]], [["O"], ["O"]])
        with pytest.raises(ValueError, match="2 sentences and labels of 1"):
            render([["a"], ["b"]], [["O"]])


def test_forbidden_pairs_of_iob2_labels_have_infinite_scores():
    labels = ["B-x", "B-y", "I-x", "I-y", "O"]
    allowed = {("B-x", "I-x"), ("I-x", "I-x"), ("B-y", "I-y"), ("I-y", "I-y")}
    chunks = torch.from_numpy(iob2_chunks(np.array(labels)))
    network = TaggingNetwork([3], len(labels), chunks=chunks, crf=False)
    found = torch.vstack([each.view(-1, len(labels)) for each in network._chain()]).isinf()
    for i, before in enumerate(["start", *labels]):
        for j, label in enumerate(labels):
            assert found[i, j] == (label[0] == "I" and (before, label) not in allowed)


def test_any_sequences_hold_sentences_tokens_with_columns_and_labels():
    frame = pd.DataFrame({"tokens": [["a", "b"], []], "tags": [["A", "B"], []]}, index=[7, 3])
    assert as_sentences(frame["tokens"]) == [[("a",), ("b",)], []]
    assert as_tags(frame["tags"], [2, 0]).tolist() == ["A", "B"]
    assert as_sentences([[("a", "N"), ["b", "V"]], []]) == [[("a", "N"), ("b", "V")], []]
    assert as_sentences([np.array(["c"])]) == [[("c",)]]
    assert as_tags((["A"], [], ("B", "A")), [1, 0, 2]).tolist() == ["A", "B", "A"]
