"""Reports as pages and as lines."""

import dataclasses
import re

import numpy as np
import pytest

from sk_han import ExplanationList
from tests.by_hand import explained, signed
from tests.html_page import Page
from tests.reports import (
    made,
    made_of_labels,
    of_size,
    one_document,
)


def section(report, title):
    """The text of a section, in one line."""
    found = re.search(rf"<h2[^>]*>{title}</h2>(.*?)(<h2|</main>)", report.to_html(), re.DOTALL)
    return Page(found[1]).line


def test_the_legend_stands_once_for_all_mistakes():
    page = made().to_html()
    assert page.count("han-legend han-small") == 1
    assert page.index("han-legend han-small") < page.index("<h4")


def test_the_strongest_sentence_toward_the_predicted_label_misled():
    explanation = signed("Not bad. Good. Fine.", sentence_contributions=[-3, 0.5, 0.25])
    found = section(made(mistakes=ExplanationList([explanation] * 2)), "Most confident mistakes")
    assert "Document 2: predicted pos (90 %), labelled neg" in found
    assert "Misled by “Good.” (+0.500)" in found
    assert "This label may be wrong." in found


def test_a_column_may_have_misled():
    columns = {"column_names": ["<b>"], "column_values": ["1"], "column_contributions": [2]}
    explanation = signed("Not bad. Good.", sentence_contributions=[-3, 0.5], **columns)
    found = section(made(mistakes=ExplanationList([explanation] * 2)), "Most confident mistakes")
    assert "Misled by <b> = 1 (+2.000)" in found


def test_the_value_of_the_sentence_that_misled_may_be_unclear():
    unclear = signed("Bad. Good.", sentence_contributions=[0, 0.6], sentence_errors=[0.4, 0.4])
    found = section(made(mistakes=ExplanationList([unclear] * 2)), "Most confident mistakes")
    assert "Misled by “Good.” (\N{ALMOST EQUAL TO}+1)" in found


@pytest.mark.parametrize(
    "explanation", [signed("Bad.", sentence_contributions=[-1]), explained("?!")]
)
def test_where_nothing_misled_that_is_said(explanation):
    found = section(made(mistakes=ExplanationList([explanation] * 2)), "Most confident mistakes")
    assert "Nothing speaks for pos." in found


def test_a_page_without_texts_lists_numbers_alone():
    report = made(texts=None, mistakes=ExplanationList())
    assert Page(report.to_html()).attributes("p", "han-whole") == []
    found = section(report, "Most confident mistakes")
    assert "Document 2: predicted pos (90 %), labelled neg" in found


def test_each_kind_of_mistake_is_counted_in_the_matrix():
    cells = [cell["title"] for cell in Page(made().to_html()).attributes("td") if "title" in cell]
    assert len(cells) == 5
    assert {"neg, neg: 2 documents", "new, pos: 1 document"} < set(cells)


def test_bars_of_calibration_have_a_tick_at_the_probability():
    html = one_document(right=True).to_html()
    assert 'style="width:100.0%"></i><b style="inset-inline-start:90.0%">' in html
    found = section(one_document(right=True), "Calibration and length")
    assert found.count("1.000 [0.207, 1.000]1") == 3  # by probability, by coverage, by length
    assert "Documents by length" not in made(n_words=None).to_html()


def test_labels_that_look_wrong_are_counted():
    said = "may be wrong, as estimated by audit_labels"
    assert f"1 label {said}" in section(made(), "Most confident mistakes")
    assert f"1 label {said}" in section(made_of_labels(), "Most confident mistakes")
    assert said not in section(made(suspects=[]), "Most confident mistakes")


def test_duplicates_and_conflicts_are_counted():
    said = "5 documents form 2 groups with the same words, 1 with different labels."
    assert said in Page(made().to_html()).line
    assert "each with one label" in Page(made(duplicates=[(0, 1)]).to_html()).line
    assert "with the same words" not in made(duplicates=[]).to_html()


def test_what_the_baseline_learnt_from_is_said():
    assert "The baseline learnt from others." in section(made(), "Scores")
    assert "TF-IDF" not in section(made(baseline=None), "Scores")


