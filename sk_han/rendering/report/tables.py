"""A report as plain dicts and as tables."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from sk_han.inspection.results.report import ClassScores, Report
from sk_han.rendering.tables import plain
from sk_han.utils.frames import column_dtype, frame_of
from sk_han.utils.optional import import_optional

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["report_as_dict", "report_as_frame"]


def report_as_dict(report: Report) -> dict[str, Any]:
    """Return all data of a report as dicts, lists, strings and numbers."""
    return {
        "estimator": report.estimator,
        "labels": [plain(label) for label in report.labels],
        "n_classes": report.n_classes,
        "notes": list(report.notes),
        "scores": report.scores,
        "gain": report.gain and list(report.gain),
        "baseline_note": report.baseline_note,
        "classes": [
            scores._asdict() | {"label": plain(scores.label)} for scores in report.class_scores
        ],
        "confusion": report.confusion.tolist(),
        "reliability": [b._asdict() for b in report.reliability],
        "lengths": [b._asdict() for b in report.by_length],
        "history": [
            {name: value if math.isfinite(value) else None for name, value in epoch.items()}
            for epoch in report.history
        ],
        "documents": {name: list(column) for name, column in _documents(report).items()},
        "mistakes": [
            {"row": row, "explanation": explanation.to_dict()}
            for row, explanation in zip(report.mistake_rows.tolist(), report.mistakes, strict=False)
        ],
        "suspects": report.suspects.tolist(),
        "duplicates": [list(group) for group in report.duplicates],
        "trained_on": None if report.trained_on is None else report.trained_on.tolist(),
    }


def report_as_frame(report: Report, what: str) -> DataFrame:
    """Return a part of a report as a pandas DataFrame."""
    if what not in ("documents", "classes", "scores", "confusion"):
        raise ValueError(
            f"what must be 'documents', 'classes', 'scores' or 'confusion'; got {what!r}."
        )
    pandas = import_optional("pandas", None, "Report.to_frame")
    if what == "documents":
        return frame_of(_documents(report))
    if what == "classes":
        columns = zip(*report.class_scores, strict=True)
        return frame_of(dict(zip(ClassScores._fields, columns, strict=True))).set_index("label")
    if what == "scores":
        return pandas.DataFrame(report.scores).T
    dtype = column_dtype(report.labels)
    labels = [
        pandas.Index(report.labels, name=name, dtype=dtype) for name in ("label", "predicted")
    ]
    return pandas.DataFrame(report.confusion, index=labels[0], columns=labels[1])


def _documents(report: Report) -> dict[str, list[Any]]:
    """Return columns of all documents."""
    labels = [plain(label) for label in report.labels]
    suspects = set(report.suspects.tolist())
    columns: dict[str, list[Any]] = {
        "label": [labels[i] for i in report.targets.tolist()],
        "predicted": [labels[i] for i in report.predicted.tolist()],
        "confidence": report.confidence.tolist(),
        "right": report.right.tolist(),
        "looks_mislabelled": [row in suspects for row in range(report.n_documents)],
    }
    if report.n_words is not None:
        columns["n_words"] = report.n_words.tolist()
    if report.baseline is not None:
        columns["baseline"] = [labels[i] for i in report.baseline.argmax(axis=1).tolist()]
    if report.texts is not None:
        columns["text"] = list(report.texts)
    return columns
