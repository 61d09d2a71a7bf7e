"""A summary as a matplotlib figure: terms for and against a class as bars."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sk_han.rendering.colors import theme_of
from sk_han.rendering.fonts import drawable, families_for
from sk_han.rendering.protocols import Part, Summarized, SummarizedClass
from sk_han.rendering.summary_notes import PART_TITLES, shown_classes, side_titles
from sk_han.utils.optional import import_optional
from sk_han.utils.visible_text import in_one_line, writer_apart

INCHES_PER_TERM = 0.22
LONGEST_TERM = 30


def plot_summary(summary: Summarized, ax: Any, label: Any) -> NDArray[np.object_]:
    """Draw the terms for and against a class, of network and n-grams; see `Summary.plot`."""
    pyplot = import_optional("matplotlib.pyplot", "plot", "Summary.plot")
    if not summary.classes:
        raise ValueError("The summary has no classes, so there is nothing to draw.")
    found = shown_classes(summary)[0] if label is None else summary[label]
    axes = ax
    if axes is None:
        most = max(sum(term.part == part for term in found.terms) for part in PART_TITLES)
        size = 10, 1.4 + INCHES_PER_TERM * (most + 2)
        _, axes = pyplot.subplots(1, 2, figsize=size, sharex=True, layout="constrained")
    axes = np.asarray(axes, dtype=object).ravel()
    if axes.shape != (2,):
        raise ValueError(
            f"ax must be two axes, one for the network and one for the n-grams; got {len(axes)}."
        )
    write = writer_apart((each.label for each in summary.classes), LONGEST_TERM)
    titles = side_titles(summary, found, write)
    texts = [*titles.values(), *(in_one_line(term.text, LONGEST_TERM) for term in found.terms)]
    families = families_for(texts)
    for ax, (part, title) in zip(axes, PART_TITLES.items(), strict=True):
        _draw(ax, found, part, titles, families)
        ax.set_title(title, size="medium", parse_math=False)
    return axes


def _draw(
    ax: Any, found: SummarizedClass, part: Part, titles: dict[bool, str], families: list[str] | None
) -> None:
    """Draw a bar for each term, those for the class above those against it."""
    theme = theme_of(ax)
    style: Any = {"parse_math": False, "size": "small"}
    if families is not None:
        style["family"] = families
    names: list[str] = []
    rows: list[int] = []
    row = 0
    for speaks_for, title in titles.items():
        color = theme.toward[1] if speaks_for else theme.against[1]
        align = "left" if speaks_for else "right"
        terms = found.of(part, speaks_for=speaks_for)
        title = drawable(f" {title} " if terms else f" {title}: none ", families)
        ax.text(0, row, title, ha=align, va="center", color=color, **style)
        added = range(row + 1, row + 1 + len(terms))
        ax.barh(added, [term.contribution for term in terms], color=color, height=0.7)
        names += [drawable(in_one_line(term.text, LONGEST_TERM), families) for term in terms]
        rows += added
        row += 1 + len(terms)
    ax.set_yticks(rows, names, **style)
    ax.set_ylim(row - 0.4, -0.6)
    ax.axvline(0, color=theme.muted, linewidth=0.8)
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.set_xlabel("mean contribution to the log-odds of the class", size="small")
