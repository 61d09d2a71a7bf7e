"""Batches of labelled data, in order or shuffled, and their tensors for a network."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sk_han.documents import DocumentArray


class TrainingData(Protocol):
    """Inputs with their targets and weights, such as `LabelledDocuments`."""

    @property
    def inputs(self) -> Any:
        """The network's inputs; they can be sliced."""

    @property
    def targets(self) -> NDArray[np.int64]:
        """The targets of the loss, a row for each row of the logits."""

    @property
    def weights(self) -> NDArray[np.float64]:
        """Positive weight of each target in the loss."""

    def __len__(self) -> int: ...

    def __getitem__(self, rows: Any) -> TrainingData: ...


@dataclass(frozen=True)
class Batches:
    """Batches of labelled data, in a new order each time with a `shuffle`."""

    data: TrainingData
    batch_size: int
    shuffle: np.random.RandomState | None = None

    def __len__(self) -> int:
        return -(-len(self.data) // self.batch_size)

    def __iter__(self) -> Iterator[tuple[TrainingData, NDArray[np.int64]]]:
        """Yield pairs that skorch expects: the data of a batch, and its targets."""
        n = len(self.data)
        if self.shuffle is None:
            order = np.arange(n)
        elif hasattr(self.data, "order"):  # whose batches are of similar length
            order = self.data.order(self.batch_size, self.shuffle)
        else:
            order = self.shuffle.permutation(n)
        for start in range(0, n, self.batch_size):
            batch = self.data[order[start : start + self.batch_size]]
            yield batch, batch.targets


def document_tensors(documents: DocumentArray, device: str) -> tuple[Tensor, Tensor, Tensor]:
    """Return word ids (T,) on the device; words per sentence (N,), sentences (D,) on the CPU."""
    return (
        torch.from_numpy(documents.word_ids.astype(np.int64)).to(device),
        torch.from_numpy(documents.words_per_sentence),
        torch.from_numpy(documents.sentences_per_document),
    )
