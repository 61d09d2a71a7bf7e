"""Figures of a model of several labels on labelled documents, by NumPy alone."""

from __future__ import annotations

import numpy as np

from sk_han.utils.array_types import Flags, Floats, Integers

AVERAGES = ("micro", "macro", "samples")
_RESAMPLES, _PORTION = 1_000, 100
_BINS, _SMALLEST = 10, 0.05

Figures = dict[str, Floats]


def averages(given: Flags, true: Flags) -> dict[str, float]:
    """Return the averages of `_figures` over these documents."""
    found = _figures(given, true, np.ones((1, len(true))))
    return {name: float(values[0]) for name, values in found.items()}


def log_losses(p: Floats, t: Flags) -> Floats:
    """Return the mean negative log-likelihood of each label in nats, (L,)."""
    found: Floats = -np.log(np.maximum(np.where(t, p, 1 - p), np.finfo(float).eps)).mean(axis=0)
    return found


def calibration_error_of_labels(p: Floats, t: Flags) -> float:
    """Return how far shares of right marks are from probabilities, on average over ten bins."""
    counted = p > _SMALLEST  # of many labels nearly all others are next to 0, and right
    values, right = p[counted], t[counted]
    bins = np.minimum((values * _BINS).astype(np.int64), _BINS - 1)
    gaps = np.bincount(bins, weights=values - right, minlength=_BINS)
    return float(np.abs(gaps).sum() / max(len(values), 1))


def resampled(given: Flags, true: Flags, groups: Integers | None) -> Figures:
    """Return the averages in 1,000 bootstrap samples of the documents, or of their groups (D,)."""
    random = np.random.RandomState(0)
    unit = np.arange(len(true)) if groups is None else np.unique(groups, return_inverse=True)[1]
    n = int(unit.max()) + 1
    found = []
    for _ in range(0, _RESAMPLES, _PORTION):
        drawn = random.multinomial(n, np.full(n, 1 / n), size=_PORTION).astype(np.float64)
        found.append(_figures(given, true, drawn[:, unit]))  # (B, D)
    return {name: np.concatenate([each[name] for each in found]) for name in found[0]}


def _figures(given: Flags, true: Flags, weights: Floats) -> Figures:
    """Return precision, recall and F1, micro, macro and by document, and subset accuracy.

    Of labels given by the model and true ones, (D, L), in B samples; weights (B, D) are how often
    each document counts in each. A label that no document has or gets is left out of the macro
    mean; one that a sample alone lacks keeps its figure of all documents, since without labels that
    are rare, and so hard, means would rise. A document without any label is right; else a share of
    nothing is 0.
    """
    right = (given & true).astype(np.float64)
    by_label = [weights @ counts for counts in (right, given, true)]  # (B, L) each
    of_all = [counts.sum(axis=0) for counts in (right, given, true)]  # (L,) each
    occurs, in_sample = of_all[1] + of_all[2] > 0, by_label[1] + by_label[2] > 0
    by_document = [counts.sum(axis=1) for counts in (right, given, true)]  # (D,) each
    nothing = by_document[1] + by_document[2] == 0
    micro = _shares(*(counts.sum(axis=1) for counts in by_label))
    found = {}
    for name, whole, of_labels, usual, of_documents in zip(
        ("precision", "recall", "f1"),
        micro,
        _shares(*by_label),
        _shares(*of_all),
        _shares(*by_document),
        strict=True,
    ):
        found[f"micro_{name}"] = whole
        of_labels = np.where(in_sample, of_labels, usual)
        found[f"macro_{name}"] = of_labels.sum(axis=1) / max(occurs.sum(), 1)
        found[f"samples_{name}"] = weights @ np.where(nothing, 1.0, of_documents)
        found[f"samples_{name}"] /= weights.sum(axis=1)
    exact = (given == true).all(axis=1)
    found["subset_accuracy"] = weights @ exact / weights.sum(axis=1)
    return found


def _shares(right: Floats, given: Floats, true: Floats) -> tuple[Floats, ...]:
    """Return precision, recall and F1 of counts."""
    return _divided(right, given), _divided(right, true), _divided(2 * right, given + true)


def _divided(these: Floats, by: Floats) -> Floats:
    """Divide, and return 0 where there is nothing to divide by."""
    return np.divide(these, by, out=np.zeros(these.shape), where=by > 0)
