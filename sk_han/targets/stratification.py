"""Documents of several labels dealt out so that each share has about as many of each label."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def dealt_out(
    t: NDArray[np.bool_],
    shares: NDArray[np.float64],
    order: NDArray[np.int64],
    groups: NDArray[np.int64] | None = None,
) -> NDArray[np.int64]:
    """Return the number of the subset of each document, (D,), by iterative stratification.

    The rarest label that is left is dealt out first, each document of it to the subset that lacks
    it most (Sechidis et al., 2011). Documents of a group go together, to the subset that lacks
    their labels most. Shares (S,) sum to 1; `order` (D,) is that of documents among equals.

    Sechidis, Tsoumakas, Vlahavas. On the Stratification of Multi-Label Data. ECML PKDD.
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
            # A group brings other labels along, which count by their rarity.
            wanted = lacking[:, label] if groups is None else lacking @ (counts[unit] / totals)
            best = np.flatnonzero(wanted == wanted.max())
            chosen = int(best[room[best].argmax()])
            subset[unit] = chosen
            lacking[chosen] -= counts[unit]
            room[chosen] -= sizes[unit]
            left -= counts[unit]
        left[label] = 0
    return subset[unit_of]
