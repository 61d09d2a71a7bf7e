"""Colours and the shading of words, and what renderings read of results."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sk_han.utils.messages import import_optional

if TYPE_CHECKING:
    from matplotlib.axes import Axes


Level = Literal["word", "sentence"]


Quantity = Literal["contributions", "attention"]


Part = Literal["network", "ngrams"]


# One class of `sk_han.inspection.results` has each of these, and says what is in it.
Explained: TypeAlias = Any  # DocumentExplanation


ExplainedDocuments: TypeAlias = Any  # ExplanationList


Audited: TypeAlias = Any  # LabelAudit


Measured: TypeAlias = Any  # FaithfulnessReport


Reported: TypeAlias = Any  # Report


Summarized: TypeAlias = Any  # Summary, with its parts


SummarizedClass: TypeAlias = Any


SummarizedTerm: TypeAlias = Any


Removed: TypeAlias = Any


# Shades on each side of zero: about as many as readers can distinguish side by side.
LEVELS = 8


# Words that together hold no more than this share of a document's contributions are not shaded: the
# largest of the shares measured at which taking all of them out at once, four of five words,
# changes at most 4 of 100 decisions (docs/benchmarks.md).
WEAK_SHARE = 0.2


_SHOWN = 5e-4  # of a probability


@dataclass(frozen=True, eq=False)
class Shading:
    """Values of words, shape (n_words,), and of sentences, shape (n_sentences,), to draw."""

    words: NDArray[np.float64]
    sentences: NDArray[np.float64]
    signed: bool
    base: float | None = None  # from which contributions start, where they add up to what is shown
    beside: tuple[Shading, ...] = ()  # of the same document, for other classes

    @cached_property
    def word_limit(self) -> float:
        """Largest magnitude of a word in the document: the end of the colour scale."""
        return max(float(np.abs(each.words).max(initial=0.0)) for each in (self, *self.beside))

    @cached_property
    def sentence_limit(self) -> float:
        """Largest magnitude of a sentence in the document: the length of a full bar."""
        return max(float(np.abs(each.sentences).max(initial=0.0)) for each in (self, *self.beside))

    @cached_property
    def levels(self) -> list[int]:
        """Shade of each word, from -LEVELS to LEVELS, relative to the limit; 0 if too weak."""
        limit = self.word_limit or 1.0
        steps = np.rint(LEVELS * (np.abs(self.words) / limit)).astype(int)
        shown = np.where(too_weak(self.words), 0, np.maximum(steps, 1))
        return np.where(self.words < 0, -shown, shown).tolist()

    def scale(self, value: float) -> str:
        """Return the name of the colour scale of a value."""
        if not self.signed:
            return "attention"
        return "against" if value < 0 else "toward"

    def written(self, sentence: int) -> str:
        """Return the value of a sentence, as `number` writes it."""
        return number(float(self.sentences[sentence]), self.signed)

    def sum_note(self) -> str:
        """Say what the sentences add up to, and from where; nothing where they do not add up."""
        if self.base is None:
            return ""
        total = self.base + float(self.sentences.sum())
        return f"{number(self.base, True)} without any word, {number(total, True)} in sum"

    def share(self, sentence: int) -> float:
        """Return the share of a full bar that a sentence fills, from 0 to 1."""
        return abs(float(self.sentences[sentence])) / (self.sentence_limit or 1.0)


def too_weak(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which words are too weak to matter, shape (n_words,).

    They are the weakest ones, as many as together hold no more than `WEAK_SHARE` of the sum of
    all magnitudes; words of equal magnitude are all weak, or none is.
    """
    magnitudes = np.abs(values)
    rising = np.sort(magnitudes)
    n_weak = int((np.cumsum(rising) <= WEAK_SHARE * magnitudes.sum()).sum())
    if n_weak == len(values):  # all are zero
        return np.ones(n_weak, dtype=bool)
    return magnitudes < rising[n_weak]


def number(value: float, signed: bool) -> str:
    """Write a value with three decimals, or with two or three digits if it is small or large."""
    # Below, three decimals round to one significant digit or none.
    if abs(value) < 0.00995:
        return brief(value, signed)
    sign = "+" if signed else ""
    return format(value, f"{sign}.3f" if abs(value) < 99.95 else f"{sign}.3g")


