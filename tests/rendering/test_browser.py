"""Pages as a browser draws them. Without Chromium these tests are skipped."""

import dataclasses
import re
import shutil
import subprocess
from html import escape

import numpy as np
import pytest

from sk_han import ExplanationList
from tests.by_hand import explained, signed
from tests.reports import hostile, made, of_size

Image = pytest.importorskip("PIL.Image")

CHROMIUM = next(
    filter(None, map(shutil.which, ["chromium", "chromium-browser", "google-chrome"])), None
)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine")

LONG = "labelofoneverylongword" * 6
AWKWARD = {
    "long": signed(" ".join(f"Sentence number {i} of many." for i in range(150))),
    "right to left": signed("הסרט הזה היה נפלא. המשחק של Tom היה טוב מאוד!"),
    "emoji": signed("I ❤️ this 👨‍👩‍👧‍👦 film 😍😍! 这部电影非常精彩."),
    "long word": signed("See https://" + "path/" * 90 + " and " + "Aaaaaaaaa" * 50 + "."),
    "code": signed("<div class='a'>if (a < b && c) { return; }</div>\n\t<script>alert(1)</script>"),
    "long labels": signed(
        classes=[f"{LONG}{i}" for i in range(20)],
        probabilities=np.full(20, 0.05),
        predicted=f"{LONG}0",
        target=f"{LONG}19",
    ),
    "not read": explained("Read this. But not that.", n_read=1, unknown=[True, False]),
    "large numbers": signed(contributions=[-123.456] * 5, sentence_contributions=[-123.456] * 2),
    "no words": explained("...!"),
}

# Puts into the title every element that holds more than it has room for.
MEASURE = """
// The text of a chart has no box; turned, its width is rounded differently.
const MEANT = ".han-excerpt, summary, .han-wide, .han-name, svg text";
onload = () => {
  const found = [];
  for (const frame of document.querySelectorAll("iframe"))
    for (const e of frame.contentDocument.querySelectorAll("body, body *"))
      if (e.scrollWidth > e.clientWidth && e.clientWidth && !e.matches(MEANT))
        found.push(frame.title + ": " + e.tagName + "." + e.className);
  document.title = "too wide: " + found.join(", ") + ";";
}
"""


@pytest.fixture
def browser(tmp_path):
    """Run Chromium without a window on a page, with further arguments; give what it prints."""

    def run(html, *arguments):
        page = tmp_path / "page.html"
        page.write_text(html, encoding="utf-8")
        command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
        command += [f"--user-data-dir={tmp_path / 'profile'}", *arguments, page.as_uri()]
        return subprocess.run(
            command, check=True, capture_output=True, timeout=60, encoding="utf-8"
        ).stdout

    return run


def pixels(path):
    """Every colour of a picture as ``#rrggbb``, with the number of its pixels."""
    with Image.open(path) as image:
        colors = image.convert("RGB").getcolors(maxcolors=image.width * image.height)
    return {"#{:02x}{:02x}{:02x}".format(*color): count for count, color in colors}


@pytest.mark.thorough
@pytest.mark.parametrize("theme", ["dark", "light"])  # 0 and 1 to Chromium
def test_a_page_is_drawn_in_the_colours_of_its_theme(browser, tmp_path, theme):
    picture = tmp_path / "picture.png"
    explanations = ExplanationList([signed("Good. Bad.", contributions=[1, -1]), explained()])
    html = explanations.to_html(y_true=["neg", "pos"])
    by_theme = re.findall(rf"color-scheme: {theme}; ([^}}]*)}}", html)
    colors = dict(re.findall(r"--([\w-]+): (#\w+);", by_theme[0]))
    browser(
        html,
        f"--screenshot={picture}",
        f"--blink-settings=preferredColorScheme={int(theme == 'light')}",
        "--window-size=900,700",
    )
    drawn = pixels(picture)
    assert max(drawn, key=drawn.get) == colors["page"]
    for scale in ("attention", "toward", "against"):
        assert drawn.get(colors[f"{scale}-8"], 0) > 50, (
            f"the strongest shade of {scale} is not seen"
        )
        assert drawn.get(colors[scale], 0) > 100, f"the bars of {scale} are not seen"
    assert drawn.get(colors["text"], 0) > 200, "the text is not seen"


def too_wide(browser, pages, width):
    frames = "".join(
        f'<iframe title="{name}" srcdoc="{escape(page)}" style="width: {width}px"></iframe>'
        for name, page in pages.items()
    )
    dumped = browser(f"{frames}<script>{MEASURE}</script>", "--dump-dom")
    return re.search("<title>too wide: (.*);</title>", dumped)[1]


@pytest.mark.thorough
@pytest.mark.parametrize("width", [400, 1000])
def test_nothing_is_too_wide_for_its_place(browser, width):
    pages = {
        name: ExplanationList([explanation]).to_html(y_true=explanation.classes[-1:])
        for name, explanation in AWKWARD.items()
    }
    assert too_wide(browser, pages, width) == ""


@pytest.mark.thorough
@pytest.mark.parametrize("width", [400, 1000])
def test_classes_side_by_side_fit_the_page(browser, width):
    classes = ["neg", "pos", LONG]
    columns = [
        signed(AWKWARD["long word"].text, classes=classes, probabilities=[0.1, 0.8, 0.1], target=c)
        for c in classes
    ]
    page = ExplanationList(columns, numbers=[0, 0, 0]).to_html()
    assert too_wide(browser, {"classes": page}, width) == ""


@pytest.mark.thorough
@pytest.mark.parametrize("width", [400, 1000])
def test_a_report_is_not_too_wide_for_its_place(browser, width):
    pages = {"small": made(), "hostile": hostile(), "many labels": of_size(300, 30)}
    pages["long labels"] = made(labels=[f"{LONG}{i}" for i in range(3)])
    assert too_wide(browser, {name: page.to_html() for name, page in pages.items()}, width) == ""


@pytest.mark.thorough
def test_the_ends_of_long_labels_are_seen_in_tables(browser):
    labels = [
        "Consumer complaints > Late fees and interest",
        "Medical devices / Implants / Malfunction without injury",
        "DISPUTES WITH MERCHANTS AND MANUFACTURERS (HARDWARE)",
    ]
    found = (
        "[...document.querySelectorAll('.han-name')].map(name => name.scrollWidth"
        " > name.clientWidth || name.scrollHeight > name.clientHeight ? name.innerText : '')"
    )
    script = f"<script>document.title = 'cut: ' + {found}.join('')</script>"
    html = made(labels=labels).to_html().replace("</body>", f"{script}</body>")
    dumped = browser(html, "--dump-dom", "--window-size=1000,800")
    assert re.search("<title>cut: (.*)</title>", dumped)[1] == ""


@pytest.mark.thorough
def test_no_word_is_divided_above_short_labels(browser):
    corner = "document.querySelector('.han-matrix th').firstChild"
    script = (
        f"const words = document.createRange(); words.selectNodeContents({corner});"
        "document.title = 'lines: ' + words.getClientRects().length"
    )
    report = dataclasses.replace(of_size(300, 30), labels=[f"c{i}" for i in range(30)])
    html = report.to_html().replace("</body>", f"<script>{script}</script></body>")
    dumped = browser(html, "--dump-dom", "--window-size=900,800")
    assert int(re.search("<title>lines: (.*)</title>", dumped)[1]) <= 2


@pytest.mark.thorough
def test_what_is_too_wide_would_be_found(browser):
    wide = {"wide": "<div style='width: 900px'>wide</div>", "narrow": "<p>narrow"}
    assert too_wide(browser, wide, 400) == "wide: BODY."
