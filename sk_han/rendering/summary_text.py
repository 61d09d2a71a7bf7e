"""A summary as lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from sk_han.rendering.explanation_text import columns, line_width, prose
from sk_han.rendering.numbers import percent
from sk_han.rendering.protocols import Summarized, SummarizedClass, SummarizedTerm
from sk_han.rendering.shading import number
from sk_han.rendering.summary_notes import (
    PART_TITLES,
    about,
    about_class,
    honesty_note,
    legend,
    shown_classes,
    side_titles,
)
from sk_han.utils.counts import counted
from sk_han.utils.visible_text import in_one_line

CLASSES_SHOWN = 10
LONGEST_TERM = 28


def render_summary_text(summary: Summarized, *, width: int | None) -> str:
    """Return a summary as lines; see `Summary.to_text`."""
    width = line_width(width)
    shown = shown_classes(summary)
    lines = [f"What the model says over {about(summary)}", ""]
    lines += prose(honesty_note(summary), width)
    for found in shown[:CLASSES_SHOWN]:
        lines += ["", *_class(summary, found, width)]
    if (more := len(shown) - CLASSES_SHOWN) > 0:
        kind = "more label" if summary.several_labels else "more class"
        lines += ["", f"... and {counted(more, kind)}, in to_html() and to_frame()"]
    return "\n".join([*lines, "", *prose(legend(summary), width)])


def _class(summary: Summarized, found: SummarizedClass, width: int) -> Iterator[str]:
    yield from prose(f"{in_one_line(found.label)}: {about_class(found, summary)}", width)
    titles = side_titles(summary, found, in_one_line)
    for part, title in PART_TITLES.items():
        yield f"  {title}"
        for speaks_for, heading in titles.items():
            terms = found.of(part, speaks_for=speaks_for)
            yield f"    {heading}{'' if terms else ': none'}"
            yield from map(_term, terms)


def _term(term: SummarizedTerm) -> str:
    text = in_one_line(term.text, LONGEST_TERM)
    blanks = " " * max(0, LONGEST_TERM - columns(text))
    documents = f"{term.n_documents:>7,} document{'s' if term.n_documents > 1 else ' '}"
    decides = "" if term.decides is None else f"  decides in {percent(term.decides)}"
    return (
        f"      {text}{blanks} {number(term.contribution, True):>7} {documents}{decides}".rstrip()
    )
