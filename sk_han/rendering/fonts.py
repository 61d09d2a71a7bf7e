"""Fonts for figures: for the characters that matplotlib's usual fonts lack."""

from __future__ import annotations

import unicodedata
from collections.abc import Container, Iterable, Sequence
from functools import lru_cache
from typing import Any

from sk_han.utils.counts import counted
from sk_han.utils.warnings import warn_user

# Tried first, since they are made for running text: of systems, and of Linux packages.
PREFERRED = (
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "Noto Sans CJK KR",
    "Source Han Sans SC",
    "WenQuanYi Micro Hei",
    "WenQuanYi Zen Hei",
    "Droid Sans Fallback",
    "PingFang SC",
    "Hiragino Sans",
    "Apple SD Gothic Neo",
    "Microsoft YaHei",
    "Yu Gothic",
    "Malgun Gothic",
    "SimHei",
    "Arial Unicode MS",
    "Nirmala UI",
    "Noto Emoji",
    "Segoe UI Symbol",
    "Symbola",
)
# Fonts that draw every character as a placeholder; matplotlib 3.11 brings one.
PLACEHOLDERS = ("Last Resort", ".LastResort")
# White square, replacement character; what each font has stands last.
BOXES = "\u25a1\ufffd?"
_SELECTORS = dict.fromkeys(range(0xFE00, 0xFE10), "")
EAST_ASIAN = {"CJK", "HIRAGANA", "KATAKANA", "HANGUL", "BOPOMOFO"}
EAST_ASIAN |= {"IDEOGRAPHIC", "FULLWIDTH", "HALFWIDTH"}


def families_for(texts: Iterable[str]) -> list[str] | None:
    """Return the font families to draw these texts with.

    The families of ``rcParams["font.family"]`` come first, then installed ones that have the
    characters which those lack. Where no font has them, a warning names a font to install.

    Parameters
    ----------
    texts : iterable of str

    Returns
    -------
    list of str, or None
        The parameter ``family`` of matplotlib's texts; None if the usual fonts have all.

    Examples
    --------
    >>> from sk_han.rendering.fonts import families_for
    >>> families_for(["plain text", "na\u00efve"])
    """
    characters = {character for text in texts if not text.isascii() for character in text}
    drawn = {c for c in characters if not c.isascii() and _is_drawn(c)}
    if not drawn:
        return None
    from matplotlib import rcParams
    from matplotlib.font_manager import FontProperties, findfont

    usual = list(rcParams["font.family"])
    for family in usual:
        path = findfont(FontProperties(family=[family]))
        drawn = {c for c in drawn if not _has(path, c)}
    if not drawn:
        return None
    added, missing = _installed_with(frozenset(drawn), _installed())
    if missing:
        some = repr("".join(sorted(missing)[:10]))
        n_more = len(missing) - 10
        more = f" and {counted(n_more, 'more character')}" if n_more > 0 else ""
        to_install = " and ".join(sorted(_fonts_of(missing))[:3])
        warn_user(
            f"No installed font has {some}{more}: the figure shows boxes in their place. "
            f"Install {to_install} and start Python again."
        )
    return [*usual, *added] if added else None


def drawable(text: str, families: Sequence[str] | None = None, weight: str = "normal") -> str:
    """Replace what none of these fonts has by boxes, since matplotlib warns of each such glyph.

    Invisible characters that no font has are left out, and variation selectors, which a font draws
    as a circle where they begin a text. By default the families are the usual ones.
    """
    if text.isascii() and text.isprintable():
        return text
    from matplotlib import rcParams
    from matplotlib.font_manager import FontProperties, findfont

    paths = [
        findfont(FontProperties(family=[family], weight=weight))
        for family in families or rcParams["font.family"]
    ]
    lacking = {c for c in text if not any(_has(path, c) for path in paths)} - {"\n"}
    box = next((c for c in BOXES if any(_has(path, c) for path in paths)), "")
    return text.translate(_SELECTORS | {ord(c): box if _is_drawn(c) else "" for c in lacking})


def written(texts: Sequence[str]) -> tuple[list[str], dict[str, Any]]:
    """Return texts that figures can draw, none of them a formula, and the style to do so."""
    families = families_for(texts)
    style = {"parse_math": False} | ({} if families is None else {"family": families})
    return [drawable(text, families) for text in texts], style


def _is_drawn(character: str) -> bool:
    """Return whether a character has a glyph: no blanks, controls, joiners and selectors."""
    invisible = unicodedata.category(character) in ("Zs", "Zl", "Zp", "Cc", "Cf", "Cs")
    return not (invisible or ord(character) in _SELECTORS)


@lru_cache(maxsize=4096)
def _font(path: Any) -> Any:
    """Return an open font, or None for one that matplotlib cannot draw, as of coloured emoji."""
    from matplotlib.font_manager import get_font

    try:
        return get_font(path)
    except (OSError, RuntimeError):
        return None


def _has(path: Any, character: str) -> bool:
    font = _font(path)
    return font is not None and font.get_char_index(ord(character)) != 0


def _installed() -> tuple[tuple[str, str], ...]:
    """Return the names and files of upright fonts of usual weight, the preferred ones first."""
    from matplotlib.font_manager import fontManager

    files: dict[str, str] = {}
    for entry in fontManager.ttflist:
        upright = entry.style == "normal" and entry.weight in (400, "normal", "regular", "book")
        if upright and not entry.name.startswith(PLACEHOLDERS):
            files.setdefault(entry.name, entry.fname)
    rank = {name: number for number, name in enumerate(PREFERRED)}
    names = sorted(files, key=lambda name: (rank.get(name, len(rank)), name))
    return tuple((name, files[name]) for name in names)


@lru_cache(maxsize=64)
def _installed_with(
    characters: frozenset[str], fonts: tuple[tuple[str, str], ...]
) -> tuple[list[str], frozenset[str]]:
    """Choose the fewest fonts that have these characters; return the characters that none has."""
    having = {name: {c for c in characters if _has(path, c)} for name, path in fonts}
    chosen: list[str] = []
    missing = set(characters)
    while missing and having:
        # The first of equally good ones, which is the preferred one.
        best = max(having, key=lambda name: len(having[name] & missing))
        if not having[best] & missing:
            break
        chosen.append(best)
        missing -= having[best]
    return chosen, frozenset(missing)


def _fonts_of(characters: Iterable[str]) -> set[str]:
    """Name fonts that have the scripts of these characters."""
    characters = set(characters)
    scripts = {_script_of(c) for c in characters if unicodedata.category(c)[0] == "L"}
    return {_font_of(character, scripts) for character in characters}


def _font_of(character: str, scripts: Container[str]) -> str:
    """Name a font for a letter, or for a sign that may be of one of these scripts."""
    script = _script_of(character)
    if script in EAST_ASIAN or "\u3000" <= character <= "\u303f":  # which has the signs of all
        return "Noto Sans CJK (Debian and Ubuntu: apt install fonts-noto-cjk)"
    if script in scripts:
        return f"Noto Sans {script.title()} (Debian and Ubuntu: apt install fonts-noto-core)"
    return "Noto Emoji or Symbola (Debian and Ubuntu: apt install fonts-symbola)"


def _script_of(character: str) -> str:
    return unicodedata.name(character, "SYMBOL").replace("-", " ").split()[0]
