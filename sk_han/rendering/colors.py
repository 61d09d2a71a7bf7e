"""Colours of the renderings, light and dark, and the style sheet of the HTML."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sk_han.rendering.shading import LEVELS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["DARK", "LIGHT", "SCALES", "Theme", "shades", "stylesheet", "theme_of"]

# Attention has one hue. Blue (for) and orange (against) differ for every colour vision.
# The letter names the CSS classes of a scale, and is short since every word has a class.
SCALES = {"attention": "w", "toward": "p", "against": "m"}


class Theme(NamedTuple):
    """Colours of one theme; a scale is its strongest shade and the colour of its lines."""

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
    """Return the colours of a scale from the weakest shade to the strongest.

    Examples
    --------
    >>> from sk_han.rendering.colors import LIGHT, shades
    >>> len(shades(LIGHT, "attention")), shades(LIGHT, "attention")[-1]
    (8, '#5cc4b5')
    """
    strongest = getattr(theme, scale)[0]
    return [_mix(theme.page, strongest, level / LEVELS) for level in range(1, LEVELS + 1)]


def theme_of(ax: Axes) -> Theme:
    """Choose the theme of a figure by its background."""
    from matplotlib.colors import to_rgb

    return DARK if sum(to_rgb(ax.figure.get_facecolor())) < 1.5 else LIGHT


def stylesheet() -> str:
    """Return the style sheet; every selector is scoped to the class ``sk-han``."""
    marks = "".join(
        f".sk-han .{letter}{level} {{ background: var(--{scale}-{level}); "
        f"text-decoration: underline var(--{scale}-line-{level}) {0.7 + 0.3 * level:.1f}px; }}\n"
        for scale, letter in SCALES.items()
        for level in range(1, LEVELS + 1)
    )
    return (
        f".sk-han {{ color-scheme: light; {_variables(LIGHT)} }}\n"
        "@media screen and (prefers-color-scheme: dark) {\n"
        f".sk-han {{ color-scheme: dark; {_variables(DARK)} }}\n"
        f"}}\n{_LAYOUT}{marks}{_AFTER_MARKS}"
    )


def _variables(theme: Theme) -> str:
    colors = {name: getattr(theme, name) for name in ("page", "text", "muted", "rule")}
    for scale in SCALES:
        colors[scale] = getattr(theme, scale)[1]
        for level, color in enumerate(shades(theme, scale), start=1):
            colors[f"{scale}-{level}"] = color
            # Weak words have weak lines, or a page of them would be a page of lines.
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


# Bootstrap and similar style sheets use short names, so our classes have a prefix, except the
# letters of words.
_LAYOUT = """\
.sk-han {
  box-sizing: border-box; max-width: 56rem; margin: 0 auto; padding: 1rem 1.25rem;
  background: var(--page); color: var(--text); overflow-wrap: anywhere;
  -webkit-print-color-adjust: exact; print-color-adjust: exact;
  font: 1rem/1.75 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
}
.sk-han .han-head {
  display: flex; flex-wrap: wrap; gap: .5rem 2.5rem; align-items: start; margin-bottom: .75rem;
}
.sk-han .han-small { color: var(--muted); font-size: .8125rem; line-height: 1.5; }
.sk-han .han-label { font-size: 1.25rem; font-weight: 600; line-height: 1.3; }
.sk-han .han-classes {
  display: grid; grid-template-columns: minmax(0, max-content) minmax(3rem, 9rem) auto;
  gap: .25rem .625rem; min-width: 0; align-items: center; font-size: .8125rem; line-height: 1.4;
}
.sk-han .han-number {
  color: var(--muted); font-variant-numeric: tabular-nums; white-space: nowrap;
  direction: ltr; unicode-bidi: isolate;
}
.sk-han .han-bar { display: block; height: .5rem; border-radius: .25rem; background: var(--rule); }
.sk-han .han-bar i { display: block; height: 100%; min-width: 1px; border-radius: inherit; }
.sk-han .han-bar i { background: var(--muted); }
.sk-han .han-bar i.han-attention { background: var(--attention); }
.sk-han .han-bar i.han-toward { background: var(--toward); }
.sk-han .han-bar i.han-against { background: var(--against); }
.sk-han .han-row { display: grid; grid-template-columns: 6.75rem minmax(0, 1fr); column-gap: 1rem; }
.sk-han .han-weight {
  display: grid; grid-template-columns: 3.5rem 1fr; column-gap: .5rem; align-items: center;
  height: 1.75rem; font-size: .75rem; text-align: end; user-select: none;
  -webkit-user-select: none;
}
.sk-han .han-sentence { white-space: pre-wrap; unicode-bidi: plaintext; }
.sk-han mark {
  padding: 0; background: none; color: inherit; border-radius: 2px;
  text-underline-offset: .25em; text-decoration-skip-ink: none;
}
.sk-han details > summary { cursor: pointer; }
.sk-han .han-text details > summary {
  margin-inline-start: 7.75rem; color: var(--muted); font-size: .8125rem; user-select: none;
  -webkit-user-select: none;
}
.sk-han .han-document { border-top: 1px solid var(--rule); padding: .5rem 0; }
.sk-han .han-document > summary { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.sk-han .han-document > summary > * { margin-inline-end: .25rem; }
.sk-han .han-document[open] > summary { margin-bottom: .75rem; white-space: normal; }
.sk-han .han-document[open] > summary .han-excerpt { display: none; }
.sk-han .han-wrong {
  border-inline-start: .25rem solid var(--against); padding-inline-start: .75rem;
}
.sk-han .han-verdict { color: var(--against); font-size: .8125rem; font-weight: 600; }
.sk-han .han-count { margin: 0 0 .75rem; }
.sk-han .han-legend {
  padding-bottom: .75rem; margin-bottom: .75rem; border-bottom: 1px solid var(--rule);
}
.sk-han .han-legend + .han-document { border-top: 0; }
.sk-han .han-legend bdi { color: var(--text); font-weight: 600; }
.sk-han .han-legend p { margin: 0 0 .25rem; max-width: 46rem; }
.sk-han .han-legend details p { margin: .25rem 0 0 1rem; }
.sk-han:has(.han-sides) { max-width: 84rem; }
.sk-han .han-sides { overflow-x: auto; }
.sk-han .han-side {
  display: grid; grid-template-columns: repeat(var(--han-columns), minmax(13rem, 1fr));
  gap: 0 1.25rem; margin-bottom: .5rem; min-width: min-content;
}
.sk-han .han-side-head { border-bottom: 1px solid var(--rule); font-size: .875rem; }
.sk-han .han-sides details > summary { margin-inline-start: 0; }
.sk-han .han-cell .han-weight { grid-template-columns: 3.5rem 6rem; }
.sk-han .han-of { display: none; }
.sk-han .han-report { border-collapse: collapse; font-size: .875rem; line-height: 1.4; }
.sk-han .han-report th, .sk-han .han-report td {
  padding: .5rem .75rem .5rem 0; min-width: 6.5rem; vertical-align: top; text-align: start;
  background: none; border-bottom: 1px solid var(--rule);
}
.sk-han .han-report th .han-small { font-weight: 400; }
.sk-han .han-report th[scope=row] { white-space: nowrap; }
.sk-han .han-scale { display: inline-flex; flex-wrap: wrap; align-items: center; gap: 0 .5rem; }
.sk-han .han-scale span { display: inline-flex; align-items: center; white-space: pre; }
.sk-han .han-facts { border-collapse: collapse; margin: .5rem 0; font-size: .875rem; }
.sk-han .han-facts th, .sk-han .han-facts td {
  padding: .25rem 1.5rem .25rem 0; text-align: start; vertical-align: top; line-height: 1.5;
  border: 0; border-bottom: 1px solid var(--rule); background: none; color: inherit;
}
.sk-han .han-facts th { color: var(--muted); font-weight: 400; overflow-wrap: normal; }
.sk-han .han-figures td, .sk-han .han-figures thead th {
  text-align: end; font-variant-numeric: tabular-nums; padding-inline-end: 1rem;
}
.sk-han .han-scale mark { display: inline-block; width: 1.1rem; height: 1rem; border-radius: 0; }
"""

# These rules override the shades and, on narrow pages, the layout, so they come last.
_AFTER_MARKS = """\
.sk-han mark.han-unknown { text-decoration-line: underline; text-decoration-style: dotted; }
.sk-han mark.han-unread {
  color: var(--muted);
  background: repeating-linear-gradient(135deg, var(--rule) 0 2px, transparent 2px 6px);
}
@media (max-width: 32rem) {
.sk-han { padding: .75rem; }
.sk-han .han-row { grid-template-columns: 3.5rem minmax(0, 1fr); column-gap: .75rem; }
.sk-han .han-weight {
  grid-template-columns: 1fr; height: auto; align-content: start; padding-top: .25rem;
}
.sk-han .han-text details > summary { margin-inline-start: 4.25rem; }
.sk-han .han-side { grid-template-columns: minmax(0, 1fr); min-width: 0; margin-bottom: 1rem; }
.sk-han .han-side-head { display: none; }
.sk-han .han-of { display: block; }
.sk-han .han-cell .han-weight { grid-template-columns: 3.5rem minmax(0, 1fr); }
.sk-han .han-scale mark { width: .5rem; }
.sk-han .han-facts th, .sk-han .han-facts td { padding-inline-end: .5rem; }
.sk-han .han-facts.han-figures { font-size: .75rem; }
.sk-han .han-document > summary { white-space: normal; }
.sk-han .han-excerpt {
  display: block; overflow: hidden; text-overflow: ellipsis; white-space: nowrap;
}
}
@media print {
.sk-han .han-row, .sk-han .han-side { break-inside: avoid; }
.sk-han .han-sides { overflow: visible; }
.sk-han .han-side {
  grid-template-columns: repeat(var(--han-columns), minmax(0, 1fr)); min-width: 0;
}
}
"""
