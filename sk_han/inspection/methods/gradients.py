"""The methods of explain for a classifier: those of its attention, and those of whole gradients."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sk_han.documents import DocumentArray
from sk_han.inspection.methods.contributions import (
    Batch,
    Contributions,
    attention_only,
    by_sentence,
    with_other_parts,
)
from sk_han.inspection.methods.explain_params import How
from sk_han.inspection.methods.log_odds import LogOdds
from sk_han.inspection.methods.of_attention import OF_ATTENTION
from sk_han.inspection.methods.target_labels import Asked
from sk_han.parts import Pool


def contributions_to(
    asked: Asked,
    pool: Pool,
    documents: DocumentArray,
    how: How,
    random: np.random.Generator | np.random.RandomState,
) -> Contributions:
    """Explain a batch of D documents."""
    batch = Batch(documents, LogOdds.of(pool, documents, asked), how, random)
    return METHODS[how.method](batch)


def _by_gradient_input(batch: Batch) -> Contributions:
    return with_other_parts(batch, batch.network.gradient_input(batch.documents, batch.score))


def _by_integrated_gradients(batch: Batch) -> Contributions:
    """Integrate gradients from a document of zero vectors without n-grams to the document."""
    base, documents, others = attention_only(batch), batch.documents, batch.pool.others
    to_target = batch.score.toward(batch.score.targets_of(base.logits))
    without_words = others.logits(DocumentArray.from_nested([[]]))
    words, factors = np.zeros(documents.n_words), np.zeros_like(base.logits)
    positions, weights = np.polynomial.legendre.leggauss(batch.how.steps)  # from -1 to 1
    for position, weight in zip((1 + positions) / 2, weights / 2, strict=True):
        score = to_target.at(position, without_words)
        found = batch.network.gradient_input(documents, score, position)
        words += weight * found.words
        factors += weight * score.factors(score.logits(found.logits))
    ngrams = others.attributions(documents, factors)
    start = to_target.at(0.0, without_words)
    logits = start.logits(batch.network.gradient_input(documents, start, 0.0).logits)
    change = to_target.of_logits(base.logits) - to_target.of_logits(logits)
    document = np.repeat(np.arange(len(documents)), documents.words_per_document)
    sums = np.bincount(document, words + ngrams, len(documents))
    return base._replace(
        words=words + ngrams,
        sentences=by_sentence(words + ngrams, documents),
        ngrams=ngrams,
        completeness_error=np.abs(change - sums),
    )


# In the order of the documentation.
METHODS: dict[str, Callable[[Batch], Contributions]] = {
    "shapley": OF_ATTENTION["shapley"],
    "sentence_alone": OF_ATTENTION["sentence_alone"],
    "gradient_attention": OF_ATTENTION["gradient_attention"],
    "gradient_input": _by_gradient_input,
    "integrated_gradients": _by_integrated_gradients,
    **OF_ATTENTION,
}
