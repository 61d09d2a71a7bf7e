import dataclasses
import re
from hashlib import sha256

import numpy as np
import pytest

from sk_han import ExplanationList
from sk_han.rendering.report_documents import misleading_sentence
from tests.by_hand import explained, signed
from tests.html_page import Page
from tests.reports import (
    HOSTILE,
    hostile,
    made,
    made_of_labels,
    many_mistakes,
    of_size,
    one_document,
)

REPORTS = {
    "made": made(),
    "hostile": hostile(),
    "one right": one_document(right=True),
    "one wrong": one_document(right=False),
    "no texts": made(texts=None, mistakes=ExplanationList()),
    "no lengths": made(n_words=None),
    "many labels": of_size(1000, 60),
    "many mistakes": many_mistakes(),
}
each_report = pytest.mark.parametrize("report_", REPORTS.values(), ids=REPORTS)


def section(report, title):
    """The text of a section, in one line."""
    parts = re.split(r"<h2>(.*?)</h2>", report.to_html())
    return " ".join(Page(f"<section>{parts[parts.index(title) + 1]}".split("</section>")[0]
                         + "</section>").all_text.split())  # fmt: skip


@each_report
@pytest.mark.parametrize("full_page", [True, False])
def test_every_link_has_its_place_on_the_page(report_, full_page):
    page = Page(report_.to_html(full_page=full_page))
    places = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(set(places)) == len(places)
    links = [link["href"] for link in page.attributes("a")]
    assert links
    assert {link[1:] for link in links} <= set(places)


def test_of_mistakes_that_are_equally_frequent_none_is_the_most_frequent():
    both = "One of the most frequent mistakes: neg taken for pos, 1 document."
    assert both in Page(made().to_html()).all_text.replace("\n", " ")
    one = made(targets=np.array([0, 0, 0, 1, 0, 2]), probabilities=np.tile([0.2, 0.8], (6, 1)))
    assert "The most frequent mistake: neg taken for pos" in Page(one.to_html()).all_text


def test_hostile_text_is_text():
    report = hostile()
    page = Page(report.to_html())
    assert HOSTILE.replace("\x1b", "␛") in page.all_text
    assert "\x1b" not in report.to_html()
    assert "\x1b" not in str(report)


def test_each_mistake_and_each_right_answer_is_listed():
    report = made()
    cells = Page(report.to_html()).attributes("a")
    titles = [cell["title"] for cell in cells if "title" in cell]
    assert "neg, predicted neg: 2 documents" in titles
    assert "new, predicted pos: 1 document" in titles
    assert len(titles) == 5
    found = section(report, "Confusion matrix")
    assert "neg taken for pos" in found
    assert "new taken for pos" in found
    assert "Not bad." in found


def test_the_legend_stands_once_for_all_mistakes():
    page = made().to_html()
    assert page.count('class="han-legend') == 1
    assert page.index('class="han-legend') < page.index('class="han-mistake')


def test_the_strongest_sentence_toward_the_predicted_label_misled():
    explanation = signed("Not bad. Good. Fine.", sentence_contributions=[-3, 0.5, 0.25])
    assert misleading_sentence(explanation) == ("Good.", 0.5)
    assert misleading_sentence(signed("Bad.", sentence_contributions=[-1])) is None
    assert misleading_sentence(explained("?!")) is None


def test_the_misleading_sentence_is_quoted():
    explanation = signed("Not bad. Good.", sentence_contributions=[-3, 0.5])
    found = section(
        made(mistakes=ExplanationList([explanation, explanation])), "The worst mistakes"
    )
    assert "Document 2: predicted pos 0.900, labelled neg" in found
    assert "“Good.” +0.500" in found
    assert "Its label looks wrong too." in found


def test_a_page_without_texts_lists_numbers_alone():
    report = made(texts=None, mistakes=ExplanationList())
    assert Page(report.to_html()).attributes("div", "han-whole") == []
    found = section(report, "The worst mistakes")
    assert "2 labelled neg, predicted pos 0.900" in found


