"""Summaries as pages and as lines."""

import dataclasses

import pytest
from hypothesis import given

from sk_han import Summary
from tests.by_hand import PLACE, REMOVAL, summarized
from tests.html_page import ANYTHING, Page


def with_text(text: str) -> Summary:
    """Put a text wherever a document or a label has one."""
    place = dataclasses.replace(PLACE, before=text, written=text, after=text, predicted=text)
    classes = [
        dataclasses.replace(
            found,
            label=text + str(number),
            terms=tuple(
                dataclasses.replace(term, text=text, contexts=(place,)) for term in found.terms
            ),
        )
        for number, found in enumerate(summarized().classes * 2)
    ]
    return summarized(classes=tuple(classes))


@pytest.mark.parametrize("full_page", [True, False])
def test_a_page_has_terms_numbers_and_places(full_page):
    page = Page(summarized().to_html(full_page=full_page))
    for text in ("good", "not good", "+0.500", "−1.5", "100\N{NO-BREAK SPACE}%", "document 7"):
        assert text in page.all_text


def test_two_classes_are_one_table():
    page = Page(summarized().to_html())
    assert page.all_text.count("linear models") == 2  # heading of the class, and of the part
    assert "for neg, against pos" in page.all_text


def test_a_summary_that_measured_no_decisions_has_no_column_of_them():
    classes = [
        dataclasses.replace(
            found,
            terms=tuple(dataclasses.replace(term, decides=None) for term in found.terms),
            removal=None,
        )
        for found in summarized().classes
    ]
    unmeasured = summarized(classes=tuple(classes), removal=None)
    assert "decides" not in Page(unmeasured.to_html()).all_text + unmeasured.to_text()
    assert Page(summarized().to_html()).all_text.count("decides") > 1


def test_more_classes_are_ordered_by_documents_and_the_later_ones_folded():
    first = summarized().classes[0]
    classes = tuple(
        dataclasses.replace(first, label=f"class {n}", n_predicted=n) for n in (1, 5, 3, 2)
    )
    page = Page(summarized(classes=classes).to_html())
    folds = page.attributes("details", "han-document")
    assert ["open" in fold for fold in folds] == [True, True, True, False]
    places = [page.all_text.index(f"class {n}") for n in (5, 3, 2, 1)]
    assert places == sorted(places)


@pytest.mark.parametrize(("fall", "fall_random", "fall_all"), [(0.6, 0.1, 0.5), (0.3, -0.01, 0.5)])
def test_falls_that_are_no_share_of_that_without_words_are_not_written_as_one(
    fall, fall_random, fall_all
):
    falls = {"fall": fall, "fall_random": fall_random, "fall_all": fall_all}
    removal = dataclasses.replace(REMOVAL, **falls)
    assert "listed words explain" not in Page(summarized(removal=removal).to_html()).all_text


def test_a_fall_that_rounds_to_0_has_no_sign():
    removal = dataclasses.replace(REMOVAL, fall=-0.11, fall_random=-0.004)
    text = Page(summarized(removal=removal).to_html()).all_text
    minus = "\N{MINUS SIGN}"
    assert f"{minus}0.11" in text
    assert "as many random words0.00" in text
    assert f"{minus}0.00" not in text


def test_the_page_says_what_the_shown_words_carry():
    text = Page(summarized().to_html()).all_text.replace("\N{NO-BREAK SPACE}", " ")
    assert "explain 50 % of the drop without any words, random words 10 %" in text
    assert "was not measured" in Page(summarized(removal=None).to_html()).all_text


@given(ANYTHING)
def test_any_text_makes_a_whole_page(text):
    html = with_text(text).to_html()
    html.encode()
    Page(html)


def test_a_summary_without_classes_or_terms_is_a_page():
    Page(summarized(classes=()).to_html())
    empty = [dataclasses.replace(found, terms=()) for found in summarized().classes]
    assert Page(summarized(classes=tuple(empty)).to_html()).all_text.count("none") == 4


def test_lines_name_terms_and_numbers():
    text = summarized().to_text(width=100).replace("\N{NO-BREAK SPACE}", " ")
    assert "Summary of 4 documents, drawn at random from 9" in text
    assert "good           +0.500          3     50 %" in text
    assert "not good                    −1.500          1    100 %" in text
    assert "for neg, against pos" in text
    assert str(summarized()) == summarized().to_text()


def test_the_legend_says_of_how_many_documents_decisions_are_measured():
    said = " ".join(summarized().to_text().split())
    assert "the share of these documents (of 100 drawn from more)" in said


def test_lines_keep_their_width():
    assert max(map(len, summarized().to_text(width=80).splitlines())) <= 80


def test_wide_characters_take_two_columns():
    first = summarized().classes[1]
    terms = [dataclasses.replace(first.terms[0], text=text) for text in ("很好", "good")]
    found = summarized(classes=(first, dataclasses.replace(first, terms=tuple(terms))))
    lines = [line for line in found.to_text().splitlines() if "+0.500" in line]
    assert [line.index("+0.500") for line in lines] == [13, 15]


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
