"""What holds for the page of every result: it needs nothing from elsewhere, and runs nothing."""

import dataclasses
import re

import numpy as np
import pytest

from sk_han import ExplanationList
from sk_han.translation import Alignment
from tests.by_hand import explained, signed
from tests.html_page import Page
from tests.inspection.results.test_result import METRICS, RESULTS
from tests.reports import (
    HOSTILE,
    hostile,
    made,
    made_of_labels,
    many_mistakes,
    of_several,
    of_size,
    one_document,
)

MANY = " ".join(f"Number {i}." for i in range(40))
LONG = "labelofoneverylongword" * 6
LONG_WORD = "See https://" + "path/" * 90 + " and " + "Aaaaaaaaa" * 50 + "."
NAMES = [
    "Consumer complaints > Late fees and interest",
    "Medical devices / Implants / Malfunction without injury",
    "DISPUTES WITH MERCHANTS AND MANUFACTURERS (HARDWARE)",
]
THREE = {"classes": ["neg", "pos", LONG], "probabilities": [0.1, 0.8, 0.1]}


def added_up(target, probability):
    """Explain a document of three classes for one, by numbers that add up to its log-odds."""
    values = np.array([2.0, -0.5])
    base = np.log(probability / (1 - probability)) - values.sum()
    return signed(
        f"{LONG_WORD} Done.",
        target=target,
        method="shapley",
        base_value=base,
        sentence_contributions=values,
        **THREE,
    )


# Results whose every text would run code if it were not escaped.
HOSTILE_RESULTS = [
    dataclasses.replace(
        RESULTS["FitSummary"], macro_f1=0.5, worst_class=HOSTILE, worst_recall=0.5, n_worst=1
    ),
    dataclasses.replace(RESULTS["TrainingSummary"], unit=HOSTILE),
    dataclasses.replace(
        RESULTS["FaithfulnessReport"],
        seconds={HOSTILE: 1.0},
        means={metric: {HOSTILE: 0.5} for metric in METRICS},
        intervals={metric: {HOSTILE: (0.25, 0.75)} for metric in METRICS},
    ),
    dataclasses.replace(
        RESULTS["LabelAudit"],
        labels=(HOSTILE, "b"),
        texts=(HOSTILE, HOSTILE),
        conflicts=[(0, 1)],
        notes=(HOSTILE,),
    ),
    dataclasses.replace(
        RESULTS["Summary"],
        classes=[dataclasses.replace(each, label=HOSTILE) for each in RESULTS["Summary"].classes],
    ),
    dataclasses.replace(RESULTS["SelectiveThreshold"], label=HOSTILE, notes=(HOSTILE,)),
    dataclasses.replace(RESULTS["MixEstimate"], labels=(HOSTILE, "b")),
    dataclasses.replace(
        RESULTS["DriftReport"],
        comparisons=[one._replace(name=HOSTILE) for one in RESULTS["DriftReport"].comparisons],
    ),
    signed(
        column_names=(HOSTILE,),
        column_values=(HOSTILE,),
        column_contributions=[1.0],
        method=HOSTILE,
    ),
    made_of_labels(labels=(HOSTILE, "b"), texts=[HOSTILE] * 2, duplicates=[(0, 1)]),
    Alignment(HOSTILE, HOSTILE, [HOSTILE], [HOSTILE], [[1.0]]),
    signed(HOSTILE, **{"classes": [HOSTILE, "b"], "predicted": HOSTILE, "target": HOSTILE}),
    ExplanationList([signed(HOSTILE)], y_true=["neg"]),
    hostile(),
]
PAGES = {
    **RESULTS,
    "long explanation": signed(MANY, method=HOSTILE),
    "not read": explained("Read this. But not that.", n_read=1, unknown=[True, False]),
    "wrong": ExplanationList([explained(), signed()], y_true=["neg", "neg"]),
    "one right": one_document(right=True),
    "one wrong": one_document(right=False),
    "many labels": of_size(1000, 60),
    "many mistakes": many_mistakes(),
    "right to left": signed("הסרט הזה היה נפלא. המשחק של Tom היה טוב מאוד!"),
    "emoji": signed("I ❤️ this 👨‍👩‍👧‍👦 film 😍😍! 这部电影非常精彩."),
    "large numbers": signed(contributions=[-123.456] * 5, sentence_contributions=[-123.456] * 2),
    "no words": explained("...!"),
    "long word": signed(LONG_WORD),
    "long labels": signed(
        classes=[f"{LONG}{i}" for i in range(20)],
        probabilities=np.full(20, 0.05),
        predicted=f"{LONG}0",
        target=f"{LONG}19",
    ),
    "side by side": ExplanationList(
        map(added_up, THREE["classes"], THREE["probabilities"]), numbers=[0] * 3
    ),
    "report of long labels": made(labels=[f"{LONG}{i}" for i in range(3)]),
    "report of long names": made(labels=NAMES),
    "report of several labels": of_several(200, 30),
    "report of short names": dataclasses.replace(
        of_size(300, 30), labels=list(map(str, range(30)))
    ),
    **{f"hostile {type(each).__name__}": each for each in HOSTILE_RESULTS},
}


@pytest.fixture(params=PAGES.values(), ids=PAGES)
def html(request):
    return request.param.to_html()


def test_a_page_has_no_script_and_loads_nothing(html):
    page = Page(html)
    assert not {tag for tag, _ in page.tags} & {"script", "link", "img", "iframe", "object"}
    assert not re.search(r"url\(|@import", html)
    for _, attributes in page.tags:
        assert not any(name == "src" or name.startswith("on") for name in attributes)
        assert attributes.get("href", "#").startswith("#")


def test_every_class_has_a_style(html):
    styles = html[html.index("<style>") : html.index("</style>")]
    for _, attributes in Page(html).tags:
        for name in attributes.get("class", "").split():
            assert re.search(rf"\.{name}[ .\[,:]", styles), name


def test_a_hostile_result_of_each_class_is_tried():
    assert {type(each) for each in HOSTILE_RESULTS} >= {type(each) for each in RESULTS.values()}


@pytest.mark.parametrize("result", HOSTILE_RESULTS, ids=lambda each: type(each).__name__)
def test_markup_in_any_result_is_shown_and_not_obeyed(result):
    assert "<script" not in result.to_html()
    assert "<script>" in Page(result.to_html()).all_text
    assert "\x1b" not in result.to_text(width=200) + result.to_html()
