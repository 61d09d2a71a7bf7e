"""What holds for the page of every result: it needs nothing from elsewhere, and runs nothing."""

import re

import pytest

from sk_han import ExplanationList
from sk_han.rendering.shading import style, stylesheet
from tests.by_hand import explained, signed, summarized
from tests.html_page import Page
from tests.inspection.results.test_result import RESULTS
from tests.reports import HOSTILE, hostile, made, many_mistakes, of_size, one_document

MANY = " ".join(f"Number {i}." for i in range(40))
HOSTILE_LABELS = {"classes": [HOSTILE, "b"], "predicted": HOSTILE, "target": HOSTILE}
PAGES = {
    **RESULTS,
    "long explanation": signed(MANY, method=HOSTILE),
    "not read": explained("Read this. But not that.", n_read=1, unknown=[True, False]),
    "hostile explanation": signed(HOSTILE, **HOSTILE_LABELS),
    "hostile list": ExplanationList([signed(HOSTILE, **HOSTILE_LABELS)], y_true=["b"]),
    "wrong": ExplanationList([explained(), signed()], y_true=["neg", "neg"]),
    "hostile report": hostile(),
    "one right": one_document(right=True),
    "one wrong": one_document(right=False),
    "many labels": of_size(1000, 60),
    "many mistakes": many_mistakes(),
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
    styles = stylesheet() + style("report") + style("summary")
    for _, attributes in Page(html).tags:
        for name in attributes.get("class", "").split():
            assert re.search(rf"\.{name}[ .\[,:]", styles) or name.startswith("han-kind-"), name


@pytest.mark.parametrize("made_of", [made, summarized])
def test_rules_of_one_kind_of_page_do_not_reach_others_in_a_notebook(made_of):
    fragment = made_of().to_html(full_page=False)
    more_style = fragment[: fragment.index("</style>")].replace(stylesheet(), "")
    rules = [line for line in more_style.splitlines() if line.startswith(".sk-han")]
    assert rules
    assert all(rule.startswith(".sk-han:where(.han-kind-") for rule in rules)
    kind = rules[0].partition("(.")[2].partition(")")[0]
    assert f'<div class="sk-han {kind}">' in fragment
