import re

import pytest

from sk_han.tagging import tagged_html, tagged_text

ANSI = re.compile("\x1b\\[[0-9;]*m")
SENTENCE = ["New", "York", "City", "greets", "Anna"]
LABELS = ["B-LOC", "I-LOC", "B-LOC", "O", "B-PER"]


def plain(tokens, labels, **options):
    return tagged_text([tokens], [labels], **{"color": False, "width": 80} | options)


def test_chunks_stand_in_brackets_and_other_labels_behind_a_slash():
    assert plain(SENTENCE, LABELS) == "[New York]LOC [City]LOC greets [Anna]PER"
    assert plain(["It", "is"], ["PRP", "VBZ"]) == "It/PRP is/VBZ"


def test_an_inside_without_a_beginning_begins_a_chunk():
    assert plain(["a", "b", "c"], ["I-X", "O", "I-X"]) == "[a]X b [c]X"
    assert plain(["a", "b"], ["B-X", "I-Y"]) == "[a]X [b]Y"


def test_any_tokens_and_labels_are_shown():
    assert plain([("Anna", "NNP")], ["B-PER"]) == "[Anna]PER"
    assert plain(["a", "b"], [3, True]) == "a/3 b/True"
    assert plain([], []) == tagged_text([], []) == ""


def test_colour_adds_codes_and_ends_them():
    colored = tagged_text([SENTENCE], [LABELS], color=True, width=80)
    assert ANSI.sub("", colored) == "New York LOC City LOC greets Anna PER"
    assert colored.count("\x1b[0m") == len(ANSI.findall(colored)) / 2


def test_lines_are_no_wider_than_asked():
    text = tagged_text([["word"] * 50], [["B-X"] * 50], color=True, width=40)
    assert max(len(ANSI.sub("", line)) for line in text.splitlines()) <= 40


@pytest.mark.parametrize("color", [True, False])
def test_a_word_cannot_command_the_terminal(color):
    text = tagged_text([["\x1b[31m", "a\nb"]], [["\x1b[2J", "O"]], color=color, width=80)
    assert "\x1b[31m" not in text
    assert "\x1b[2J" not in text
    assert len(text.splitlines()) == 1


def test_html_marks_chunks_with_their_label():
    html = tagged_html([SENTENCE], [LABELS], full_page=False)
    assert html.count("<mark") == 3
    assert re.search(r'<mark class="\w+">New York</mark><sub[^>]*><bdi>LOC</bdi>', html)


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
