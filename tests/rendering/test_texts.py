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
def test_control_and_direction_characters_do_not_reach_the_terminal(result):
    shown = result.to_text(width=200)
    assert not re.search(f"[\x00-\x09\x0b-\x1f\x7f-\x9f{DIRECTIONS}\ud800]", shown)
    assert "\ufffd" in shown


@pytest.mark.parametrize("width", [61, 79])
def test_lines_fit_the_width(width):
    texts = {"url": explained("https://example.org/" + "path/" * 40), "wide": explained(HAN * 5)}
    for name, result in (EXAMPLES | texts).items():
        for line in result.to_text(width=width).splitlines():
            assert len(line) + len(re.findall("[\u4e00-\u9fff]", line)) <= width, name


def test_wrapping_loses_only_blanks():
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
