import dataclasses

import numpy as np
import pytest

from sk_han.inspection import FaithfulnessReport
from tests.html_page import Page

METRICS = ("comprehensiveness", "sufficiency", "flip", "auprc", "token_f1")
METHODS = ("ours <b>", "random")


def of(value):
    return {metric: dict.fromkeys(METHODS, value) for metric in METRICS}


@pytest.fixture
def report():
    differences = {metric: {METHODS[0]: (0.1, 0.2)} for metric in METRICS}
    differences["flip"] = {METHODS[0]: (-0.1, 0.2)}
    intervals = of((0.25, 0.75))
    intervals["auprc"] = dict.fromkeys(METHODS, (np.nan, np.nan))
    return FaithfulnessReport(
        values=of(np.array([0.5, 0.5])),
        means={**of(0.5), "sufficiency": dict.fromkeys(METHODS, -0.125)},
        intervals=intervals,
        differences=differences,
        seconds=dict.fromkeys(METHODS, 0.0123),
        fractions=(0.1,),
        n_without_words=0,
        n_without_rationale=None,
    )


def test_a_report_is_a_table_of_methods_and_metrics(report):
    page = Page(report.to_html())
    assert len(page.attributes("tr")) == 1 + len(METHODS)
    assert len(page.attributes("td")) == len(METHODS) * (len(METRICS) + 1)
    assert {"[0.250, 0.750]", "12.3", "[\N{EN DASH}]"} <= set(page.data)
    assert "−0.125" in page.data
    assert "to change the predicted class; 1 if the class never changes." in page.all_text


def test_what_rounds_to_0_has_no_sign(report):
    nothing = dict.fromkeys(METHODS, -0.0001)
    ends = dict.fromkeys(METHODS, (-0.0004, 0.0001))
    found = dataclasses.replace(
        report, means=report.means | {"flip": nothing}, intervals=report.intervals | {"flip": ends}
    )
    assert {"0.000", "[0.000, 0.000]"} <= set(Page(found.to_html()).data)
    assert "0.000 [0.000, 0.000]" in found.to_text()
    assert "-0.000" not in found.to_text()


def test_what_is_as_good_as_chance_is_marked(report):
    assert [data for data in Page(report.to_html()).data if data.startswith(" ≈")] == [" ≈ "]


def test_what_has_no_interval_is_marked_as_chance(report):
    unknown = {metric: {METHODS[0]: (np.nan, np.nan)} for metric in METRICS}
    page = Page(dataclasses.replace(report, differences=unknown).to_html())
    assert page.data.count(" ≈ ") == len(METRICS)


def test_a_figure_of_no_document_is_a_dash(report):
    nothing = dict.fromkeys(METHODS, np.nan)
    found = dataclasses.replace(report, means=report.means | {"auprc": nothing})
    page = Page(found.to_html())
    assert page.data.count("\N{EN DASH}") == len(METHODS)
    text = found.to_text()
    assert text.count("\N{EN DASH}") == len(METHODS)
    for shown in (*page.data, text):
        assert "nan" not in shown
        assert "no interval" not in shown


def test_bars_are_as_long_as_the_means(report):
    widths = [a["style"] for a in Page(report.to_html()).attributes("i")]
    assert set(widths) == {"width:50.0%", "width:0.0%"}


def test_a_notebook_shows_the_table_and_terms_are_behind_a_fold(report):
    html = report._repr_html_()
    assert "<html>" not in html
    open_part, fold = html.split("<details>", 1)
    assert "does not explain this model" in open_part
    assert "2 documents. Means with 95 % confidence intervals" in fold
    assert "ours &lt;b&gt;" in html