def test_the_method_that_finds_wrong_labels_is_named():
    found = section(made(), "Documents that look mislabelled")
    assert "as audit_labels finds them" in found
    assert "Not bad." in found
    assert "None was found." in section(made(suspects=[]), "Documents that look mislabelled")


def test_conflicts_come_before_plain_duplicates():
    found = section(made(), "Duplicates")
    assert "5 documents in 2 groups of the same words, 1 with different labels" in found
    assert found.index("different labels pos, neg") < found.index("2 documents neg")
    assert "1 document has the words of a training document, as far" in found
    none = section(made(duplicates=[], trained_on=None), "Duplicates")
    assert "No two documents have the same words" in none


def test_training_documents_are_listed_with_label_and_prediction():
    found = section(made(duplicates=[]), "Duplicates")
    assert "3 labelled pos, predicted pos 0.800 Good." in found


def test_a_set_of_labels_has_no_probability_beside_it():
    texts = ("Fine.", "Fine.")
    found = section(made_of_labels(texts=texts, duplicates=[(0, 1)]), "Duplicates")
    assert "labelled late, predicted late, good Fine." in found
    assert "labelled late, good, predicted late Fine." in found


def test_what_the_baseline_learnt_from_is_said():
    assert "The baseline learnt from others." in section(made(), "Scores")
    assert "TF-IDF" not in section(made(baseline=None), "Scores")


def test_a_model_without_history_has_no_section_on_training():
    assert "Training" in made().to_html()
    assert "<h2>Training" not in made(history=[]).to_html()
    assert "<h2>Training" not in made(history=[{"epoch": 1, "dur": 2.0}]).to_html()
    assert "nan" not in section(made(), "Training")


@pytest.mark.parametrize("n_labels", [2, 20, 300])
def test_the_size_of_a_page_is_bounded(n_labels):
    report = of_size(5000, n_labels)
    assert len(report.to_html()) < 2_500_000
    assert len(report._repr_html_()) < 600_000
    assert "more documents" in report.to_html()


def test_a_list_shows_the_number_of_documents_that_it_leaves_out():
    report = of_size(2000, 2)
    found = section(report, "Documents that look mislabelled")
    assert "and 480 more documents" in found


def test_labels_beyond_a_table_are_counted():
    found = section(of_size(1000, 60), "Confusion matrix")
    assert "These are the 25 labels with the most mistakes, of 60" in found


def test_labels_beyond_a_table_are_counted_where_no_mistake_ranks_them():
    report = of_size(60, 60)
    right = dataclasses.replace(report, probabilities=np.eye(60)[report.targets])
    found = section(right, "Confusion matrix")
    assert "These are 25 of 60 labels." in found
    assert "0 of 0" not in found


def test_two_reports_on_one_page_have_different_places():
    first = Page(made().to_html()).attributes("section")[0]["id"]
    second = Page(made(targets=np.zeros(6, dtype=int)).to_html()).attributes("section")[0]["id"]
    assert first != second


def test_all_answers_are_hashed_once_for_all_links(monkeypatch):
    hashed = []
    monkeypatch.setattr(
        "sk_han.inspection.results.report.hashlib.sha256",
        lambda data: hashed.append(data) or sha256(data),
    )
    assert made().to_html()
    assert len(hashed) == 1


@pytest.mark.parametrize(
    ("answers", "verdict"),
    [
        ([0, 0, 0, 1, 1, 2], "The baseline is right on 90 documents more than the model"),
        ([1, 1, 1, 1, 0, 0], "The model is right on 60 documents more than the baseline"),
        ([0, 1, 0, 1, 0, 0], "Model and baseline are right on equally many documents"),
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
    page = Page(report.to_html()).all_text
    assert verdict in page


def test_long_labels_that_begin_alike_differ_in_tables():
    labels = ["Electronics, computers, laptops", "Electronics, computers, printers", "x"]
    html = made(labels=labels).to_html()
    for end in ("rs, laptops", "s, printers"):
        assert "<bdi>Electronics,\N{HORIZONTAL ELLIPSIS}" in html
        assert f"{end}</bdi></span>" in html
    assert f'title="{labels[0]}"' in html