def brief(value: float, signed: bool = False) -> str:
    """Write a value with two significant digits, and zero without a sign."""
    if not value:
        return "0"
    return format(value, "+.2g" if signed else ".2g")


def shading_of(explanation: Explained, show: Quantity) -> Shading:
    """Return the values of an explanation to draw: its contributions or the attention."""
    if show == "contributions":
        return Shading(
            explanation.contributions,
            explanation.sentence_contributions,
            explanation.signed,
            explanation.base_value if adds_up(explanation) else None,
        )
    if show == "attention":
        return Shading(explanation.combined_attention, explanation.sentence_attention, False)
    raise ValueError(f"show must be 'contributions' or 'attention'; got {show!r}.")


def adds_up(explanation: Explained) -> bool:
    """Return whether sentences add up to the probability shown: not those before a calibration."""
    if explanation.base_value is None or not len(explanation.sentence_spans):
        return False
    labels = explanation.classes.tolist()
    share = float(explanation.probabilities[labels.index(explanation.target)])
    if explanation.against is not None:
        share /= share + float(explanation.probabilities[labels.index(explanation.against)]) or 1.0
    total = explanation.base_value + float(explanation.sentence_contributions.sum())
    return abs(1 / (1 + math.exp(min(-total, 700.0))) - share) < _SHOWN


def side_by_side(explanations: Sequence[Explained], show: Quantity) -> list[Shading]:
    """Return the values of one document for several classes, with one colour scale for all."""
    shadings = tuple(shading_of(explanation, show) for explanation in explanations)
    return [replace(shading, beside=shadings) for shading in shadings]


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
    """Return the colours of a scale from the weakest shade to the strongest."""
    strongest = getattr(theme, scale)[0]
    return [_mix(theme.page, strongest, level / LEVELS) for level in range(1, LEVELS + 1)]


def theme_of(ax: Axes) -> Theme:
    """Choose the theme of a figure by its background."""
    from matplotlib.colors import to_rgb

    return DARK if sum(to_rgb(ax.figure.get_facecolor())) < 1.5 else LIGHT


def themed_axes(
    ax: Axes | None, door: str, size: Sequence[float] | None = None
) -> tuple[Axes, Theme]:
    """Return these axes, or those of a new figure in inches, with their theme.

    `door` is what asks for matplotlib, should it be missing.
    """
    pyplot = import_optional("matplotlib.pyplot", "plot", door)
    if ax is None:
        _, ax = pyplot.subplots(figsize=size, layout="constrained")
    from matplotlib.axes import Axes

    if not isinstance(ax, Axes):
        got = type(ax).__name__
        if hasattr(ax, "flat"):  # of plt.subplots(1, 2)
            got = f"an array of {ax.size}. Choose one of them, such as ax=axes.flat[0]"
        raise TypeError(f"ax must be one matplotlib.axes.Axes; got {got}.")
    return ax, theme_of(ax)


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
        f"}}\n{style('page')}{marks}{style('after_shades')}"
    )


def style(name: str) -> str:
    """Read a style sheet of `styles`; each selector is scoped to the class ``sk-han``."""
    return (files("sk_han.rendering") / "styles" / f"{name}.css").read_text("utf-8")


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


def percent(share: float, decimals: int | None = None) -> str:
    """Write a share as a percentage, by default with a decimal where it is near 0 or 1.

    What is not the whole is not written as such.
    """
    if decimals is None:
        if 0 < abs(share) < 0.001:
            return "below 0.1\N{NO-BREAK SPACE}%"
        decimals = 1 if 0 < abs(share) < 0.0195 or 0.995 <= share < 1 else 0
    written = f"{100 * share + 0.0:.{decimals}f}"
    if share < 1 and float(written) == 100:
        return f"above {99.9 if decimals else 99}\N{NO-BREAK SPACE}%"
    return f"{written}\N{NO-BREAK SPACE}%".replace("-", "\N{MINUS SIGN}")


def decimal(value: float, places: int) -> str:
    """Write a number; what rounds to 0 has no sign."""
    return f"{round(value, places) + 0.0:.{places}f}"
