"""Sentences with labels of their tokens, and the net that learns from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sk_han.documents import DocumentArray, starts_of
from sk_han.tagging.network import TaggingNetwork
from sk_han.training.loss import weighted_mean
from sk_han.training.net import Net


@dataclass(frozen=True)
class Sentences:
    """Sentences of tokens, and the attributes of each kind of token."""

    kinds: DocumentArray  # (D,); its ids are rows of `attributes`, from row 2
    attributes: NDArray[np.int64]  # (n_kinds, n_attributes)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Number of tokens of each sentence, shape (D,)."""
        return self.kinds.words_per_document

    def words(self) -> DocumentArray:
        """Return the ids of the words alone."""
        words = self.attributes[self.kinds.word_ids, 0].astype(np.int32)
        return sentences_of(words, self.lengths)

    def __len__(self) -> int:
        return len(self.kinds)

    def __getitem__(self, rows: Any) -> Sentences:
        return Sentences(self.kinds[rows], self.attributes)


@dataclass(frozen=True)
class LabelledSentences:
    """Sentences with the class of each token and the weight of each sentence."""

    inputs: Sentences
    labels: DocumentArray  # (D,); the number of the class of each token plus 1
    weights: NDArray[np.float64]  # (D,); positive, of the tokens of each sentence in the loss

    @property
    def targets(self) -> NDArray[np.int64]:
        """Number of the class of each token, from 0, shape (T,)."""
        return self.labels.word_ids.astype(np.int64) - 1

    def __len__(self) -> int:
        return len(self.inputs)

    def __getitem__(self, rows: Any) -> LabelledSentences:
        return LabelledSentences(self.inputs[rows], self.labels[rows], self.weights[rows])


class TaggingNet(Net):
    """`Net` whose losses are of sentences, and whose accuracy is that of decoded tokens.

    The logarithms of `class_weights` (C,) are taken from the scores of tokens in the loss alone
    (logit adjustment, Menon et al., 2021): in a random field there is no loss of a token to weight.
    """

    def __init__(
        self,
        module: type[TaggingNetwork] = TaggingNetwork,
        *,
        class_weights: NDArray[np.float64] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(module, **{"to_tensors": _tensors} | kwargs)
        self.class_weights = class_weights

    def get_loss(
        self, y_pred: Tensor, y_true: NDArray[np.int64], X: Any = None, training: bool = False
    ) -> Tensor:
        """Compute the weighted mean over the tokens of a batch of their sentences' losses."""
        if self.class_weights is not None:
            y_pred = y_pred - torch.from_numpy(np.log(self.class_weights)).to(y_pred)
        lengths = X.inputs.lengths
        labels = torch.from_numpy(y_true).to(y_pred.device)
        losses = self.module_.losses(y_pred, labels, torch.from_numpy(lengths))  # (D,)
        n_tokens = float(lengths @ X.weights) / float(X.weights.sum())
        return weighted_mean(losses, X.weights) / max(n_tokens, 1.0)

    def validation_step(self, batch: Any, **fit_params: Any) -> dict[str, Tensor]:
        """Compute the loss of a validation batch, and the accuracy of its decoded labels."""
        step = super().validation_step(batch, **fit_params)
        data, targets = batch
        with torch.inference_mode():
            lengths = torch.from_numpy(data.inputs.lengths)
            found = self.module_.decode(step["y_pred"], lengths).numpy(force=True)
        right = float((found == targets).mean()) if len(targets) else 1.0
        self.history.record_batch("valid_accuracy", right)
        return step

    def read(self, sentences: Sentences, name: str) -> NDArray[Any]:
        """Call "decode" (T,) or "probabilities" (T, C) of the network in batches."""
        read, found = getattr(self.module_, name), []
        for start in range(0, max(len(sentences), 1), self.valid_batch_size):
            batch = sentences[start : start + self.valid_batch_size]
            logits = self.attend(batch).logits
            with torch.inference_mode():
                found.append(read(logits, torch.from_numpy(batch.lengths)).numpy(force=True))
        return np.concatenate(found)


def sentences_of(ids: NDArray[np.integer[Any]], lengths: NDArray[np.int64]) -> DocumentArray:
    """Return documents of one sentence each, without a sentence where a length is 0."""
    filled = lengths > 0
    return DocumentArray(ids, starts_of(lengths[filled]), starts_of(filled))


def split_tokens(values: NDArray[Any], sentences: Sentences) -> list[NDArray[Any]]:
    """Split values of all tokens into those of each sentence."""
    return np.split(values, np.cumsum(sentences.lengths)[:-1]) if len(sentences) else []


def _tensors(sentences: Sentences, device: str) -> tuple[Tensor, Tensor, Tensor]:
    """Return the arguments of `TaggingNetwork.attend`."""
    return (
        torch.from_numpy(sentences.kinds.word_ids.astype(np.int64)).to(device),
        torch.from_numpy(sentences.attributes).to(device),
        torch.from_numpy(sentences.lengths),
    )
