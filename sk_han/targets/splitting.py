"""Documents set aside: held out for validation, or dealt out to folds, by their labels."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

__all__ = ["N_FOLDS", "folds_of", "hold_out"]

N_FOLDS = 5


def hold_out(
    codes: NDArray[np.int64],
    fraction: float,
    random_state: np.random.RandomState,
    groups: NDArray[np.int64] | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.int64] | None]:
    """Split documents into training and validation documents, stratified by label.

    The only document of a label is a training document. If there are too few documents to have
    one of each other label on both sides, or fewer groups than folds, none is held out.

    Parameters
    ----------
    codes : ndarray of int64, shape (D,)
        Number of the label of each document.
    fraction : float
        Share of the documents held out, about; groups are not divided.
    random_state : RandomState
    groups : ndarray of int64, shape (D,), or None
        Documents of a group stay together.

    Returns
    -------
    training, held_out : ndarray of int64
        Rows; None for no held-out documents.
    """
    from sklearn.model_selection import StratifiedGroupKFold, train_test_split

    everything = np.arange(len(codes))
    alone = np.bincount(codes)[codes] == 1
    candidates = np.flatnonzero(~alone)
    n_labels = len(np.unique(codes[candidates]))
    n_held_out = round(fraction * len(candidates))
    if n_labels == 0 or min(n_held_out, len(candidates) - n_held_out) < n_labels:
        return everything, None
    if groups is None:
        rows, held_out = train_test_split(
            candidates,
            test_size=n_held_out,
            stratify=codes[candidates],
            random_state=random_state,
        )
        return np.concatenate([rows, np.flatnonzero(alone)]), held_out
    n_parts = max(round(1 / fraction), 2)
    if len(np.unique(groups)) < n_parts:
        return everything, None
    divide = StratifiedGroupKFold(n_parts, shuffle=True, random_state=random_state)
    training, held_out = next(divide.split(codes, codes, groups))
    known = np.unique(codes[training])
    if not len(held_out) or not np.isin(codes[held_out], known).all():
        return everything, None  # a label would be in the held-out documents alone
    return training, held_out


def folds_of(
    codes: NDArray[np.int64], groups: NDArray[np.int64] | None = None
) -> Iterator[NDArray[np.int64]]:
    """Yield the rows of each of five folds; the documents of a label are dealt out in turn.

    The only document of a label is in none: the models of the others would not know the label.
    Groups are dealt out whole, the largest first, each to the smallest fold so far.
    """
    order = np.argsort(codes, kind="stable")
    order = order[np.bincount(codes)[codes[order]] > 1]
    if groups is None:
        for number in range(N_FOLDS):
            yield np.sort(order[number::N_FOLDS])
        return
    found, group_of, sizes = np.unique(groups[order], return_inverse=True, return_counts=True)
    fold_of, n_each = np.empty(len(found), dtype=np.int64), np.zeros(N_FOLDS)
    for group in np.argsort(-sizes, kind="stable"):
        fold_of[group] = n_each.argmin()
        n_each[fold_of[group]] += sizes[group]
    for number in range(N_FOLDS):
        yield np.sort(order[fold_of[group_of] == number])
