"""How likely each label is wrong, from probabilities of models that did not learn from it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from sklearn.isotonic import isotonic_regression

# The surest documents of a class show how often its label is wrong: their share, and how many at
# least. To their counts come as many of the frequencies of labels as _PRIOR.
_SHARE, _AT_LEAST, _PRIOR = 0.1, 10, 100
_SUREST = 0.99  # no estimate makes a label certainly wrong
_TINY = 1e-300


class Doubts(NamedTuple):
    """Of each of D labels: how likely it is wrong, which one is likelier, and the order."""

    chances: NDArray[np.float64]  # (D,)
    others: NDArray[np.int64]  # (D,), the most probable of the other classes
    order: NDArray[np.int64]  # (D,), the most doubtful first


def label_doubts(probabilities: NDArray[np.float64], labels: NDArray[np.int64]) -> Doubts:
    """Find how likely each label is wrong; probabilities are (D, K), K at least 2.

    Labels are taken for drawn by ``rates[k, j]``, the chance that a document of class k is labelled
    j: among the documents that are most surely predicted k, the share labelled j, as in confident
    learning (Northcutt, Jiang and Chuang, 2021). The order is that of the odds, by Bayes' rule,
    that another class was meant. What these odds are worth is found by labels drawn anew, for the
    classes that documents likely have: those that would be wrong have odds, too, and how many are
    wrong in all follows from the rates. So the share of wrong ones is known at each place of the
    order, along which it cannot rise. Labels drawn that are likelier wrong than right say nothing
    of given ones that are likelier right, and nothing at all where all given ones are.
    """
    n, k = probabilities.shape
    rows = np.arange(n)
    p = _tempered(probabilities, labels)
    rates = _rates(p, labels)
    own, all_meant = p * np.diag(rates), p @ rates
    odds = np.log(np.maximum(all_meant - own, _TINY)) - np.log(np.maximum(own, _TINY))  # (D, K)
    given = odds[rows, labels]
    order = np.argsort(-given, kind="stable")

    other_rates = rates * (1 - np.eye(k))
    meant = p * rates[:, labels].T
    meant /= np.maximum(meant.sum(axis=1, keepdims=True), _TINY)
    weights = meant @ other_rates  # chance that each label is drawn and wrong, (D, K)
    places = np.searchsorted(-given[order], -odds, side="right")
    places = np.minimum(places, np.where(odds > 0, np.count_nonzero(given > 0), n) - 1)
    has_place = places >= 0
    wrong = np.bincount(places[has_place], weights[has_place], n)
    shares = _frequencies(rates, labels)
    n_wrong = n * shares @ other_rates.sum(axis=1)
    chances = np.empty(n)
    # The nearest chances that never rise.
    chances[order] = isotonic_regression(
        wrong * n_wrong / max(weights.sum(), _TINY), y_min=0, y_max=_SUREST, increasing=False
    )
    others = np.where(np.arange(k) == labels[:, np.newaxis], -1.0, p).argmax(axis=1)
    return Doubts(chances, others, order)


def suspected_labels(
    probabilities: NDArray[np.float64], labels: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return documents whose label is likelier wrong than right, the most doubtful first.

    There are none where all labels are the same, or where there are none.
    """
    if len(np.unique(labels)) < 2:
        return np.empty(0, dtype=np.int64)
    doubts = label_doubts(probabilities, labels)
    return doubts.order[doubts.chances[doubts.order] > 0.5]


def _tempered(p: NDArray[np.float64], labels: NDArray[np.int64]) -> NDArray[np.float64]:
    """Raise probabilities to the power by which they say best what the labels are, (D, K)."""
    log_p, rows = np.log(np.maximum(p, 1e-12)), np.arange(len(p))

    def loss(log_power: float) -> float:
        z = np.exp(log_power) * log_p
        z -= z.max(axis=1, keepdims=True)
        return float(np.log(np.exp(z).sum(axis=1)).sum() - z[rows, labels].sum())

    z = np.exp(minimize_scalar(loss, bounds=(-3, 3), method="bounded").x) * log_p
    z = np.exp(z - z.max(axis=1, keepdims=True))
    found: NDArray[np.float64] = z / z.sum(axis=1, keepdims=True)
    return found


def _rates(p: NDArray[np.float64], labels: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the chance that a document of each class gets each label, (K, K)."""
    n, k = p.shape
    counts, predicted, sureness = np.zeros((k, k)), p.argmax(axis=1), p.max(axis=1)
    for number in range(k):
        rows = np.flatnonzero(predicted == number)
        surest = np.argsort(-sureness[rows], kind="stable")
        rows = rows[surest[: max(_AT_LEAST, int(_SHARE * len(rows)))]]
        np.add.at(counts[number], labels[rows], 1)
    share_wrong = (counts.sum() - np.trace(counts) + 1) / (counts.sum() + 2)
    prior = np.tile(np.bincount(labels, minlength=k) / n, (k, 1)) + 1e-9
    np.fill_diagonal(prior, 0)
    prior *= share_wrong / prior.sum(axis=1, keepdims=True)
    np.fill_diagonal(prior, 1 - share_wrong)
    counts += _PRIOR * prior
    found: NDArray[np.float64] = counts / counts.sum(axis=1, keepdims=True)
    return found


def _frequencies(rates: NDArray[np.float64], labels: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the frequencies of classes that rates turn into those of the labels, (K,)."""
    given = np.bincount(labels, minlength=len(rates)) / len(labels)
    meant = np.maximum(np.linalg.lstsq(rates.T, given, rcond=None)[0], 0)
    found: NDArray[np.float64] = meant / meant.sum()
    return found
