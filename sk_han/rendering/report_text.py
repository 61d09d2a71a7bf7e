"""A report as lines for a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator

from sk_han.rendering.explanation_text import line_width
from sk_han.rendering.fit_page import table_lines
from sk_han.rendering.report_documents import (
    FIGURES,
    MEASURES,
    by_f1,
    gain_note,
    has_several,
    interval_of,
    learnt_from_note,
    misleading_sentence,
    mistake_note,
    named_scores,
    probability,
    sign_of_mistake,
    sureness_note,
    three_decimals,
)
from sk_han.rendering.shading import Reported, percent
from sk_han.utils.messages import agreeing, counted, in_one_line, in_reading_order, writer_apart

NARROWEST, NARROWEST_OF_LABELS = 40, 80


MIXED_UP = 5


MISTAKES = 5


ROWS = 10


LABEL = 24


def render_report_text(report: Reported, *, width: int | None) -> str:
    """Return scores, frequent and worst mistakes, doubtful labels and duplicates.

    Control characters of documents and labels are replaced by visible ones. Lines are broken at
    their blanks; the rest of an indented line is indented further.
    """
    width = line_width(width, NARROWEST_OF_LABELS if has_several(report) else NARROWEST)
    found: list[str] = []
    for line in map(in_reading_order, _lines(report)):
        indent = " " * (len(line) - len(line.lstrip()) + 2 * line.startswith(" "))
        found += textwrap.wrap(line, width, subsequent_indent=indent) or [""]
    return "\n".join(found).replace("\N{NO-BREAK SPACE}", " ")


def _lines(report: Reported) -> Iterator[str]:
    several, write = has_several(report), writer_apart(report.labels, LABEL)
    n_labels = f" of {counted(len(report.labels), 'label')}" if several else ""
    yield f"{report.estimator} on {counted(report.n_documents)}{n_labels}"
    yield learnt_from_note(report)
    yield from report.notes
    yield ""
    yield from (_label_scores if several else _scores)(report, write)
    yield from filter(None, (gain_note(report), report.baseline_note))
    yield from (_labels if several else _mixed_up)(report, write)
    if len(report.mistake_rows):
        yield ""
        yield "Worst mistakes"
    for position, row in enumerate(report.mistake_rows[:MISTAKES].tolist()):
        yield f"  document {row}: {mistake_note(report, position, write)}"
        if len(report.mistakes):
            sign = sign_of_mistake(report, position)
            sentence = misleading_sentence(report.mistakes[position], sign)
            if sentence is not None:
                yield f"    misled by {sentence[1]:+.2f}: {in_one_line(sentence[0])}"
    yield ""
    yield from _label_suspects(report, write) if several else _suspects(report)
    yield "The whole report: report.to_html('report.html')"


def _scores(report: Reported, write: Callable[[object], str]) -> Iterator[str]:
    rows = [
        (
            name,
            percent(found["accuracy"], 1),
            f"[{100 * found['accuracy_low']:.1f}, {100 * found['accuracy_high']:.1f}]",
            f"{found['macro_f1']:.3f}",
            f"{found['log_loss']:.3f}" if "log_loss" in found else "",
        )
        for name, found in named_scores(report, write)
    ]
    yield from table_lines(("", "accuracy", "95 % interval", "macro F1", "log loss"), rows)


def _label_scores(report: Reported, write: Callable[[object], str]) -> Iterator[str]:
    for model, found in named_scores(report, write):
        yield model
        for measure, name in MEASURES.items():
            yield f"  {name:<16}  {found[measure]:.3f}  {interval_of(found, measure)}"
        for measure, name in FIGURES.items():
            yield f"  {name:<22}  {three_decimals(found[measure])}"


def _mixed_up(report: Reported, write: Callable[[object], str]) -> Iterator[str]:
    yield sureness_note(report)
    mixed = report.mixed_up()[:MIXED_UP]
    if mixed:
        yield ""
        yield "Most frequent mistakes"
    for i, j, n in mixed:
        yield f"  {n:>5,}  {write(report.labels[i])} taken for {write(report.labels[j])}"


def _labels(report: Reported, write: Callable[[object], str]) -> Iterator[str]:
    yield ""
    head = ["Label, the worst first", "documents", "precision", "recall", "F1", "AP", "threshold"]
    rows = []
    for s in by_f1(report.label_scores)[:ROWS]:
        figures = s.precision, s.recall, s.f1, s.average_precision, s.threshold
        rows.append([write(s.label), f"{s.n_documents:,}", *map(three_decimals, figures)])
    yield from table_lines(head, rows)
    yield "AP: average precision"
    if (more := len(report.labels) - ROWS) > 0:
        yield f"and {counted(more, 'more label')}"
    pairs = report.taken_for()[:ROWS]
    if pairs:
        yield ""
        yield "Missed, and what is wrongly given instead"
    for missed, given, n in pairs:
        names = ["nothing" if label is None else write(label) for label in (missed, given)]
        yield f"  {n:>5,}  missed {names[0]}, wrongly given {names[1]}"


def _suspects(report: Reported) -> Iterator[str]:
    rows = report.suspects.tolist()
    listed = f": {', '.join(map(str, rows[:ROWS]))}" if rows else ""
    more = ", ..." if len(rows) > ROWS else ""
    yield f"{counted(len(rows))} that {agreeing(len(rows), 'look')} mislabelled{listed}{more}"
    if report.duplicates:
        n_conflicts = sum(map(report.has_conflict, report.duplicates))
        groups = counted(len(report.duplicates), "group")
        yield f"{groups} of documents with the same words, {n_conflicts} with different labels"


def _label_suspects(report: Reported, write: Callable[[object], str]) -> Iterator[str]:
    yield f"{counted(len(report.suspects), 'label')} of documents that may be marked wrongly"
    for row, label in report.suspects[:ROWS].tolist():
        has = "marked" if report.targets[row, label] else "not marked"
        p = probability(float(report.probabilities[row, label]))
        yield f"  document {row}: {has} {write(report.labels[label])}, probability {p}"
