"""Lines of a terminal, which no document breaks, and which have an end."""

import re
from dataclasses import replace

import pytest

from tests.by_hand import explained, signed, summarized
from tests.rendering.test_pages import EXAMPLES, with_text

# Of the bidirectional algorithm: marks, embeddings, overrides, isolates.
DIRECTIONS = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
HAN = "这部电影非常精彩演员的表演令人难忘"


def plain(explanation, width=80):
    return explanation.to_text(width=width)


@pytest.mark.parametrize("result", with_text(f"Evil \x1b[2J\x07 \x9b31m {DIRECTIONS}\ud800\r\n"))
def test_no_text_sends_commands_to_the_terminal_or_turns_it_round(result):
    shown = result.to_text(width=200)
    assert not re.search(f"[\x00-\x09\x0b-\x1f\x7f-\x9f{DIRECTIONS}\ud800]", shown)
    assert "\ufffd" in shown


def test_a_direction_is_replaced_within_a_word_and_right_to_left_text_stays():
    assert "b\ufffdd שלום" in plain(explained("b\u202ed שלום عالم"))


@pytest.mark.parametrize("width", [61, 79])
def test_lines_fit_the_width(width):
    texts = {"url": explained("https://example.org/" + "path/" * 40), "wide": explained(HAN * 5)}
    for name, result in (EXAMPLES | texts).items():
        for line in result.to_text(width=width).splitlines():
            assert len(line) + len(re.findall("[\u4e00-\u9fff]", line)) <= width, name


def test_wrapping_loses_nothing_but_blanks():
    text = f"{HAN} and  it\twas \n fun." * 9
    lines = plain(signed(text, contributions=[0] * len(signed(text).words)), width=40).splitlines()
    body = "".join(line[14:] for line in lines[1:] if line.startswith((" " * 14, "+", "-")))
    assert "".join(body.split()) == "".join(text.split())


def test_wide_characters_take_two_columns_of_a_table():
    of_class = summarized().classes[1]
    terms = [replace(of_class.terms[0], text=text) for text in ("很好", "good")]
    found = summarized(classes=[replace(of_class, terms=terms)])
    lines = [line for line in found.to_text().splitlines() if "+0.500" in line]
    assert [line.index("+0.500") for line in lines] == [13, 15]


def test_line_breaks_within_a_sentence_do_not_break_the_layout():
    assert "1.000 ██████ one two" in plain(signed("one\r\t two.", contributions=[0.1, 1]))


def test_long_documents_show_the_sentences_of_largest_weight():
    text = plain(explained(" ".join(f"Sentence {i}." for i in range(50))))
    assert "... 30 sentences with 0.365 of the attention" in text
    assert "Sentence 29" not in text
    assert "Sentence 30" in text


def test_of_a_long_sentence_the_first_characters_are_shown_and_the_others_counted():
    text = " ".join(plain(signed("abc " * 5000)).split())
    assert f"{'abc ' * 1500}… 14,000 more characters" in text


@pytest.mark.parametrize("text", ["word " * 100_000, "w" * 1_000_000, "w " + "!" * 1_000_000])
def test_the_size_of_what_is_printed_is_bounded(text):
    assert len(plain(explained(text))) < 20_000


def test_many_long_sentences_share_the_room():
    text = ". ".join(" ".join(f"s{i}w{j}" for j in range(200)) for i in range(20))
    shown = plain(explained(text))
    assert len({*re.findall(r"\bs(\d+)w\d+", shown)}) == 20
    assert len(shown) < 10_000
