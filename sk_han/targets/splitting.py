"""Documents set aside: held out for validation, or dealt out to folds, by their labels."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

N_FOLDS = 5


def hold_out(
    codes: NDArray[np.int64],
    fraction: float,
    random_state: np.random.RandomState,
    groups: NDArray[np.int64] | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.int64] | None]:
    """Split rows (D,) into training and held-out ones, stratified by the numbers of their labels.

    The only document of a label is a training document, and documents of a group stay together. If
    there are too few documents to have one of each other label on both sides, or all have one
    group, none is held out.
    """
    from sklearn.model_selection import train_test_split

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
    return _hold_out_groups(codes, fraction, random_state, groups)


def _hold_out_groups(
    codes: NDArray[np.int64],
    fraction: float,
    random_state: np.random.RandomState,
    groups: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64] | None]:
    """Hold out groups, drawn in turn, that bring each label nearer to its share.

    Shares are whole numbers, rounded at random so that rare labels have theirs in all.
    """
    _, group_of, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    members = np.split(codes[np.argsort(group_of, kind="stable")], np.cumsum(sizes)[:-1])
    total = np.bincount(codes)
    ends = np.floor(np.cumsum(fraction * total) + random_state.rand())
    wanted, held, chosen = np.diff(ends, prepend=0), np.zeros(len(total)), []
    for group in random_state.permutation(len(sizes)):
        labels, n_each = np.unique(members[group], return_counts=True)
        more, before = held[labels] + n_each, held[labels]
        is_learnt = (more < total[labels]).all()  # no label is in held-out documents alone
        away, away_before = np.abs(more - wanted[labels]), np.abs(before - wanted[labels])
        if is_learnt and away.sum() < away_before.sum():
            held[labels] = more
            chosen.append(group)
    rows = np.isin(group_of, chosen)
    if not chosen:
        return np.arange(len(codes)), None
    return np.flatnonzero(~rows), np.flatnonzero(rows)


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
