import dataclasses

from sk_han.inspection.summing_up import _MOST_REMOVALS
from tests.by_hand import summarized


def test_lines_name_terms_and_numbers():
    text = summarized().to_text(width=100).replace("\N{NO-BREAK SPACE}", " ")
    assert "Summary of 4 documents, drawn at random from 9" in text
    assert "good     +0.500          3     50 %" in text
    assert "not good              −1.500          1    100 %" in text
    assert "for neg, against pos" in text
    assert str(summarized()) == summarized().to_text()


def test_the_legend_says_of_how_many_documents_decisions_are_measured():
    said = " ".join(summarized().to_text().split())
    assert f"that have the term, or of up to {_MOST_REMOVALS} of them drawn at random" in said


def test_lines_keep_their_width():
    assert max(map(len, summarized().to_text(width=80).splitlines())) <= 80


def test_wide_characters_take_two_columns():
    first = summarized().classes[1]
    terms = [dataclasses.replace(first.terms[0], text=text) for text in ("很好", "good")]
    found = summarized(classes=(first, dataclasses.replace(first, terms=tuple(terms))))
    lines = [line for line in found.to_text().splitlines() if "+0.500" in line]
    assert [line.index("+0.500") for line in lines] == [7, 9]


def test_a_term_cannot_send_commands_to_the_terminal():
    first = summarized().classes[1]
    terms = (dataclasses.replace(first.terms[0], text="\x1b[31m\u202egood\n" + "x" * 99),)
    found = summarized(classes=(dataclasses.replace(first, terms=terms, label="\x1b[1m"),))
    assert "\x1b" not in found.to_text()
    assert "\u202e" not in found.to_text()


def test_of_many_classes_the_most_frequent_are_shown():
    first = summarized().classes[1]
    classes = [dataclasses.replace(first, label=f"c{n:02}", n_predicted=n) for n in range(13)]
    text = summarized(classes=tuple(classes)).to_text()
    assert "c12" in text
    assert "c02" not in text
    assert "... and 3 more classes" in text
