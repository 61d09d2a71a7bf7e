"""Training of the n-gram model, on all documents at once or portion by portion."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse import csr_matrix
from scipy.special import expit
from threadpoolctl import threadpool_limits

from sk_han.documents import LabelledDocuments
from sk_han.parts.ngrams.features import Features
from sk_han.parts.ngrams.model import NgramCounts, NgramModel
from sk_han.parts.ngrams.one_vs_rest import one_vs_rest
from sk_han.parts.ngrams.presence import frequent_ngrams
from sk_han.targets import Target
from sk_han.utils.containers import Floats, Integers

INVERSE_STRENGTH = 10.0  # of the L2 regularization; C of scikit-learn

# So many occurrences are added to the counts of an n-gram, divided among the classes like the
# documents. The ratio of a rare n-gram is then near 0, in small and in large classes. Characters
# occur more often than words.
SMOOTHING, SMOOTHING_OF_CHARACTERS = 8.0, 2.0

MIN_DOCUMENTS = 2  # an n-gram of a single document does not help with others


def fit_to_presences(
    buckets: Integers,
    present: csr_matrix,
    data: LabelledDocuments,
    target: Target,
    ngram_range: tuple[int, int],
    smoothing: float,
) -> NgramModel | None:
    """Fit one-vs-rest logistic regression on the log-count ratios of n-grams.

    It is the NB-SVM of Wang and Manning (2012) with the logistic loss. The vectors of documents
    are normalized to length 1, so that long documents do not outweigh short ones. Buckets are hash
    values of n-grams (F,), and `present` says which documents have them (D, F). None if there is no
    n-gram, or the target cannot be learnt from these. It takes about 150 bytes of memory a word,
    with n-grams of 1 to 3 words.
    """
    if not len(buckets) or not target.is_learnable(data.targets):
        return None
    in_class = target.problems(data.targets)  # (D, B)
    counts = _counts(present, in_class, data.weights)
    ratios = log_count_ratios(counts, smoothing)
    weights, intercept = np.empty_like(ratios), np.empty(ratios.shape[1], dtype=np.float32)
    sample_weight = target.problem_weights(data.targets, data.weights / data.weights.mean())
    solutions = one_vs_rest(Features(present, ratios), in_class, sample_weight, INVERSE_STRENGTH)
    for c, (coefficients, intercept[c]) in enumerate(solutions):
        weights[:, c] = coefficients * ratios[:, c]
    return NgramModel(target, ngram_range, buckets, ratios, weights, intercept, counts)


def partial_fit_ngram_model(
    model: NgramModel | None,
    data: LabelledDocuments,
    target: Target,
    ngram_range: tuple[int, int],
    smoothing: float = SMOOTHING,
) -> NgramModel | None:
    """Learn from one more portion of documents, in which classes may be missing.

    Counts are added, and ratios are those of all documents so far. The new weights and intercept
    minimize the loss of the portion plus ``n / (2 C m)`` times the squared distance to the
    previous ones, where m of the n documents so far are in the portion (implicit online learning,
    Kulis and Bartlett, 2010). For the first portion this is logistic regression with a penalty on
    the intercept too. Later ones keep the range of n-grams; for a single class there is no model.

    It holds every n-gram of all portions: about ``16 + 16 * B`` bytes each, of at most 4 million.
    """
    if target.n_scores == 1:
        return None
    if model is not None:
        ngram_range = model.ngram_range
    of_portion, present = frequent_ngrams(data.documents, ngram_range, 1)
    in_class = target.problems(data.targets)
    n_scores = in_class.shape[1]
    buckets, intercept = of_portion, np.zeros(n_scores)
    coefficients = np.zeros((len(buckets), n_scores))
    counts = _counts(present, in_class, data.weights)
    columns = np.arange(len(of_portion))  # of the portion's n-grams among all
    if model is not None:
        assert model.counts is not None  # latent models have none, and are of another function
        buckets = np.union1d(of_portion, model.buckets)
        columns, before = (np.searchsorted(buckets, some) for some in (of_portion, model.buckets))
        coefficients = np.zeros((len(buckets), n_scores))
        coefficients[before] = coefficients_of(model)
        intercept = model.intercept.astype(np.float64)
        counts = _sum_of_counts(len(buckets), [(counts, columns), (model.counts, before)])
    seen_again = counts.n_seen >= MIN_DOCUMENTS  # other n-grams have no effect yet
    ratios = np.zeros((len(buckets), n_scores), dtype=np.float32)
    ratios[seen_again] = log_count_ratios(counts.of(seen_again), smoothing)
    features = Features(present, ratios[columns])
    strength = counts.n_documents[0] / (INVERSE_STRENGTH * len(data))
    with threadpool_limits(1, user_api="blas"):  # as in `logistic_regression`
        update_problems(features.of_score, data, target, coefficients, intercept, strength, columns)
    weights = (coefficients * ratios).astype(np.float32)
    return NgramModel(
        target, ngram_range, buckets, ratios, weights, intercept.astype(np.float32), counts
    )


def _counts(present: csr_matrix, in_class: NDArray[np.float32], weights: Floats) -> NgramCounts:
    """Count documents with each n-gram in and outside of each class; weights get a mean of 1."""
    weights = (weights / weights.mean())[:, np.newaxis]
    return NgramCounts(
        present.getnnz(axis=0).astype(np.float32),
        (present.T @ (weights * in_class)).astype(np.float32),
        (present.T @ (weights * (1 - in_class))).astype(np.float32),
        np.append(weights.sum(), (weights * in_class).sum(axis=0)),
    )


def _sum_of_counts(n_features: int, parts: list[tuple[NgramCounts, Integers]]) -> NgramCounts:
    """Add counts of n-grams, each with their columns among `n_features`."""
    n_scores = parts[0][0].inside.shape[1]
    n_seen = np.zeros(n_features, dtype=np.float32)
    inside = np.zeros((n_features, n_scores), dtype=np.float32)
    outside = np.zeros_like(inside)
    for counts, columns in parts:
        n_seen[columns] += counts.n_seen
        inside[columns] += counts.inside
        outside[columns] += counts.outside
    n_documents = np.sum([counts.n_documents for counts, _ in parts], axis=0)
    return NgramCounts(n_seen, inside, outside, n_documents)


def log_count_ratios(counts: NgramCounts, smoothing: float) -> NDArray[np.float32]:
    """Compute log ratios of the frequency of n-grams inside and outside each class, (F, S)."""
    shares = (counts.n_documents[1:] / counts.n_documents[0]).clip(1e-9, 1 - 1e-9)  # (S,)
    inside = counts.inside + smoothing * shares  # (F, S)
    outside = counts.outside + smoothing * (1 - shares)
    ratios = np.log(inside / inside.sum(axis=0)) - np.log(outside / outside.sum(axis=0))
    return ratios.astype(np.float32)


def coefficients_of(model: NgramModel) -> Floats:
    """Return the coefficients of the ratios, (F, B); 0 where a ratio is."""
    nothing, known = np.zeros(model.weights.shape), model.ratios != 0
    return np.divide(model.weights, model.ratios, out=nothing, where=known)


def update_problems(
    features: Callable[[int], csr_matrix],
    data: LabelledDocuments,
    target: Target,
    coefficients: Floats,
    intercept: Floats,
    strength: float,
    places: Any = slice(None),
) -> None:
    """Update the coefficients (F, B) at some places, and the intercepts (B,), by a portion."""
    is_positive = target.problems(data.targets)  # (D, B)
    sample_weight = target.problem_weights(data.targets, data.weights / data.weights.mean())
    for b in range(is_positive.shape[1]):
        coefficients[places, b], intercept[b] = updated(
            features(b),
            is_positive[:, b],
            sample_weight[:, b],
            coefficients[places, b],
            intercept[b],
            strength,
        )


def updated(
    features: csr_matrix,
    targets: NDArray[np.float32],
    sample_weight: Floats,
    coefficients: Floats,
    intercept: float,
    strength: float,
) -> tuple[Floats, float]:
    """Update the coefficients and the intercept of logistic regression by a portion's documents.

    `strength` is that of the penalty on the distance to the values before.
    """
    signs = 2.0 * targets - 1
    start = np.append(coefficients, intercept)

    def loss_and_gradient(point: Floats) -> tuple[float, Floats]:
        margins = signs * (features @ point[:-1] + point[-1])
        # The penalty includes the intercept: with documents of one class it would grow for ever.
        step = point - start
        loss = sample_weight @ np.logaddexp(0, -margins) + (strength / 2 * step) @ step
        residual = -sample_weight * signs * expit(-margins)
        gradient = np.append(features.T @ residual, residual.sum()) + strength * step
        return float(loss), gradient

    solution = minimize(loss_and_gradient, start, jac=True, method="L-BFGS-B")
    return solution.x[:-1], float(solution.x[-1])
