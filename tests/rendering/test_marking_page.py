"""The page on which people mark words."""

import base64
import hashlib
import json
import re
from html import escape, unescape

import numpy as np
import pandas as pd
import pytest

from sk_han import marking_page, read_highlights
from tests.rendering.test_browser import CHROMIUM, browser  # noqa: F401  (a fixture)

EMOJI = "😍 A👍🏽 dull\r\nfilm, e\u0301tat: très long."
HOSTILE = "a </script><script>alert(1)</script> \u2028 <!-- <b onclick=x>&amp; \ud800 \x00 end"


def script_of(page):
    return re.search("<script>(.*?)</script>", page, re.DOTALL)[1]


def records_of(page):
    return json.loads(re.search('type="application/json">(.*?)</script>', page, re.DOTALL)[1])


def words_of(page):
    return [
        (int(start), int(end))
        for start, end in re.findall('data-start="(.*?)" data-end="(.*?)"', page)
    ]


def test_words_have_the_positions_of_python():
    found = [EMOJI[start:end] for start, end in words_of(marking_page([EMOJI]))]
    assert found == ["😍", "A", "👍", "dull", "film", ",", "e\u0301tat", ":", "très", "long", "."]


def test_text_of_a_document_is_data():
    page = marking_page([HOSTILE, "b"], [HOSTILE, "x"])
    assert [record["text"] for record in records_of(page)] == [HOSTILE, "b"]
    assert page.count("<script") == 2
    assert "<b onclick" not in page.replace(r"\u003cb", "")
    page.encode("utf-8")


def test_the_policy_lets_the_script_of_the_page_run_and_nothing_else():
    page = marking_page(["a b"])
    digest = base64.b64encode(hashlib.sha256(script_of(page).encode()).digest()).decode()
    (policy,) = re.findall('http-equiv="Content-Security-Policy" content="(.*?)"', page)
    assert policy == f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    assert not re.search("(src|href)=", page)


@pytest.mark.parametrize("labels", [None, ["a", 1], [["a", "b"], []], np.array([1, 2])])
def test_a_page_that_nobody_touched_reads_back_as_not_looked_at(labels, tmp_path):
    texts = [EMOJI, "b c"]
    lines = "".join(json.dumps(record) + "\n" for record in records_of(marking_page(texts, labels)))
    (tmp_path / "none.jsonl").write_text(lines)
    found = read_highlights(tmp_path / "none.jsonl")
    expected = [None, None] if labels is None else list(labels)
    assert found == (texts, expected, [None, None])


@pytest.mark.parametrize("container", [tuple, iter, np.array, pd.Series])
def test_texts_and_labels_may_come_in_any_container(container):
    texts, labels = [EMOJI, "b c"], ["x", "y"]
    given = labels if container is iter else container(labels)
    assert marking_page(container(texts), given) == marking_page(texts, labels)


@pytest.mark.parametrize("labels", [[[1, 2], [2, 3]], [["a", "b"], ["b", "c"]]])
def test_lists_of_labels_stand_above_each_text(labels):
    assert [each["accept"] for each in records_of(marking_page(["a b", "c"], labels))] == labels


def test_an_indicator_names_the_labels_of_each_text():
    frame = pd.DataFrame({"good": [1, 0], "late": [1, 0]}, index=[5, 3])
    assert [each["accept"] for each in records_of(marking_page(["a b", "c"], frame))] == [
        ["good", "late"],
        [],
    ]


def test_a_label_too_few_is_refused():
    with pytest.raises(ValueError, match=r"2 texts, 1 label\."):
        marking_page(["a", "b"], ["x"])


# Marks as a person does, and puts what the page would save into the title.
ACT = """
onload = () => {
  const page = document.querySelector("iframe").contentDocument;
  const view = page.defaultView;
  const word = (text) =>
    [...page.querySelectorAll("[role=checkbox]")].find((each) => each.textContent === text);
  const mouse = (kind, on) =>
    on.dispatchEvent(new view.MouseEvent(kind, { bubbles: true, cancelable: true }));
  const click = (text) => { mouse("mousedown", word(text)); mouse("mouseup", word(text)); };
  const key = (text, name) => word(text).dispatchEvent(
    new view.KeyboardEvent("keydown", { key: name, bubbles: true, cancelable: true }));
  mouse("mousedown", word("dull"));
  mouse("mouseover", word("film"));
  mouse("mouseup", word("film"));
  mouse("mouseover", word("A"));
  click("long");
  click("très"); click("très");
  key("👍", "Enter"); key(":", "a");
  page.querySelectorAll("input")[1].click();
  const files = []; // a download would keep the browser from ending
  view.HTMLAnchorElement.prototype.click = function () { files.push(this.download); };
  page.getElementById("han-save").click();
  const count = page.getElementById("han-count").textContent;
  document.title = JSON.stringify([count, files, page.getElementById("han-lines").value]);
}
"""


@pytest.mark.thorough
@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine")
def test_what_a_person_marks_in_a_browser_is_what_fit_takes(browser, tmp_path):  # noqa: F811
    texts = [EMOJI, "b c", "not read"]
    frame = f'<iframe srcdoc="{escape(marking_page(texts, ["x", "y", "z"]))}"></iframe>'
    dumped = browser(f'<meta charset="utf-8">{frame}<script>{ACT}</script>', "--dump-dom")
    count, files, lines = json.loads(
        unescape(re.search("<title>(.*?)</title>", dumped, re.DOTALL)[1])
    )
    (tmp_path / "highlights.jsonl").write_text(lines, encoding="utf-8")
    found, labels, highlights = read_highlights(tmp_path / "highlights.jsonl")
    assert (count, files) == ("2", ["highlights.jsonl"])
    assert (found, labels) == (texts, ["x", "y", "z"])
    marked = [EMOJI[start:end] for start, end in highlights[0]]
    assert marked == ["👍🏽 dull\r\nfilm", "long"]
    assert highlights[1:] == [[], None]
