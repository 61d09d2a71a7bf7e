"""A report as tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from sk_han.rendering.protocols import Reported
from sk_han.utils.frames import column_dtype, frame_of
from sk_han.utils.optional import import_optional

if TYPE_CHECKING:
    from pandas import DataFrame


def report_frame(
    report: Reported, what: str, scores: Sequence[Any], confusion: Callable[[Reported], DataFrame]
) -> DataFrame:
    """Return a part of a report as a pandas DataFrame; `scores` are those of each label."""
    if what not in ("documents", "classes", "scores", "confusion"):
        raise ValueError(
            f"what must be 'documents', 'classes', 'scores' or 'confusion'; got {what!r}."
        )
    door = f"{type(report).__name__}.to_frame"
    pandas = import_optional("pandas", None, door)
    if what == "documents":
        return frame_of(document_columns(report), door)
    if what == "classes":
        columns = dict(zip(scores[0]._fields, zip(*scores, strict=True), strict=True))
        return frame_of(columns, door).set_index("label")
    if what == "scores":
        return pandas.DataFrame(report.scores).T
    return confusion(report)


def confusion_frame(report: Reported) -> DataFrame:
    """Return numbers of documents by label and predicted label."""
    import pandas

    dtype = column_dtype(report.labels)
    labels = [
        pandas.Index(report.labels, name=name, dtype=dtype) for name in ("label", "predicted")
    ]
    return pandas.DataFrame(report.confusion, index=labels[0], columns=labels[1])


def taken_frame(report: Reported) -> DataFrame:
    """Return how often a label is missed where another is wrongly given."""
    pairs = report.taken_for()
    names = ("missed", "given", "n_documents")
    columns = {name: [pair[i] for pair in pairs] for i, name in enumerate(names)}
    return frame_of(columns, f"{type(report).__name__}.to_frame")


def document_columns(report: Reported) -> dict[str, list[Any]]:
    """Return columns of all documents."""
    rows, several = range(report.n_documents), report.targets.ndim == 2
    suspects = set((report.suspects[:, 0] if several else report.suspects).tolist())
    columns: dict[str, list[Any]] = {
        "labels" if several else "label": [report.marked(row) for row in rows],
        "predicted": [report.answer(row) for row in rows],
    }
    if not several:
        columns["confidence"] = report.confidence.tolist()
    columns["right"] = report.right.tolist()
    columns["looks_mislabelled"] = [row in suspects for row in rows]
    if report.n_words is not None:
        columns["n_words"] = report.n_words.tolist()
    if report.baseline is not None and not several:
        columns["baseline"] = [report.labels[i] for i in report.baseline.argmax(axis=1).tolist()]
    if report.groups is not None:
        columns["group"] = report.groups.tolist()
    if report.texts is not None:
        columns["text"] = list(report.texts)
    return columns
