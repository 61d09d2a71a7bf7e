"""Documents with the class and the weight of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sk_han.documents.array import DocumentArray

NOT_MARKED, MARKED = 1, 2


@dataclass(frozen=True)
class LabelledDocuments:
    """D documents with their targets, encoded, positive weights in the loss, and groups (D,).

    Documents of one group are held out and dealt out to folds together. `marks` are of the shape of
    the documents: `MARKED` in the place of each word that people marked, and `NOT_MARKED`.
    """

    documents: DocumentArray
    targets: NDArray[Any]
    weights: NDArray[np.float64]
    groups: NDArray[np.int64] | None = None
    marks: DocumentArray | None = None

    @property
    def inputs(self) -> DocumentArray:
        """The documents, under the name that all kinds of training data share."""
        return self.documents

    def __len__(self) -> int:
        return len(self.documents)

    def __getitem__(self, rows: Any) -> LabelledDocuments:
        groups = None if self.groups is None else self.groups[rows]
        marks = None if self.marks is None else self.marks[rows]
        return LabelledDocuments(
            self.documents[rows], self.targets[rows], self.weights[rows], groups, marks
        )
