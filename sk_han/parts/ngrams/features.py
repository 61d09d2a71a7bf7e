"""Vectors of documents that linear models learn from: n-grams and their values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix


@dataclass
class SameForAll:
    """Vectors of documents that are the same for all problems."""

    matrix: csr_matrix  # (D, F)
    n_own: int = 1  # vectors of a document: one for all problems, or one for each

    def of_score(self, c: int) -> csr_matrix:
        """Return the vectors."""
        return self.matrix

    def values(self, problems: slice) -> NDArray[np.float32]:
        """Return their values, (1, nnz)."""
        values: NDArray[np.float32] = self.matrix.data.astype(np.float32, copy=False)
        return values[np.newaxis]


class Features:
    """Ratios (F, B) of the n-grams of each document, (D, F), normalized to length 1."""

    def __init__(self, present: csr_matrix, ratios: NDArray[np.float32]) -> None:
        # It shares the places of the entries, and gets others.
        self.matrix = csr_matrix((present.data, present.indices, present.indptr), present.shape)
        self.ratios, self.n_own = ratios, ratios.shape[1]
        lengths = np.sqrt(present @ ratios**2)  # (D, B)
        self.lengths = np.where(lengths > 0, lengths, 1)
        self.row_of_entry = np.repeat(np.arange(present.shape[0]), np.diff(present.indptr))

    def of_score(self, c: int) -> csr_matrix:
        """Return the features of one score, shape (D, F); the next call overwrites them."""
        self.matrix.data = self._values(c)
        return self.matrix

    def values(self, problems: slice) -> NDArray[np.float32]:
        """Return the values of the features of scores, (B, nnz)."""
        rows = range(self.n_own)[problems]
        values = np.empty((len(rows), self.matrix.nnz), dtype=np.float32)
        for row, c in zip(values, rows, strict=True):
            row[:] = self._values(c)
        return values

    def _values(self, c: int) -> NDArray[np.float32]:
        values = self.ratios[self.matrix.indices, c] / self.lengths[self.row_of_entry, c]
        return values.astype(np.float32, copy=False)
