"""Explanations of the labels that documents get: one of each, where a document has several."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from typing import Any

import numpy as np

from sk_han.inspection.documents_given import in_portions, length_of, refuse_lone_text
from sk_han.inspection.results.collection import ExplanationList
from sk_han.inspection.results.document import DocumentExplanation
from sk_han.utils.argument_checks import check_choice, random_source
from sk_han.utils.containers import rows_of

# Documents of an iterator that are read again: by the members of an ensemble, or for other labels.
PORTION = 64

# Explains documents, by the keywords of `sk_han.explain` but for `targets` and `y_true`.
Explains = Callable[..., Iterable[DocumentExplanation]]


def for_answers(
    explains: Explains, X: Any, target: Any, against: Any, targets: str, how: dict[str, Any]
) -> Iterator[tuple[int, DocumentExplanation]]:
    """Check at the call; explain each label that a document gets, with the document's number."""
    check_choice("targets", targets, ("predicted",))
    for name, given in (("target", target), ("against", against)):
        if given is not None:
            raise ValueError(f"{name} is {given!r} and targets {targets!r}; give one of them.")
    refuse_lone_text(X)
    how = how | {"random_state": random_source(how.get("random_state"))}

    def explained() -> Iterator[tuple[int, DocumentExplanation]]:
        n_read, size = 0, how.get("batch_size") or PORTION
        for portion in _portions(X, size):
            likeliest = list(explains(portion, **how))
            answers = [e.labels or (e.predicted,) for e in likeliest]
            wanted = [(i, label) for i, labels in enumerate(answers) for label in labels]
            found = {(i, e.predicted): e for i, e in enumerate(likeliest)}
            others = [pair for pair in wanted if pair not in found]
            if others:
                rows, labels = zip(*others, strict=True)
                documents = rows_of(portion, np.array(rows))
                found |= dict(zip(others, explains(documents, target=labels, **how), strict=True))
            yield from ((n_read + i, found[i, label]) for i, label in wanted)
            n_read += len(likeliest)

    return explained()


def _portions(X: Any, size: int) -> Iterator[Any]:
    """Split documents; of an array or DataFrame the portions are of its kind."""
    if isinstance(X, (list, tuple)):
        return in_portions(iter(X), size)  # it tells their places in errors
    n = length_of(X)
    if n is None or isinstance(X, (Mapping, Set)):  # documents need an order
        return in_portions(X, size)
    return (rows_of(X, np.arange(i, min(i + size, n))) for i in range(0, n, size))


def of_answers(
    found: Iterable[tuple[int, DocumentExplanation]], y_true: Any = None
) -> ExplanationList:
    """Return a list of explanations with their documents' numbers, and true labels of documents."""
    found = list(found)
    of_documents = dict(reversed(found))
    true = ExplanationList([of_documents[n] for n in sorted(of_documents)], y_true=y_true).y_true
    return ExplanationList(
        [explanation for _, explanation in found],
        y_true=None if true is None else [true[number] for number, _ in found],
        numbers=[number for number, _ in found],
    )
