"""A summary as HTML: for each class tables of its terms, whose contexts unfold."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from sk_han.rendering.colors import SCALES
from sk_han.rendering.markup import bar, escaped, fold, isolated, page, with_minus
from sk_han.rendering.numbers import decimal, percent
from sk_han.rendering.protocols import Summarized, SummarizedClass, SummarizedTerm
from sk_han.rendering.shading import number
from sk_han.rendering.summary_notes import (
    PART_TITLES,
    about,
    about_class,
    honesty_note,
    legend,
    likeliest_kind,
    removal_note,
    shown_classes,
    side_titles,
)

OPEN_CLASSES = 3


def render_summary_html(summary: Summarized, *, full_page: bool) -> str:
    """Return a summary as a page or a fragment; see `Summary.to_html`."""
    shown = shown_classes(summary)
    blocks = [
        '<div class="han-head"><div><div class="han-small">what the model says over</div>'
        f'<div class="han-label">{about(summary)}</div></div></div>',
        _honesty(summary),
        f'<p class="han-small han-note">{legend(summary)} '
        "A click on a term shows where it stands.</p>",
    ]
    for position, found in enumerate(shown):
        heading = (
            f'<b class="han-label">{isolated(found.label)}</b> '
            f'<span class="han-small">{escaped(about_class(found, summary, with_minus))}</span>'
        )
        content, is_open = _class(summary, found), position < OPEN_CLASSES
        blocks.append(fold(heading, content, "han-document han-class", is_open=is_open))
    return page("".join(blocks), f"Summary of {about(summary)}", full_page, "summary")


def _honesty(summary: Summarized) -> str:
    removal = summary.removal
    note = f'<p class="han-note">{honesty_note(summary)}</p>'
    if removal is None:
        return note
    falls = {
        "without the shown words": (removal.fall, "toward"),
        "without as many drawn at random": (removal.fall_random, None),
        "without any words": (removal.fall_all, None),
    }
    longest = max(*(fall for fall, _ in falls.values()), 1e-9)
    rows = "".join(
        f"<span>{name}</span>{bar(max(fall, 0) / longest, scale)}"
        f'<span class="han-number">{with_minus(decimal(fall, 2))}</span>'
        for name, (fall, scale) in falls.items()
    )
    return (
        '<div class="han-honesty"><div class="han-small">fall of the probability of the '
        f'{likeliest_kind(summary)}</div><div class="han-classes">{rows}</div></div>{note}'
    )


def _class(summary: Summarized, found: SummarizedClass) -> str:
    longest = max((abs(term.contribution) for term in found.terms), default=1.0)
    titles = side_titles(summary, found, isolated)
    columns = "<span>brings</span><span>documents</span>"
    if summary.removal is not None:
        columns += "<span>decides</span>"
    blocks = []
    for part, title in PART_TITLES.items():
        sides = "".join(
            _side(found.of(part, speaks_for=speaks_for), heading, columns, longest)
            for speaks_for, heading in titles.items()
        )
        blocks.append(f'<h4>{title}</h4><div class="han-terms">{sides}</div>')
    if found.removal is not None and (len(summary.classes) > 2 or summary.several_labels):
        blocks.append(f'<p class="han-small han-note">{removal_note(found.removal, summary)}</p>')
    return "".join(blocks)


def _side(terms: Sequence[SummarizedTerm], heading: str, columns: str, longest: float) -> str:
    rows = "".join(_term(term, longest) for term in terms) or '<div class="han-small">none</div>'
    head = (
        f'<div class="han-term han-small"><span class="han-heading">{heading}</span>{columns}</div>'
    )
    return f'<div class="han-list">{head}{rows}</div>'


def _term(term: SummarizedTerm, longest: float) -> str:
    scale = "toward" if term.speaks_for else "against"
    decides = "" if term.decides is None else percent(term.decides)
    weight = "" if term.weight is None else f", weight {number(term.weight, True)}"
    title = with_minus(f"in {percent(term.share)} of the documents of its class{weight}")
    row = (
        f'<bdi class="han-name">{escaped(term.text)}</bdi>'
        f"{bar(abs(term.contribution) / (longest or 1), scale)}"
        f'<span class="han-number">{with_minus(number(term.contribution, True))}</span>'
        f'<span class="han-number" title="{title}">{term.n_documents:,}</span>'
        f'<span class="han-number">{decides}</span>'
    )
    contexts = "".join(_context(context, f"{SCALES[scale]}5") for context in term.contexts)
    return f'<details><summary class="han-term">{row}</summary>{contexts}</details>'


def _context(context: Any, mark: str) -> str:
    place = f"document {context.document}, characters {context.start}\N{EN DASH}{context.end}"
    # Single blanks, as HTML shows them, those at the ends too.
    before, after = (re.sub(r"\s+", " ", text) for text in (context.before, context.after))
    if context.cut_before:
        before = f"\N{HORIZONTAL ELLIPSIS}{before.lstrip()}"
    if context.cut_after:
        after = f"{after.rstrip()}\N{HORIZONTAL ELLIPSIS}"
    return (
        f'<div class="han-context" dir="auto">{escaped(before)}'
        f'<mark class="{mark}">{escaped(context.written)}</mark>{escaped(after)} '
        f'<span class="han-small">{place}, predicted {isolated(context.predicted)}</span></div>'
    )
