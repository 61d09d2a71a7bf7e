"""The methods of explain for a classifier: those of its attention, and those of whole gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sk_han.attribution import methods
from sk_han.attribution.log_odds import LogOdds, log_odds
from sk_han.attribution.methods import (
    AttributedModel,
    Attribution,
    Batch,
    Contributions,
    attention_only,
    by_sentence,
    linear_logits,
    ngram_contributions,
    with_ngrams,
)
from sk_han.classifier import HANClassifier
from sk_han.documents import DocumentArray
from sk_han.fitting import linear_parts_of
from sk_han.nn.attribution import gradient_attention, gradient_input
from sk_han.parts.ngrams.model import NgramModel
from sk_han.parts.pool import pooled_logits
from sk_han.sentence_vectors.network import sentence_gradient

__all__ = ["METHODS", "attributed", "contributions_to"]


class _ExplainedClassifier:
    """A classifier as an `AttributedModel`."""

    def __init__(self, classifier: HANClassifier) -> None:
        self.net = classifier.net_
        words = self.net.dimension is None
        self.by_attention = gradient_attention if words else sentence_gradient
        self.by_input = gradient_input if words else sentence_gradient
        self.n_classes = len(classifier.classes_)
        self.network_scale = classifier.network_scale_
        self.linear_models: Sequence[tuple[float, NgramModel]] = linear_parts_of(classifier).models

    def attend(self, documents: DocumentArray) -> Attribution:
        found = self.net.attend(documents)
        return Attribution(
            _array(found.logits),
            _array(found.word_attention),
            _array(found.sentence_attention),
            np.zeros(documents.n_words),
        )

    def gradient_attention(self, documents: DocumentArray, score: LogOdds) -> Attribution:
        return self.by(self.by_attention, documents, score)

    def by(
        self, attribution: Callable[..., Any], documents: DocumentArray, score: LogOdds
    ) -> Attribution:
        """Return what a function of `sk_han.nn.attribution` finds."""
        return Attribution(*map(_array, self.net.attribute(attribution, documents, _Score(score))))

    def logits(self, documents: DocumentArray) -> NDArray[np.float64]:
        return pooled_logits(documents, [(self.network_scale, self.net), *self.linear_models])


@dataclass(frozen=True)
class _Score:
    """A score of PyTorch's tensors, as `sk_han.nn.attribution` needs it."""

    score: LogOdds

    def __getitem__(self, rows: Any) -> _Score:
        return _Score(self.score[rows])

    def __call__(self, network_logits: Tensor) -> Tensor:
        return torch.from_numpy(self.score(_array(network_logits))).to(network_logits)


def attributed(classifier: HANClassifier) -> AttributedModel:
    """Return a classifier as what the functions of `sk_han.attribution` take."""
    return _ExplainedClassifier(classifier)


def contributions_to(
    targets: NDArray[np.int64],
    classifier: HANClassifier,
    documents: DocumentArray,
    *,
    method: str,
    combine: str,
    steps: int,
    spread: float,
    random: np.random.Generator | np.random.RandomState,
) -> Contributions:
    """Compute the contributions of a batch's words and sentences to the targets' log-odds.

    Parameters
    ----------
    targets : ndarray of int64, shape (D,)
        Number of the class; -1 for the predicted one.
    classifier : HANClassifier
    documents : DocumentArray of shape (D,)
        Of ids within the vocabulary.
    method, combine, steps, spread
        As of `explain`.
    random : Generator or RandomState
        For ``method="random"``.

    Returns
    -------
    Contributions
    """
    model = _ExplainedClassifier(classifier)
    score = LogOdds(model.network_scale, linear_logits(model, documents), targets)
    return METHODS[method](Batch(model, documents, score, combine, steps, spread, random))


def _by_gradient_input(batch: Batch) -> Contributions:
    return with_ngrams(batch, batch.model.by(batch.model.by_input, batch.documents, batch.score))


def _by_integrated_gradients(batch: Batch) -> Contributions:
    """Integrate gradients from a document of zero vectors without n-grams to the document."""
    base, documents, model = attention_only(batch), batch.documents, batch.model
    targets = batch.score.targets_of(base.logits)
    without_words = linear_logits(model, DocumentArray.from_nested([[]]))
    words, factors = np.zeros(documents.n_words), np.zeros_like(base.logits)
    positions, weights = np.polynomial.legendre.leggauss(batch.steps)  # from -1 to 1
    for position, weight in zip((1 + positions) / 2, weights / 2, strict=True):
        score = batch.score.toward(targets).at(position, without_words)
        found = model.by(partial(model.by_input, by=position), documents, score)
        words += weight * found.words
        factors += weight * score.factors(score.logits(found.logits))
    ngrams = ngram_contributions(batch, factors)
    start = batch.score.toward(targets).at(0.0, without_words)
    logits = start.logits(model.by(partial(model.by_input, by=0.0), documents, start).logits)
    change = log_odds(base.logits, targets) - log_odds(logits, targets)
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
    "sentence_alone": methods.METHODS["sentence_alone"],
    "gradient_attention": methods.METHODS["gradient_attention"],
    "gradient_input": _by_gradient_input,
    "integrated_gradients": _by_integrated_gradients,
    **methods.METHODS,
}


def _array(values: Tensor) -> NDArray[np.float64]:
    return values.numpy(force=True).astype(np.float64)
