"""A report on several labels a document as lines for a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from sk_han.rendering.explanation_text import line_width
from sk_han.rendering.facts import table_lines
from sk_han.rendering.notes import named
from sk_han.rendering.numbers import counted
from sk_han.rendering.protocols import Reported
from sk_han.rendering.report.report_text import last_lines, misled_by, wrapped_lines
from sk_han.rendering.report.verdicts import (
    by_f1,
    learnt_from_note,
    points,
    probability,
    three_decimals,
)
from sk_han.utils.visible_text import in_one_line

BASELINE = "TF-IDF + a logistic regression for each label"
MEASURES = {
    "micro_f1": "micro F1",
    "macro_f1": "macro F1",
    "samples_f1": "samples F1",
    "subset_accuracy": "all labels right",
}

NARROWEST = 60
# Figures without an interval.
FIGURES = {
    "mean_average_precision": "mean average precision",
    "log_loss": "log loss",
    "calibration_error": "calibration error",
}
ROWS = 10
MISTAKES = 5
LABEL = 24


def render_label_report_text(report: Reported, *, width: int | None = None) -> str:
    """Return scores, the worst labels and mistakes, and doubtful labels."""
    return wrapped_lines(_lines(report), line_width(width, NARROWEST))


def _lines(report: Reported) -> Iterator[str]:
    n_labels = counted(len(report.labels), "label")
    yield f"{report.estimator} on {counted(report.n_documents)} of {n_labels}"
    yield learnt_from_note(report)
    yield from report.notes
    yield ""
    for key, found in report.scores.items():
        yield "The model" if key == "model" else BASELINE
        for measure, name in MEASURES.items():
            yield f"  {name:<16}  {found[measure]:.3f}  {interval(found, measure)}"
        for measure, name in FIGURES.items():
            yield f"  {name:<22}  {found[measure]:.3f}"
    if report.gain is not None:
        yield label_gain_note(report)
    yield report.baseline_note
    yield ""
    head = ["Label, the worst first", "documents", "precision", "recall", "F1"]
    head += ["average precision", "log loss", "threshold"]
    rows = [
        [_label(s.label), f"{s.n_documents:,}", *map(three_decimals, (s.precision, *s[4:]))]
        for s in by_f1(report.label_scores)[:ROWS]
    ]
    yield from table_lines(head, rows)
    if len(report.labels) > ROWS:
        yield f"and {len(report.labels) - ROWS:,} more labels"
    if report.taken_for():
        yield ""
        yield "Missed, and what is wrongly given instead"
    for missed, given, n in report.taken_for()[:ROWS]:
        names = ["nothing" if label is None else _label(label) for label in (missed, given)]
        yield f"  {n:>5,}  missed {names[0]}, wrongly given {names[1]}"
    if len(report.mistake_rows):
        yield ""
        yield "Worst mistakes"
    for position, row in enumerate(report.mistake_rows[:MISTAKES].tolist()):
        yield f"  document {row}: {verdict(report, position, _label)}"
        sign = -1 if report.targets[row, report.mistake_labels[position]] else 1
        yield from misled_by(report, position, sign)
    yield ""
    yield f"{counted(len(report.suspects), 'label')} of documents that may be marked wrongly"
    for row, label in report.suspects[:ROWS].tolist():
        has = "marked" if report.targets[row, label] else "not marked"
        p = probability(float(report.probabilities[row, label]))
        yield f"  document {row}: {has} {_label(report.labels[label])}, probability {p}"
    yield from last_lines(report)


def verdict(report: Reported, position: int, write: Callable[[Any], str]) -> str:
    """Say which label of a mistake is most wrong, which labels it gets, and which it has."""
    row, label = (
        int(numbers[position]) for numbers in (report.mistake_rows, report.mistake_labels)
    )
    kind = "missed" if report.targets[row, label] else "wrongly given"
    return (
        f"{write(report.labels[label])} {kind} "
        f"({probability(float(report.probabilities[row, label]))}); "
        f"predicted {named(report.answer(row), write)}, labelled {named(report.marked(row), write)}"
    )


def label_gain_note(report: Reported) -> str:
    """Say by how much micro F1 is above or below the baseline's, and whether that may be chance."""
    gain, low, high = report.gain
    found = (
        f"Micro F1 is {points(gain)} points against the baseline's (95 % interval {points(low)} to "
        f"{points(high)})"
    )
    if low <= 0 <= high:
        return f"{found}, which may be chance."
    return f"{found}." if gain > 0 else f"{found}: here the simpler model is better."


def interval(found: dict[str, float], measure: str) -> str:
    """Write the ends of an interval."""
    return f"[{found[f'{measure}_low']:.3f}, {found[f'{measure}_high']:.3f}]"


def _label(label: object) -> str:
    return in_one_line(label, LABEL)
