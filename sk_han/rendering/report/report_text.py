"""A report as lines for a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator

from sk_han.rendering.explanation_text import line_width
from sk_han.rendering.numbers import counted, percent
from sk_han.rendering.protocols import Reported
from sk_han.rendering.report.report_documents import misleading_sentence
from sk_han.rendering.report.verdicts import (
    BASELINE,
    always,
    gain_note,
    learnt_from_note,
    probability,
    sureness_note,
)
from sk_han.utils.visible_text import in_one_line, in_reading_order

NARROWEST = 40
MIXED_UP = 5
MISTAKES = 5
ROWS = 10
LABEL = 24


def render_report_text(report: Reported, *, width: int | None = None) -> str:
    """Return scores, frequent and worst mistakes, doubtful labels and duplicates.

    Control characters of documents and labels are replaced by visible ones.
    """
    return wrapped_lines(_lines(report), line_width(width, NARROWEST))


def wrapped_lines(lines: Iterable[str], width: int) -> str:
    """Return lines broken at their blanks; the rest of an indented line is indented further."""
    found: list[str] = []
    for line in map(in_reading_order, lines):
        indent = " " * (len(line) - len(line.lstrip()) + 2 * line.startswith(" "))
        found += textwrap.wrap(line, width, subsequent_indent=indent) or [""]
    return "\n".join(found).replace("\N{NO-BREAK SPACE}", " ")


def _lines(report: Reported) -> Iterator[str]:
    yield f"{report.estimator} on {counted(report.n_documents)}"
    yield learnt_from_note(report)
    yield from report.notes
    yield ""
    names = {
        "model": "the model",
        "baseline": BASELINE,
        "commonest": always(_label(report.commonest_label)),
    }
    longest = max(map(len, names.values()))
    yield f"{'':<{longest}} accuracy  95 % interval  macro F1  log loss"
    for key, found in report.scores.items():
        interval = f"[{100 * found['accuracy_low']:.1f}, {100 * found['accuracy_high']:.1f}]"
        loss = f"{found['log_loss']:8.3f}" if "log_loss" in found else ""
        yield (
            f"{names[key]:<{longest}} {percent(found['accuracy'], 1):>8}  {interval:>13}  "
            f"{found['macro_f1']:8.3f}  {loss}"
        ).rstrip()
    if report.gain is not None:
        yield gain_note(report)
    yield report.baseline_note
    yield sureness_note(report)
    mixed = report.mixed_up()
    if mixed:
        yield ""
        yield "Most frequent mistakes"
        for i, j, n in mixed[:MIXED_UP]:
            yield f"  {n:>5,}  {_label(report.labels[i])} taken for {_label(report.labels[j])}"
    if len(report.mistake_rows):
        yield ""
        yield "Worst mistakes"
    for position, row in enumerate(report.mistake_rows[:MISTAKES].tolist()):
        label, predicted = report.labels[report.targets[row]], report.labels[report.predicted[row]]
        yield (
            f"  document {row}: predicted {_label(predicted)} "
            f"{probability(float(report.confidence[row]))}, labelled {_label(label)}"
        )
        yield from misled_by(report, position)
    yield ""
    look = "looks" if len(report.suspects) == 1 else "look"
    listed = _listed(report.suspects.tolist())
    yield f"{counted(len(report.suspects))} that {look} mislabelled{listed}"
    if report.duplicates:
        n_conflicts = sum(map(report.has_conflict, report.duplicates))
        groups = counted(len(report.duplicates), "group")
        yield f"{groups} of documents with the same words, {n_conflicts} with different labels"
    yield from last_lines(report)


def misled_by(report: Reported, position: int, sign: int = 1) -> Iterator[str]:
    """Yield the sentence that misled most in one of the worst mistakes, if it is known."""
    if len(report.mistakes):
        sentence = misleading_sentence(report.mistakes[position], sign)
        if sentence is not None:
            yield f"    misled by {sentence[1]:+.2f}: {in_one_line(sentence[0])}"


def last_lines(report: Reported) -> Iterator[str]:
    """Yield how many documents the model has learnt, and where there is more."""
    yield "The whole report: report.to_html('report.html')"


def _label(label: object) -> str:
    return in_one_line(label, LABEL)


def _listed(rows: list[int]) -> str:
    if not rows:
        return ""
    more = ", ..." if len(rows) > ROWS else ""
    return f": {', '.join(map(str, rows[:ROWS]))}{more}"
