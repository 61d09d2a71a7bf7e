"""Pages as readers see them in a browser, wide and narrow, light and dark.

Without Chromium these tests are skipped.
"""

import json
import re
import subprocess
from html import escape, unescape
from pathlib import Path

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
LOOK = Path(__file__).with_name("look.js").read_text("utf-8")


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


def test_a_wide_page_shows_all_columns_without_scrolling(seen):
    _, width, found, _ = seen
    if width == 1200:
        assert {name: page["scrolls"] for name, page in found.items() if page["scrolls"]} == {}


def test_numbers_stay_with_their_label_on_a_narrow_page(seen):
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


def test_the_length_of_bars_matches_their_numbers(seen):
    _, _, found, _ = seen
    assert sum(len(page["bars"]) for page in found.values()) > 40
    off = {name: bars for name, page in found.items() if (bars := wrong(page["bars"]))}
    shown = {bar[2] for bars in off.values() for bar in bars}
    assert {text for text in shown if not text.startswith("−")} == set()  # below 0 has no bar


def test_pages_have_a_title_and_the_colours_of_the_theme(seen):
    theme, _, found, _ = seen
    for name, page in found.items():
        assert [" ".join(each.split()) for each in page["headings"]] == [page["title"]] != [""]
        assert (page["page"] > 1) == (theme == "light"), name
    assert len(set(found["long explanation"]["marks"])) > 3


def test_planted_faults_are_found(seen):
    *_, faults = seen
    for name, page in faults.items():
        assert wrong(page["bars"]) if name == "bar" else page["faults"][0][0] == name
