"""An n-gram model of some documents, from their n-grams on, as a fit makes one."""

from __future__ import annotations

from sk_han.documents import LabelledDocuments
from sk_han.parts import NgramModel
from sk_han.parts.ngrams.ngram_fitting import MIN_DOCUMENTS, SMOOTHING, fit_to_presences
from sk_han.parts.ngrams.presence import frequent_ngrams
from sk_han.targets import Target


def fit_ngram_model(
    data: LabelledDocuments, target: Target, ngram_range: tuple[int, int]
) -> NgramModel | None:
    """Count n-grams that two documents have, and fit a model to them."""
    frequent = frequent_ngrams(data.documents, ngram_range, MIN_DOCUMENTS)
    return fit_to_presences(*frequent, data, target, ngram_range, SMOOTHING)
