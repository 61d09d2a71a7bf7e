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
    assert page.all_text.count("by the linear models") == 2  # heading of the class, and of the part
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
    assert "carry" not in Page(summarized(removal=removal).to_html()).all_text


def test_a_fall_that_rounds_to_0_has_no_sign():
    removal = dataclasses.replace(REMOVAL, fall=-0.11, fall_random=-0.004)
    text = Page(summarized(removal=removal).to_html()).all_text
    minus = "\N{MINUS SIGN}"
    assert f"falls by {minus}0.11 on average" in text
    assert "drawn at random: 0.00 and" in text
    assert f"{minus}0.00" not in text


def test_the_page_says_what_the_shown_words_carry():
    text = Page(summarized().to_html()).all_text.replace("\N{NO-BREAK SPACE}", " ")
    assert "carry 50 % of what all words do, those drawn at random 10 %" in text
    assert "was not measured" in Page(summarized(removal=None).to_html()).all_text


def test_markup_in_words_is_shown_and_not_obeyed():
    html = with_text("<script>alert(1)</script>").to_html()
    assert "<script" not in html
    assert "&lt;script&gt;alert(1)" in html


@given(ANYTHING)
def test_any_text_makes_a_whole_page(text):
    html = with_text(text).to_html()
    html.encode()
    Page(html)


def test_a_summary_without_classes_or_terms_is_a_page():
    Page(summarized(classes=()).to_html())
    empty = [dataclasses.replace(found, terms=()) for found in summarized().classes]
    assert Page(summarized(classes=tuple(empty)).to_html()).all_text.count("none") == 4
