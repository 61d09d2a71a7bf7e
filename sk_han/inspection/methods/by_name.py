"""The methods of explain, by their names."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sk_han.inspection.methods.contributions import (
    Batch,
    Contributions,
    attention_only,
    by_sentence,
    with_other_parts,
)
from sk_han.inspection.methods.shapley import by_shapley
from sk_han.inspection.results.document import combine_attention


def _by_gradient_attention(batch: Batch) -> Contributions:
    return with_other_parts(batch, batch.network.gradient_attention(batch.documents, batch.score))


def _by_attention(batch: Batch) -> Contributions:
    base = attention_only(batch)
    sentence_attention = np.repeat(base.sentence_attention, batch.documents.words_per_sentence)
    words = combine_attention(base.word_attention, sentence_attention, batch.how.combine)
    return base._replace(words=words, sentences=base.sentence_attention)


def _by_chance(batch: Batch) -> Contributions:
    words = batch.random.uniform(-1, 1, batch.documents.n_words)
    return attention_only(batch)._replace(
        words=words, sentences=by_sentence(words, batch.documents)
    )


# In the order of the documentation.
METHODS: dict[str, Callable[[Batch], Contributions]] = {
    "shapley": by_shapley,
    "gradient_attention": _by_gradient_attention,
    "attention": _by_attention,
    "random": _by_chance,
}
