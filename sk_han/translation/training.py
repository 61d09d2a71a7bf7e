"""Pairs of texts as word ids, and the net that learns to translate them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sk_han.documents import DocumentArray
from sk_han.training.net import Net
from sk_han.translation.network import END_ID, AttentionSeq2Seq
from sk_han.translation.search import Hypothesis, beam_search

# So many batches are sorted by length together, and taken in random order.
SORTED_BATCHES = 50
# Rows of the decoder at once, one for each beam of a source.
ROWS_SEARCHED = 320


@dataclass(frozen=True)
class TextPairs:
    """Sources with their targets, without end marks, and the weight of each pair."""

    sources: DocumentArray  # (P,)
    translations: DocumentArray  # (P,)
    pair_weights: NDArray[np.float64]  # (P,); positive, of the words of each target in the loss

    @property
    def inputs(self) -> TextPairs:
        """The pairs: a decoder reads the words before each word that it predicts."""
        return self

    @property
    def targets(self) -> NDArray[np.int64]:
        """Words of all targets with their end marks, shape (Y,)."""
        return with_end_marks(self.translations)

    @property
    def weights(self) -> NDArray[np.float64]:
        """Weight of each of `targets`, shape (Y,)."""
        return np.repeat(self.pair_weights, self.translations.words_per_document + 1)

    def order(self, batch_size: int, shuffle: np.random.RandomState) -> NDArray[np.int64]:
        """Draw an order whose batches have targets, then sources, of similar length."""
        n, at_once = len(self), batch_size * SORTED_BATCHES
        lengths = self.translations.words_per_document, self.sources.words_per_document
        drawn = shuffle.permutation(n)
        pools = [drawn[start : start + at_once] for start in range(0, n, at_once)]
        rows = np.concatenate([p[np.lexsort((lengths[1][p], lengths[0][p]))] for p in pools])
        n_full = n // batch_size
        batches = rows[: n_full * batch_size].reshape(n_full, batch_size)
        return np.concatenate(
            [batches[shuffle.permutation(n_full)].ravel(), rows[n_full * batch_size :]]
        )

    def __len__(self) -> int:
        return len(self.sources)

    def __getitem__(self, rows: Any) -> TextPairs:
        return TextPairs(self.sources[rows], self.translations[rows], self.pair_weights[rows])


class TranslationNet(Net):
    """`Net` that predicts words of targets, and searches for translations."""

    def __init__(self, module: type[AttentionSeq2Seq] = AttentionSeq2Seq, **kwargs: Any) -> None:
        super().__init__(module, **{"to_tensors": _tensors} | kwargs)

    def search(
        self,
        sources: DocumentArray,
        *,
        beam_size: int,
        length_penalty: float,
        max_words: NDArray[np.int64],
    ) -> list[Hypothesis]:
        """Search for the translation of each source; arguments as of `beam_search`."""
        found: list[Hypothesis] = []
        order = np.argsort(sources.words_per_document, kind="stable")
        at_once = max(1, ROWS_SEARCHED // beam_size)
        with torch.inference_mode(), self._own_settings():
            for start in range(0, len(order), at_once):
                rows = order[start : start + at_once]
                found += beam_search(
                    self.module_,
                    *_source_tensors(sources[rows], self.device),
                    beam_size=beam_size,
                    length_penalty=length_penalty,
                    max_words=torch.from_numpy(max_words[rows]),
                )
        return [found[i] for i in np.argsort(order, kind="stable")]


def with_end_marks(documents: DocumentArray, *, in_front: bool = False) -> NDArray[np.int64]:
    """Return the words of all documents, each document with an end mark behind or in front."""
    ends = np.cumsum(documents.words_per_document)
    places = np.concatenate([[0], ends[:-1]]) if in_front else ends
    return np.insert(documents.word_ids.astype(np.int64), places, END_ID)


def _source_tensors(sources: DocumentArray, device: str) -> tuple[Tensor, Tensor]:
    return (
        torch.from_numpy(with_end_marks(sources)).to(device),
        torch.from_numpy(sources.words_per_document + 1),
    )


def _tensors(pairs: TextPairs, device: str) -> tuple[Tensor, ...]:
    """Return the arguments of `AttentionSeq2Seq.attend`."""
    return (
        *_source_tensors(pairs.sources, device),
        torch.from_numpy(with_end_marks(pairs.translations, in_front=True)).to(device),
        torch.from_numpy(pairs.translations.words_per_document + 1),
    )
