"""A report as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sk_han.rendering.protocols import Reported
from sk_han.utils.frames import column_dtype, frame_of
from sk_han.utils.optional import import_optional

if TYPE_CHECKING:
    from pandas import DataFrame


def report_frame(report: Reported, what: str) -> DataFrame:
    """Return a part of a report as a pandas DataFrame."""
    if what not in ("documents", "classes", "scores", "confusion"):
        raise ValueError(
            f"what must be 'documents', 'classes', 'scores' or 'confusion'; got {what!r}."
        )
    pandas = import_optional("pandas", None, "Report.to_frame")
    if what == "documents":
        return frame_of(document_columns(report))
    if what == "classes":
        rows = [scores._asdict() for scores in report.class_scores]
        columns = {name: [row[name] for row in rows] for name in rows[0]}
        return frame_of(columns).set_index("label")
    if what == "scores":
        return pandas.DataFrame(report.scores).T
    dtype = column_dtype(report.labels)
    labels = [
        pandas.Index(report.labels, name=name, dtype=dtype) for name in ("label", "predicted")
    ]
    return pandas.DataFrame(report.confusion, index=labels[0], columns=labels[1])


def document_columns(report: Reported) -> dict[str, list[Any]]:
    """Return columns of all documents."""
    labels = report.labels
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
