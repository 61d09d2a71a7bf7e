"""Colours of the style sheet of pages, for every theme and every colour vision."""

import re

import numpy as np
import pytest

from tests.by_hand import explained

HTML = explained().to_html()
STYLES = HTML[HTML.index("<style>") + 7 : HTML.index("</style>")]
THEMES = [
    dict(re.findall(r"--([\w-]+): (#\w{6});", part))
    for part in STYLES.split("@media screen and (prefers-color-scheme: dark)")
]
SCALES = {"attention": "w", "toward": "p", "against": "m"}
LUMINANCE = np.array([0.2126, 0.7152, 0.0722])
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], LUMINANCE, [0.0193, 0.1192, 0.9505]])
# Linear RGB as people see it who lack one kind of cone (Machado et al., 2009, severity 1).
VISIONS = {
    "normal": np.eye(3),
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}


def shades(theme, scale):
    return [theme[f"{scale}-{level}"] for level in range(1, 9)]


def linear(color):
    channels = np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def contrast(first, second):
    """Ratio of two colours, as WCAG 2.2 defines it."""
    low, high = sorted(linear(color) @ LUMINANCE for color in (first, second))
    return (high + 0.05) / (low + 0.05)


def difference(first, second, vision="normal"):
    """Distance of two colours in CIELAB, where 2.3 is just noticed."""

    def lab(color):
        seen = np.clip(np.array(VISIONS[vision]) @ linear(color), 0, 1)
        x, y, z = np.cbrt(TO_XYZ @ seen / TO_XYZ.sum(axis=1))
        return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])

    return np.linalg.norm(lab(first) - lab(second))


def test_a_style_rule_reaches_only_our_elements():
    rules = re.sub(r"@media[^{]*\{(.*?\}\s*)\}", r"\1", STYLES, flags=re.DOTALL)
    assert "@media" not in rules
    selectors = re.findall(r"([^{}]+)\{[^{}]*\}", rules)
    assert len(selectors) > 20
    for selector in selectors:
        assert all(part.strip().startswith(".sk-han") for part in selector.split(","))


def test_the_page_is_light_or_dark():
    light, dark = (contrast(theme["page"], "#000000") for theme in THEMES)
    assert dark < 2 < 20 < light


@pytest.mark.parametrize("theme", THEMES, ids=["light", "dark"])
def test_text_and_lines_have_the_contrast_that_readers_need(theme):
    for scale in SCALES:
        assert all(contrast(theme["text"], shade) >= 4.5 for shade in shades(theme, scale))
        assert contrast(theme[scale], theme["page"]) >= 3  # lines and bars
        ratios = [contrast(theme["page"], shade) for shade in shades(theme, scale)]
        assert ratios == sorted(ratios)
        assert ratios[-1] > 1.6
    assert contrast(theme["against"], theme["page"]) >= 4.5  # verdicts
    assert all(contrast(theme["muted"], theme[behind]) >= 4.5 for behind in ("page", "rule"))


def test_stronger_shades_have_thicker_lines():
    for letter in SCALES.values():
        widths = re.findall(rf"\.{letter}\d {{[^}}]* ([\d.]+)px", STYLES)
        assert len(widths) == 8
        assert [float(w) for w in widths] == sorted(float(w) for w in set(widths))


@pytest.mark.parametrize("vision", VISIONS)
@pytest.mark.parametrize("theme", THEMES, ids=["light", "dark"])
def test_toward_and_against_stay_apart_for_every_colour_vision(theme, vision):
    pairs = zip(shades(theme, "toward"), shades(theme, "against"), strict=True)
    distances = [difference(*pair, vision) for pair in pairs]
    assert distances[0] > 5
    assert distances[-1] > 60
    assert difference(theme["toward"], theme["against"], vision) > 60


def test_red_and_green_would_not_stay_apart():
    assert difference("#e05050", "#808030", "deuteranopia") < 20
