"""The numbers that explain a batch, and what methods share to find them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sk_han.documents import DocumentArray
from sk_han.inspection.methods.log_odds import LogOdds
from sk_han.parts import Pool
from sk_han.parts.network_part import Attribution, NetworkPart

if TYPE_CHECKING:
    from sk_han.inspection.methods.explain_params import How


class Contributions(NamedTuple):
    """The numbers that explain a batch of documents."""

    logits: NDArray[np.float64]  # (D, K), of the pool
    word_attention: NDArray[np.float64]  # (T,)
    sentence_attention: NDArray[np.float64]  # (N,)
    words: NDArray[np.float64]  # (T,)
    sentences: NDArray[np.float64]  # (N,)
    ngrams: NDArray[np.float64]  # (T,), what the linear parts bring to words
    sentence_errors: NDArray[np.float64] | None = None  # (N,), of "shapley"
    base_values: NDArray[np.float64] | None = None  # (D,), log-odds of documents without words


class Batch(NamedTuple):
    """Documents to explain, the score of each, and how; `random` is for random numbers."""

    documents: DocumentArray
    score: LogOdds
    how: How
    random: Any

    @property
    def pool(self) -> Pool:
        """The model."""
        return self.score.pool

    @property
    def network(self) -> NetworkPart:
        """Its part with attention."""
        return self.score.pool.network


def with_other_parts(batch: Batch, found: Attribution) -> Contributions:
    """Add the contributions of the other parts to those of the network."""
    documents, logits = batch.documents, batch.score.logits(found.logits)
    factors = batch.score.factors(logits)
    network = found.words + batch.pool.beside_vectors.attributions(documents, factors)
    ngrams = batch.pool.linear.attributions(documents, factors)
    words = network + ngrams
    sentences = by_sentence(words, documents)
    return Contributions(
        logits, found.word_attention, found.sentence_attention, words, sentences, ngrams
    )


def attention_only(batch: Batch) -> Contributions:
    """Compute logits, attention and n-gram contributions, which all contributions then are."""
    return with_other_parts(batch, batch.network.attend(batch.documents))


def by_sentence(words: NDArray[np.float64], documents: DocumentArray) -> NDArray[np.float64]:
    """Sum over the words of each sentence.

    The attention of sentences has a gradient of its own, but each state of the sentence encoder
    mixes in its neighbours. On 300 reviews of `make_reviews`, with a network trained on 2,000
    others, the average precision for sentences that say the label is 0.976 with the sum and 0.953
    with that gradient.
    """
    if not len(words):
        return np.zeros(0)
    return np.add.reduceat(words, documents.sentence_starts[:-1])
