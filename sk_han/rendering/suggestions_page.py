"""Documents to label next, as text, page and figure."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from sk_han.rendering.colors import themed_axes
from sk_han.rendering.markup import escaped, excerpt, fold, isolated, page, whole_text
from sk_han.rendering.numbers import counted
from sk_han.rendering.protocols import Suggested
from sk_han.utils.visible_text import in_one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LINES, _ON_A_PAGE, _IN_A_NOTEBOOK, _EXCERPT = 20, 500, 20, 160


def suggestions_text(suggested: Suggested) -> str:
    """Return the lines of `Suggestions.to_text`."""
    lines = [_summary(suggested), *suggested.notes]
    for number, one in enumerate(suggested):
        if number == _LINES:
            lines.append(f"... and {len(suggested) - _LINES:,} more")
            break
        text = "" if one.text is None else f"  {in_one_line(one.text)[:60]}"
        lines.append(f"document {one.document}: {_guess(one, in_one_line)}{text}")
    return "\n".join(lines)


def suggestions_page(suggested: Suggested, full_page: bool) -> str:
    """Return the page of suggestions, or a fragment of one."""
    shown = _ON_A_PAGE if full_page else _IN_A_NOTEBOOK
    parts = [f"<p><b>{_summary(suggested)}</b></p>"]
    parts += [f"<p>{escaped(note)}</p>" for note in suggested.notes]
    for number, one in enumerate(suggested):
        if number == shown:
            parts.append(f'<p class="han-small">and {len(suggested) - shown:,} more</p>')
            break
        parts.append(_entry(one, is_open=not number))
    title = f"{counted(len(suggested))} to label"
    content = "".join(parts)
    return page(f"<main>{content}</main>" if full_page else content, title, full_page, "report")


def plot_suggestions(suggested: Suggested, ax: Axes | None) -> Axes:
    """Draw the margins, with those of random documents as marks of their own."""
    ax, theme = themed_axes(ax, "Suggestions.plot", (6, 4))
    places = np.arange(len(suggested))
    for is_random, color, name in (
        (False, theme.toward[1], "least decided"),
        (True, theme.against[1], "at random"),
    ):
        rows = suggested.is_random == is_random
        if rows.any():
            ax.scatter(places[rows], suggested.margins[rows], s=8, color=color, label=name)
    ax.set_xlabel("suggested documents, in their order")
    ax.set_ylabel("margin to another decision")
    if len(suggested):
        ax.legend()
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _summary(suggested: Suggested) -> str:
    n_random = int(suggested.is_random.sum())
    return (
        f"{counted(len(suggested))} of {suggested.n_documents:,} to label next: "
        f"{len(suggested) - n_random:,} that the model is least decided on, and {n_random:,} at "
        "random. Measure the model on random ones alone: the others are harder than the pool."
    )


def _guess(one: Any, write: Callable[[object], str]) -> str:
    how = " (at random)" if one.is_random else ""
    rival = "" if one.rival is None else f", or {write(one.rival)}"
    return f"{write(one.guess)} {one.probability:.3f}{rival}{how}"


def _entry(one: Any, *, is_open: bool) -> str:
    """Return a document that opens to its whole text."""
    head = f"document {one.document:,}: {_guess(one, isolated)}"
    if one.text is None:
        return f'<div class="han-entry">{head}</div>'
    beginning = excerpt(one.text, _EXCERPT)
    told = f'{head} <span class="han-small han-excerpt"><bdi>{beginning}</bdi></span>'
    content = f'<div class="han-whole">{whole_text(one.text)}</div>'
    return fold(told, content, "han-entry", is_open=is_open)
