"""Pages as readers see them in a browser, wide and narrow, light and dark.

Without Chromium these tests are skipped.
"""

import json
import re
import subprocess
from html import escape, unescape

import pytest

from tests.browser import CHROMIUM
from tests.rendering.test_pages import PAGES, THREE

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine"),
]

# One fault each, which must be found.
FAULTS = {
    "wide": "<p style='width: 1300px'>wide",
    "beyond": "<p style='margin-left: -99px'>beyond",
    "cut": "<div style='width: 50px; overflow: hidden; white-space: nowrap'>cut off here",
    "broken": "<table style='width: 3em'><thead><th style='word-break: break-all'>fundamental",
    "pale": "<p style='opacity: .5'><b style='color: #777'>pale",
    "bar": "<table><td><span class=han-bar style='display: block; width: 99px'>"
    "<i style='display: block; width: 50%'></i></span><td>0.900",
}
# Writes what a reader sees of each page into the document.
LOOK = r"""
const all = (of, what) => [...of.querySelectorAll(what)];
const rgb = color => color.match(/[\d.]+/g).map(Number);
const over = ([r, g, b, a = 1], e, below) =>
  [r, g, b].map((x, i) => a * opacity(e) * x + (1 - a * opacity(e)) * below[i]);
const opacity = e => e ? getComputedStyle(e).opacity * opacity(e.parentElement) : 1;
const linear = x => (x /= 255) <= .04045 ? x / 12.92 : ((x + .055) / 1.055) ** 2.4;
const light = color => [.2126, .7152, .0722].reduce((sum, w, i) => sum + w * linear(color[i]), .05);
const ratio = (a, b) => Math.max(light(a) / light(b), light(b) / light(a));
function behind(e) {  // a colour, and those of a gradient
  if (!e) return [[255, 255, 255]];
  const {backgroundColor, backgroundImage} = getComputedStyle(e);
  const flat = behind(e.parentElement).map(each => over(rgb(backgroundColor), e, each));
  const stripes = backgroundImage.match(/rgba?\(.*?\)/g) ?? [];
  return [...flat, ...stripes.flatMap(each => flat.map(under => over(rgb(each), e, under)))];
}
function unseen(e, {left, right}) {
  const {innerWidth} = e.ownerDocument.defaultView;
  for (; e.parentElement; e = e.parentElement) {
    const {overflowX} = getComputedStyle(e), room = e.getBoundingClientRect();
    if (overflowX == "visible" || left >= room.left - 1 && right <= room.right + 1) continue;
    if (overflowX == "auto") return "";  // it scrolls
    return e.title || e.matches("details:not([open]) > summary") ? "shortened" : "cut";
  }
  return left < -1 || right > innerWidth + 1 ? "beyond" : "";
}
function faults(page) {
  const found = [], range = page.createRange();
  const texts = page.createTreeWalker(page.body, NodeFilter.SHOW_TEXT);
  const boxes = () => [...range.getClientRects()].filter(box => box.width > 1);
  if (page.documentElement.scrollWidth > page.defaultView.innerWidth) found.push(["wide", ""]);
  while (texts.nextNode()) {
    const node = texts.currentNode, e = node.parentElement, {color} = getComputedStyle(e);
    range.selectNodeContents(node);
    if (!node.data.trim() || !boxes().length) continue;
    found.push(...boxes().map(box => [unseen(e, box), node.data]).filter(([fault]) => fault));
    if (behind(e).some(each => ratio(over(rgb(color), e, each), each) < 4.5))
      found.push(["pale", node.data]);
    for (const word of e.closest("thead") ? node.data.matchAll(/[a-z]+/gi) : []) {
      range.setStart(node, word.index), range.setEnd(node, word.index + word[0].length);
      if (boxes().length > 1) found.push(["broken", word[0]]);
    }
  }
  return found;
}
function bars(page) {  // of each table or document the shares that are filled, and what they say
  const groups = new Map();
  for (const bar of all(page, ".han-bar").filter(each => each.offsetWidth)) {
    const cell = bar.closest("td"), group = bar.closest("table, .han-text");
    const says = cell ? cell.innerText.trim() || cell.nextElementSibling.innerText
      : bar.closest("[role]").ariaLabel.replace(/.*:/, "");
    if (!groups.has(group)) groups.set(group, []);
    groups.get(group).push([bar.firstChild.offsetWidth, bar.offsetWidth, says]);
  }
  return [...groups.values()];
}
onload = () => {
  const seen = all(document, "iframe").map(({title, contentDocument: page}) => {
    const folded = faults(page);
    all(page, "details").forEach(each => each.open = true);
    return [title, {
      title: page.title, headings: all(page, "h1").map(each => each.textContent),
      notes: all(page, ".han-row > .han-cell.han-small").map(e => e.innerText.trim()),
      scrolls: all(page, ".han-wide").filter(e => e.scrollWidth > e.clientWidth + 1).length,
      faults: [...folded, ...faults(page)], bars: bars(page), page: light(behind(page.body)[0]),
      marks: all(page, "mark[title*=contribution]").map(each => String(behind(each))),
    }];
  });
  document.body.innerText = JSON.stringify(Object.fromEntries(seen));
};
"""


