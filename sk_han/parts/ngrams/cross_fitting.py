"""Scores of documents by linear models that have not learnt from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from sk_han.documents import DocumentArray, LabelledDocuments
from sk_han.documents.lazy import divided
from sk_han.parts.ngrams.hashing import WORDS_AT_ONCE
from sk_han.parts.part import Part

Views = Callable[[DocumentArray], Sequence[DocumentArray]]


def as_they_are(documents: DocumentArray) -> Sequence[DocumentArray]:
    """Return the documents as their only view."""
    return (documents,)


def cross_fitted_logits(
    data: LabelledDocuments,
    fit: Callable[[NDArray[np.int64]], Sequence[Part | None]],
    folds: Iterator[NDArray[np.int64]],
    views: Views = as_they_are,
) -> tuple[NDArray[np.int64], list[NDArray[np.float64]]]:
    """Score the documents of each fold by models of all other documents.

    `fit` takes the rows to learn from; a fold for which one of its models is None is left out.
    Return the rows (n_rows,), each as often as it has views, and for each model logits (n_rows, K).
    """
    rows, parts = [np.empty(0, dtype=np.int64)], []
    for fold in folds:
        rest = np.setdiff1d(np.arange(len(data)), fold, assume_unique=True)
        if not len(fold) or not len(rest):
            continue
        models = fit(rest)
        if all(model is not None for model in models):
            # Portion by portion: views of documents on the disk are in memory.
            found = [model for model in models if model is not None]
            scored = [
                [[model.logits(view) for model in found] for view in views(some)]
                for some in divided(data.documents[fold], WORDS_AT_ONCE)
            ]
            for of_view in zip(*scored, strict=True):
                rows.append(fold)
                parts.append([np.concatenate(each) for each in zip(*of_view, strict=True)])
    return np.concatenate(rows), [np.concatenate(part) for part in zip(*parts, strict=True)]