@pytest.mark.parametrize("n_labels", [2, 20, 300])
def test_the_size_of_a_page_is_bounded(n_labels):
    report = of_size(5000, n_labels)
    assert len(report.to_html()) < 2_500_000
    assert len(report._repr_html_()) < 600_000
    assert "more mistakes" in report.to_html()


def test_labels_beyond_a_table_are_counted():
    found = section(of_size(1000, 60), "Confusion matrix")
    assert "The matrix shows the 25 labels with the most mistakes, of 60" in found


def test_labels_beyond_a_table_are_counted_where_no_mistake_ranks_them():
    report = of_size(60, 60)
    right = dataclasses.replace(report, probabilities=np.eye(60)[report.targets], predicted=None)
    found = section(right, "Confusion matrix")
    assert "The matrix shows 25 of 60 labels." in found
    assert "0 of 0" not in found


@pytest.mark.parametrize(
    ("answers", "verdict"),
    [
        ([0, 0, 0, 1, 1, 2], "Accuracy is 50.0 points lower than the baseline's"),
        ([1, 1, 1, 1, 0, 0], "Accuracy is 33.3 points higher than the baseline's"),
        ([0, 1, 0, 1, 0, 0], "Accuracy equals the baseline's (95 % interval: −"),
    ],
)
def test_the_page_says_which_is_better(answers, verdict):
    # 30 times as many documents, so that the difference is none of chance.
    few = made()
    report = made(
        targets=np.tile(few.targets, 30),
        probabilities=np.tile(few.probabilities, (30, 1)),
        n_words=None,
        texts=None,
        baseline=np.tile(np.eye(3)[answers], (30, 1)),
    )
    assert verdict in Page(report.to_html()).line


def test_a_coverage_of_sure_documents_is_said_once():
    report = made(probabilities=np.tile([0.99999, 0.00001], (6, 1)), labels=["neg", "pos", "new"])
    page = Page(report.to_html()).all_text.replace("\N{NO-BREAK SPACE}", " ")
    assert "above 99.9 %" in page
    assert "at least above" not in page


def test_long_labels_that_begin_alike_differ_in_tables():
    labels = ["Electronics, computers, laptops", "Electronics, computers, printers", "x"]
    html = made(labels=labels).to_html()
    for end in ("rs, laptops", "s, printers"):
        assert "<bdi>Electronics,\N{HORIZONTAL ELLIPSIS}" in html
        assert f"{end}</bdi></span>" in html
    assert f'title="{labels[0]}"' in html


@pytest.mark.parametrize("width", [40, 79, 200])
def test_lines_are_no_longer_than_asked(width):
    lines = made().to_text(width=width).splitlines()
    assert max(map(len, lines)) <= width


def test_the_short_form_says_what_matters():
    text = made().to_text(width=200)
    assert "Evaluation of HANClassifier: 6 documents, 3 labels" in text
    assert "1 document has a label that the model does not know." in text
    assert "1 neg predicted as pos" in text
    assert "Document 2: predicted pos (90 %), labelled neg" in text
    assert "Misled by “Not bad.” (+1.000)" in text
    assert "1 label may be wrong, as estimated by audit_labels" in text
    assert "5 documents form 2 groups with the same words, 1 with different labels" in text
    assert "1 document has the same words as a training document" in text


def test_the_short_form_of_many_documents_is_short():
    assert len(of_size(5000, 20).to_text(width=100).splitlines()) < 50


@pytest.mark.parametrize(
    ("trained_on", "said"),
    [
        (None, "It is not known whether the model was fitted to these documents."),
        ([], "No document is known to have the same words as a training document."),
        (
            [1, 2],
            "2 documents have the same words as a training document",
        ),
    ],
)
@pytest.mark.parametrize("form", ["to_text", "to_html"])
def test_before_all_figures_it_says_whether_the_documents_were_learnt_from(form, trained_on, said):
    text = getattr(made(trained_on=trained_on), form)()
    text = " ".join(text.split())
    assert said in text
    assert text.index(said) < text.index("0.500")
