"""Documents with the class and the weight of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sk_han.documents.array import DocumentArray


@dataclass(frozen=True)
class LabelledDocuments:
    """D documents with their targets, encoded, positive weights in the loss, and groups (D,).

    Documents of one group are held out and dealt out to folds together.
    """

    documents: DocumentArray
    targets: NDArray[Any]
    weights: NDArray[np.float64]
    groups: NDArray[np.int64] | None = None

    @property
    def inputs(self) -> DocumentArray:
        """The documents, under the name that all kinds of training data share."""
        return self.documents

    def __len__(self) -> int:
        return len(self.documents)

    def __getitem__(self, rows: Any) -> LabelledDocuments:
        groups = None if self.groups is None else self.groups[rows]
        return LabelledDocuments(
            self.documents[rows], self.targets[rows], self.weights[rows], groups
        )
