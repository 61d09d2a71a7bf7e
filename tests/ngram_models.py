"""N-grams of documents by their hash values, and a model of them as a fit makes one."""

from __future__ import annotations

from typing import Any

import numpy as np

from sk_han._documents import DocumentArray, LabelledDocuments
from sk_han._parts.ngram_fitting import NgramLearner
from sk_han._parts.ngram_model import NgramModel
from sk_han._parts.ngrams import keyed_ngrams, to_buckets
from sk_han._targets import Target


def hash_ngrams(documents: DocumentArray, ngram_range: tuple[int, int]) -> tuple[Any, Any]:
    """Return the bucket of every n-gram, and the position of its first word."""
    keys, first_words, _ = keyed_ngrams(documents, ngram_range)
    return to_buckets(keys), first_words


def fit_ngram_model(
    data: LabelledDocuments, target: Target, ngram_range: tuple[int, int]
) -> NgramModel | None:
    """Fit a model to n-grams that two documents have."""
    return NgramLearner(data, target, ngram_range).fit(np.arange(len(data)))
