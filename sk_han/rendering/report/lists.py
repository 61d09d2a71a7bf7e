"""Lists of documents on the page of a report: each opens, and no list is endless."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import NamedTuple

from sk_han.rendering.markup import escaped, excerpt, fold, isolated
from sk_han.rendering.notes import named
from sk_han.rendering.protocols import Reported
from sk_han.rendering.report.verdicts import probability

EXCERPT = 160


class Bounds(NamedTuple):
    """How much a page shows: documents in all lists and in one, their text, explained mistakes."""

    documents: int
    in_a_list: int
    characters: int
    mistakes: int


def prefix_of(report: Reported) -> str:
    """Return what the ids of a page begin with, so that a notebook can hold several pages."""
    seen = hashlib.sha256(report.confidence.tobytes() + report.targets.tobytes())
    return f"han-{seen.hexdigest()[:8]}"


def more(n: int, what: str = "document") -> str:
    """Say how many things are not shown, if there are any."""
    return f'<p class="han-small">and {n:,} more {what}{"s" * (n != 1)}</p>' if n > 0 else ""


def name_markup(label: object) -> str:
    """Return a label that may be cut, with a title that has all of it."""
    name = escaped(label)
    return f'<span class="han-name" title="{name}"><bdi>{name}</bdi></span>'


def entries_of(report: Reported, rows: Iterable[int], bounds: Bounds) -> str:
    """Return documents whose label and prediction are known from the title above them."""
    return "".join(entry(report, int(row), _shown(report, int(row)), bounds) for row in rows)


def entry(report: Reported, row: int, verdict: str, bounds: Bounds) -> str:
    """Return a document that opens: number, verdict, beginning of the text."""
    head = f'<span class="han-number">{row:,}</span> {verdict}'
    if report.texts is None:
        return f'<div class="han-entry">{head}</div>'
    text = report.texts[row]
    beginning = excerpt(text, EXCERPT) or "no text"
    whole = escaped(text[: bounds.characters])
    if len(text) > bounds.characters:
        rest = len(text) - bounds.characters
        whole += (
            f'\N{HORIZONTAL ELLIPSIS} <span class="han-small">and {rest:,} more characters</span>'
        )
    link = ""
    if row in report.mistake_rows[: min(len(report.mistakes), bounds.mistakes)]:
        link = f' <a href="#{prefix_of(report)}-doc-{row}">explained</a>'
    return fold(
        f'{head} <span class="han-small han-excerpt"><bdi>{beginning}</bdi></span>',
        f'<div class="han-whole">{whole}</div>{link}',
        "han-entry",
    )


def shown_probability(report: Reported, row: int) -> str:
    """Return the probability of the predicted label of a document, escaped."""
    return escaped(probability(float(report.confidence[row])))


def _shown(report: Reported, row: int) -> str:
    return f'<span class="han-number">{shown_probability(report, row)}</span>'


def judged(report: Reported, rows: Iterable[int], bounds: Bounds) -> str:
    """Return documents with their label and what the model says."""
    entries = []
    for row in rows:
        label = named(report.marked(row), isolated)
        predicted = named(report.answer(row), isolated)
        verdict = f"labelled <b>{label}</b>, predicted <b>{predicted}</b> {_shown(report, row)}"
        entries.append(entry(report, row, verdict, bounds))
    return "".join(entries)
