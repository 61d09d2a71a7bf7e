"""Colours of pages and figures for light and dark themes, and the style sheet of pages."""

from __future__ import annotations

from importlib.resources import files
from typing import NamedTuple

# Shades on each side of zero, about as many as readers can distinguish side by side.
LEVELS = 8
# Attention has one hue. Blue (for) and orange (against) can be told apart with every colour vision.
# CSS classes begin with the letter of their scale; they are short since every word has one.
SCALES = {"attention": "w", "toward": "p", "against": "m"}


class Theme(NamedTuple):
    """Colours of one theme; a scale has its strongest shade and the colour of its underlines."""

    page: str
    text: str
    muted: str
    rule: str
    attention: tuple[str, str]
    toward: tuple[str, str]
    against: tuple[str, str]


LIGHT = Theme(
    page="#ffffff",
    text="#1c2128",
    muted="#59636e",
    rule="#e3e7eb",
    attention=("#5cc4b5", "#0b7a6e"),
    toward=("#84b6f4", "#1f63b8"),
    against=("#f7ab5e", "#ad5200"),
)
DARK = Theme(
    page="#14181d",
    text="#e8ebee",
    muted="#9aa5b1",
    rule="#2b323a",
    attention=("#0d645b", "#4cc9b8"),
    toward=("#1f558f", "#7ab2f2"),
    against=("#824100", "#f0a154"),
)


def shades(theme: Theme, scale: str) -> list[str]:
    """Return the colours of a scale from the weakest shade to the strongest."""
    strongest = getattr(theme, scale)[0]
    return [_mix(theme.page, strongest, level / LEVELS) for level in range(1, LEVELS + 1)]


def stylesheet() -> str:
    """Return the style sheet; every selector is scoped to the class ``sk-han``."""
    marks = "".join(
        f".sk-han .{letter}{level} {{ background: var(--{scale}-{level}); "
        f"text-decoration: underline var(--{scale}-line-{level}) {0.7 + 0.3 * level:.1f}px; }}\n"
        for scale, letter in SCALES.items()
        for level in range(1, LEVELS + 1)
    )
    rules = (files("sk_han._rendering") / "page.css").read_text("utf-8")
    return (
        f".sk-han {{ color-scheme: light; {_variables(LIGHT)} }}\n"
        "@media screen and (prefers-color-scheme: dark) {\n"
        f".sk-han {{ color-scheme: dark; {_variables(DARK)} }}\n"
        f"}}\n{marks}{rules}"
    )


def _variables(theme: Theme) -> str:
    colors = {name: getattr(theme, name) for name in ("page", "text", "muted", "rule")}
    for scale in SCALES:
        colors[scale] = getattr(theme, scale)[1]
        for level, color in enumerate(shades(theme, scale), start=1):
            colors[f"{scale}-{level}"] = color
            # Weakly shaded words get faint underlines, so that a page does not look striped.
            share = 1 / 3 + 2 / 3 * level / LEVELS
            colors[f"{scale}-line-{level}"] = _mix(theme.page, colors[scale], share)
    return " ".join(f"--{name}: {color};" for name, color in colors.items())


def _mix(weak: str, strong: str, share: float) -> str:
    """Mix two colours; all colours are ``#rrggbb``."""
    channels = (
        round(int(weak[i : i + 2], 16) * (1 - share) + int(strong[i : i + 2], 16) * share)
        for i in (1, 3, 5)
    )
    return "#" + "".join(f"{channel:02x}" for channel in channels)