@pytest.fixture(scope="module", params=[(w, t) for w in (1200, 360) for t in ("dark", "light")])
def seen(request, tmp_path_factory):
    """What a browser shows at one width and in one theme: of each page, and of each fault."""
    width, theme = request.param
    folder = tmp_path_factory.mktemp("browser")
    pages = {name: result.to_html() for name, result in PAGES.items()} | FAULTS
    frames = "".join(
        f'<iframe title="{name}" srcdoc="{escape(page)}" style="width: {width}px"></iframe>'
        for name, page in pages.items()
    )
    file = folder / "pages.html"
    file.write_text(f"<meta charset=utf-8>{frames}<script>{LOOK}</script>", encoding="utf-8")
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
    command += [f"--user-data-dir={folder}", "--dump-dom"]
    command += [f"--blink-settings=preferredColorScheme={int(theme == 'light')}", file.as_uri()]
    options = {"check": True, "capture_output": True, "timeout": 120, "encoding": "utf-8"}
    dumped = subprocess.run(command, **options).stdout
    found = json.loads(unescape(re.search("<body>(.*)</body>", dumped)[1]))
    return theme, width, found, {name: found.pop(name) for name in FAULTS}


def test_all_text_is_seen_in_full_and_has_contrast(seen):
    _, width, found, _ = seen
    # A reader finds the whole of what is shortened behind it; names have room on wide pages.
    whole = "report of long names" if width == 1200 else ""
    for name, page in found.items():
        faults = [each for each in page["faults"] if each[0] != "shortened" or name == whole]
        assert faults == [], name


def test_all_columns_of_a_wide_page_are_within_it(seen):
    _, width, found, _ = seen
    if width == 1200:
        assert {name: page["scrolls"] for name, page in found.items() if page["scrolls"]} == {}


def test_of_several_labels_each_number_stands_with_its_label_on_a_narrow_page(seen):
    _, width, found, _ = seen
    notes = found["side by side"]["notes"]
    assert len(notes) == len(THREE["classes"])
    for note, label in zip(notes, THREE["classes"], strict=True):
        assert "for an empty document" in note
        assert note.startswith(label[:20]) == (width < 500)


def wrong(groups):
    """The bars of a page as long neither as their numbers, nor as shares of the largest one."""
    groups = [[(*bar, float(re.search(r"\d[\d.e]*", bar[2])[0])) for bar in g] for g in groups]
    largest = max((bar[-1] for bars in groups for bar in bars), default=0)
    found = []
    for bars in groups:
        limits = (1, largest or 1, max(bar[-1] for bar in bars) or 1)
        off = [
            [bar for bar in bars if abs(bar[0] / bar[1] - bar[-1] / limit) > 0.01 + 1 / bar[1]]
            for limit in limits
        ]
        found += min(off, key=len)
    return found


def test_bars_are_as_long_as_their_numbers(seen):
    _, _, found, _ = seen
    assert sum(len(page["bars"]) for page in found.values()) > 40
    for name, page in found.items():
        assert wrong(page["bars"]) == [], name


def test_pages_have_a_title_and_the_colours_of_the_theme(seen):
    theme, _, found, _ = seen
    for name, page in found.items():
        assert [" ".join(each.split()) for each in page["headings"]] == [page["title"]] != [""]
        assert (page["page"] > 1) == (theme == "light"), name
    assert len(set(found["long explanation"]["marks"])) > 3


def test_faults_would_be_found(seen):
    *_, faults = seen
    for name, page in faults.items():
        assert wrong(page["bars"]) if name == "bar" else page["faults"][0][0] == name
