"""Stratified splits: held-out documents and folds, with groups kept together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sk_han._utils.containers import Flags, Floats, Integers

N_FOLDS = 5


def hold_out(
    strata: NDArray[Any],
    fraction: float,
    random_state: np.random.RandomState,
    groups: Integers | None = None,
) -> tuple[Integers, Integers | None]:
    """Split D rows into training and held-out rows, stratified by class, (D,), or labels, (D, L).

    The only document of a class or label stays in training, and so does the only group of a label.
    The held-out rows are None if not every other class can be on both sides.
    """
    if strata.ndim > 1:
        return _hold_out_labels(strata, fraction, random_state, groups)
    from sklearn.model_selection import train_test_split

    everything = np.arange(len(strata))
    alone = np.bincount(strata)[strata] == 1
    candidates = np.flatnonzero(~alone)
    n_classes = len(np.unique(strata[candidates]))
    n_held_out = round(fraction * len(candidates))
    if n_classes == 0 or min(n_held_out, len(candidates) - n_held_out) < n_classes:
        return everything, None
    if groups is None:
        rows, held_out = train_test_split(
            candidates,
            test_size=n_held_out,
            stratify=strata[candidates],
            random_state=random_state,
        )
        return np.concatenate([rows, np.flatnonzero(alone)]), held_out
    return _hold_out_groups(strata, fraction, random_state, groups)


def folds_of(strata: NDArray[Any], groups: Integers | None = None) -> Iterator[Integers]:
    """Yield the rows of each of five folds, stratified by class, (D,), or labels, (D, L).

    The documents of a class are dealt out in turn. The only document of a class is in no fold,
    since models of the other folds could not predict the class. Groups are dealt out whole, the
    largest first, each to the smallest fold so far.
    """
    if strata.ndim > 1:
        shares = np.full(N_FOLDS, 1 / N_FOLDS)
        fold_of = deal_out(strata, shares, np.arange(len(strata)), groups)
        for number in range(N_FOLDS):
            yield np.flatnonzero(fold_of == number)
        return
    order = np.argsort(strata, kind="stable")
    order = order[np.bincount(strata)[strata[order]] > 1]
    if groups is None:
        for number in range(N_FOLDS):
            yield np.sort(order[number::N_FOLDS])
        return
    names, group_of, sizes = np.unique(groups[order], return_inverse=True, return_counts=True)
    fold_of, n_each = np.empty(len(names), dtype=np.int64), np.zeros(N_FOLDS)
    for group in np.argsort(-sizes, kind="stable"):
        fold_of[group] = n_each.argmin()
        n_each[fold_of[group]] += sizes[group]
    for number in range(N_FOLDS):
        yield np.sort(order[fold_of[group_of] == number])


def _hold_out_labels(
    t: Flags,
    fraction: float,
    random_state: np.random.RandomState,
    groups: Integers | None,
) -> tuple[Integers, Integers | None]:
    """Hold out documents, stratified by label; the only document or group of a label stays."""
    everything = np.arange(len(t))
    unit_of = everything if groups is None else np.unique(groups, return_inverse=True)[1]
    of_unit = np.zeros((unit_of.max(initial=-1) + 1, t.shape[1]), dtype=bool)
    np.logical_or.at(of_unit, unit_of, t)
    only: Flags = np.any(of_unit[:, of_unit.sum(axis=0) == 1], axis=1)
    candidates = np.flatnonzero(~only[unit_of])
    n_units = int((~only).sum())
    if n_units < 2 or round(fraction * len(candidates)) < 1:
        return everything, None
    subset = deal_out(
        t[candidates],
        np.array([1 - fraction, fraction]),
        random_state.permutation(len(candidates)),
        None if groups is None else groups[candidates],
    )
    held_out = candidates[subset == 1]
    if not len(held_out) or len(held_out) == len(candidates):
        return everything, None
    return np.setdiff1d(everything, held_out, assume_unique=True), held_out


def _hold_out_groups(
    codes: Integers,
    fraction: float,
    random_state: np.random.RandomState,
    groups: Integers,
) -> tuple[Integers, Integers | None]:
    """Hold out random groups, one by one, if they improve the class balance of held-out documents.

    The wanted number of documents of each class is rounded at random, such that the numbers of rare
    classes add up to their total share.
    """
    _, group_of, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    members = np.split(codes[np.argsort(group_of, kind="stable")], np.cumsum(sizes)[:-1])
    total = np.bincount(codes)
    ends = np.floor(np.cumsum(fraction * total) + random_state.rand())
    wanted, held, chosen = np.diff(ends, prepend=0), np.zeros(len(total)), []
    for group in random_state.permutation(len(sizes)):
        labels, n_each = np.unique(members[group], return_counts=True)
        more, before = held[labels] + n_each, held[labels]
        # Each class keeps at least one training document.
        is_learnt = (more < total[labels]).all()
        away, away_before = np.abs(more - wanted[labels]), np.abs(before - wanted[labels])
        if is_learnt and away.sum() < away_before.sum():
            held[labels] = more
            chosen.append(group)
    rows = np.isin(group_of, chosen)
    if not chosen:
        return np.arange(len(codes)), None
    return np.flatnonzero(~rows), np.flatnonzero(rows)


def deal_out(
    t: Flags,
    shares: Floats,
    order: Integers,
    groups: Integers | None = None,
) -> Integers:
    """Assign each document to one of S subsets by iterative stratification, (D,).

    The rarest remaining label comes next, and each of its documents goes to the subset that lacks
    the label most (Sechidis et al., 2011). Documents of a group go together, to the subset that
    lacks their labels most. The shares of the subsets, (S,), sum to 1; `order`, (D,), breaks ties
    between documents.
    """
    unit_of = np.arange(len(t)) if groups is None else np.unique(groups, return_inverse=True)[1]
    n_units = int(unit_of.max()) + 1
    # An extra label marks documents without any, so that they are spread like the others.
    labels = np.column_stack([t, ~t.any(axis=1)]).astype(np.float64)
    counts = np.zeros((n_units, labels.shape[1]))
    np.add.at(counts, unit_of, labels)
    sizes = np.bincount(unit_of, minlength=n_units).astype(np.float64)
    place = np.empty(n_units, dtype=np.int64)
    # The place of a group is that of its first document: later assignments overwrite earlier ones.
    place[unit_of[order[::-1]]] = np.arange(len(order))[::-1]
    lacking = np.outer(shares, counts.sum(axis=0))  # (S, L)
    room = shares * sizes.sum()
    subset = np.full(n_units, -1)
    left = counts.sum(axis=0)
    totals = left.clip(1)
    while (left > 0).any():
        label = int(np.where(left > 0, left, np.inf).argmin())
        units = np.flatnonzero((counts[:, label] > 0) & (subset < 0))
        # Large groups come first, while there is room for them.
        for unit in units[np.lexsort((place[units], -sizes[units]))]:
            wanted = lacking[:, label]
            if groups is not None:
                # A group brings other labels along, which are weighted by their rarity. Small
                # subsets lack fewer documents, so each lack is relative to the size of the subset.
                wanted = (lacking / shares[:, np.newaxis]) @ (counts[unit] / totals)
            best = np.flatnonzero(wanted == wanted.max())
            chosen = int(best[room[best].argmax()])
            subset[unit] = chosen
            lacking[chosen] -= counts[unit]
            room[chosen] -= sizes[unit]
            left -= counts[unit]
        left[label] = 0
    return subset[unit_of]
