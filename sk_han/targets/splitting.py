"""Documents set aside: held out for validation, or dealt out to folds, by one label or several."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sk_han.utils.containers import Flags, Floats, Integers

N_FOLDS = 5


def hold_out(
    codes: Integers,
    fraction: float,
    random_state: np.random.RandomState,
    groups: Integers | None = None,
) -> tuple[Integers, Integers | None]:
    """Split rows (D,) into training and held-out ones, stratified by the numbers of their labels.

    The only document of a label is trained on, and documents of a group stay together. None is held
    out where one of each other label cannot be on both sides.
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
    codes: Integers,
    fraction: float,
    random_state: np.random.RandomState,
    groups: Integers,
) -> tuple[Integers, Integers | None]:
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


def folds_of(codes: Integers, groups: Integers | None = None) -> Iterator[Integers]:
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


def dealt_out(
    t: Flags,
    shares: Floats,
    order: Integers,
    groups: Integers | None = None,
) -> Integers:
    """Return the number of the subset of each document, (D,), by iterative stratification.

    The rarest label that is left is dealt out first, each document of it to the subset that lacks
    it most (Sechidis et al., 2011). Documents of a group go together, to the subset that lacks
    their labels most. Shares (S,) sum to 1; `order` (D,) is that of documents among equals.
    """
    unit_of = np.arange(len(t)) if groups is None else np.unique(groups, return_inverse=True)[1]
    n_units = int(unit_of.max()) + 1
    # Those without a label have one of their own, which is dealt out like the others.
    labels = np.column_stack([t, ~t.any(axis=1)]).astype(np.float64)
    counts = np.zeros((n_units, labels.shape[1]))
    np.add.at(counts, unit_of, labels)
    sizes = np.bincount(unit_of, minlength=n_units).astype(np.float64)
    place = np.empty(n_units, dtype=np.int64)
    place[unit_of[order[::-1]]] = np.arange(len(order))[::-1]  # of the first document
    lacking = np.outer(shares, counts.sum(axis=0))  # (S, L)
    room = shares * sizes.sum()
    subset = np.full(n_units, -1)
    left = counts.sum(axis=0)
    totals = left.clip(1)
    while (left > 0).any():
        label = int(np.where(left > 0, left, np.inf).argmin())
        units = np.flatnonzero((counts[:, label] > 0) & (subset < 0))
        # Large groups first: there is most room for them.
        for unit in units[np.lexsort((place[units], -sizes[units]))]:
            wanted = lacking[:, label]
            if groups is not None:
                # A group brings other labels along, which count by their rarity. A small subset
                # lacks less of these, so what counts is the share of its own that it lacks.
                wanted = (lacking / shares[:, np.newaxis]) @ (counts[unit] / totals)
            best = np.flatnonzero(wanted == wanted.max())
            chosen = int(best[room[best].argmax()])
            subset[unit] = chosen
            lacking[chosen] -= counts[unit]
            room[chosen] -= sizes[unit]
            left -= counts[unit]
        left[label] = 0
    return subset[unit_of]
