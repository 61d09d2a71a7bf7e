"""Batches of labelled documents, in order or shuffled."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sk_han.documents import LabelledDocuments

__all__ = ["Batches"]


@dataclass(frozen=True)
class Batches:
    """Batches of labelled documents, in a new order each time when a `shuffle` is given.

    The layout is ragged, so documents of like length need not be brought together: nothing is
    padded (measured: no gain). The last batch may be smaller.

    Attributes
    ----------
    data : LabelledDocuments
    batch_size : int
    shuffle : RandomState or None
        Source of the order; None keeps the order of the data.
    """

    data: LabelledDocuments
    batch_size: int
    shuffle: np.random.RandomState | None = None

    def __len__(self) -> int:
        return -(-len(self.data) // self.batch_size)

    def __iter__(self) -> Iterator[tuple[LabelledDocuments, NDArray[np.int64]]]:
        """Yield what skorch expects of a batch: the input, here with weights, and the targets."""
        n = len(self.data)
        order = np.arange(n) if self.shuffle is None else self.shuffle.permutation(n)
        for start in range(0, n, self.batch_size):
            batch = self.data[order[start : start + self.batch_size]]
            yield batch, batch.targets
