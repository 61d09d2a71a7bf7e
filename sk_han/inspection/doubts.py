"""How likely each label is wrong, from probabilities of models that did not learn from it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import gammaln
from sklearn.isotonic import isotonic_regression

# Of labels predicted as they are given; with fewer, mistakes of the models are many.
ENOUGH_RIGHT = 0.8
# The surest documents of a class show how often its label is wrong: their share, and how many at
# least. To their counts come at most _PRIOR with the rates of all classes.
_SHARE, _AT_LEAST, _PRIOR = 0.1, 10, 100
_SUREST = 0.99  # no estimate makes a label certainly wrong
_TINY = 1e-300
# Probabilities that are looked at together, and documents whose labels say the power at least.
_AT_ONCE, _OF_POWER = 1 << 20, 1_000


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
    p = _tempered(probabilities, labels)
    rates = _rates(p, labels)
    other_rates = rates * (1 - np.eye(k))
    size = max(1, _AT_ONCE // k)
    blocks = [slice(start, start + size) for start in range(0, n, size)]

    def odds(rows: slice) -> NDArray[np.float64]:
        """Return the log-odds that another class was meant, by label, (D, K) of a block."""
        own, all_meant = p[rows] * np.diag(rates), p[rows] @ rates
        found: NDArray[np.float64] = np.log(np.maximum(all_meant - own, _TINY))
        return found - np.log(np.maximum(own, _TINY))

    of_labels = [
        np.take_along_axis(odds(rows), labels[rows, np.newaxis], axis=1) for rows in blocks
    ]
    given = np.concatenate(of_labels)[:, 0]
    order = np.argsort(-given, kind="stable")

    n_doubtful, n_drawn, wrong = np.count_nonzero(given > 0), 0.0, np.zeros(n)
    others = np.empty(n, dtype=np.int64)
    for rows in blocks:
        meant = p[rows] * rates[:, labels[rows]].T
        meant /= np.maximum(meant.sum(axis=1, keepdims=True), _TINY)
        weights = meant @ other_rates  # chance that each label is drawn and wrong
        drawn = odds(rows)
        places = np.searchsorted(-given[order], -drawn, side="right")
        places = np.minimum(places, np.where(drawn > 0, n_doubtful, n) - 1)
        has_place = places >= 0
        wrong += np.bincount(places[has_place], weights[has_place], n)
        n_drawn += weights.sum()
        is_given = np.arange(k) == labels[rows, np.newaxis]
        others[rows] = np.where(is_given, -1.0, p[rows]).argmax(axis=1)
    n_wrong = n * _frequencies(rates, labels) @ other_rates.sum(axis=1)
    chances = np.empty(n)
    # The nearest chances that never rise.
    chances[order] = isotonic_regression(
        wrong * n_wrong / max(n_drawn, _TINY), y_min=0, y_max=_SUREST, increasing=False
    )
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


def may_be_chance(is_right: NDArray[np.bool_], labels: NDArray[Any]) -> bool:
    """Return whether models may predict labels no better than the most frequent one does.

    A gain of up to two standard errors may be chance.
    """
    values, counts = np.unique(labels, return_counts=True)
    gained = is_right.astype(np.int64) - (labels == values[counts.argmax()])
    return bool(gained.sum() <= 2 * np.sqrt(np.abs(gained).sum()))


def _tempered(p: NDArray[np.float64], labels: NDArray[np.int64]) -> NDArray[np.float64]:
    """Raise probabilities to the power by which they say best what the labels are, (D, K)."""
    log_p = np.log(np.maximum(p, 1e-12))
    n = max(_OF_POWER, _AT_ONCE // p.shape[1])  # it is one number, and these tell it
    some = np.random.RandomState(0).permutation(len(p))[:n] if len(p) > n else np.arange(len(p))
    log_p_of_some, place = log_p[some], (np.arange(len(some)), labels[some])

    def loss(log_power: float) -> float:
        z = np.exp(log_power) * log_p_of_some
        z -= z.max(axis=1, keepdims=True)
        return float(np.log(np.exp(z).sum(axis=1)).sum() - z[place].sum())

    log_p *= np.exp(minimize_scalar(loss, bounds=(-3, 3), method="bounded").x)
    log_p -= log_p.max(axis=1, keepdims=True)
    found: NDArray[np.float64] = np.exp(log_p, out=log_p)
    found /= found.sum(axis=1, keepdims=True)
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
    counts += _weight(counts, prior) * prior
    found: NDArray[np.float64] = counts / counts.sum(axis=1, keepdims=True)
    return found


def _weight(counts: NDArray[np.float64], prior: NDArray[np.float64]) -> float:
    """Return how many documents the rates of all classes weigh beside the counts of each.

    That is little where errors go one way, from one class to another, and much where classes are
    alike: the weight of the highest likelihood, if rates of classes have a Dirichlet distribution
    around those of all. The likelihood is multiplied by the root of the weight, so that few counts
    do not make it small.
    """
    at, n = counts > 0, counts.sum(axis=1)

    def loss(log_weight: float) -> float:
        weight = np.exp(log_weight)
        own = weight * prior[at]
        found = (gammaln(own + counts[at]) - gammaln(own)).sum()
        found -= (gammaln(weight + n) - gammaln(weight)).sum()
        return -float(found) - log_weight / 2

    return float(np.exp(minimize_scalar(loss, bounds=(0, np.log(_PRIOR)), method="bounded").x))


def _frequencies(rates: NDArray[np.float64], labels: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the frequencies of classes that rates turn into those of the labels, (K,)."""
    given = np.bincount(labels, minlength=len(rates)) / len(labels)
    meant = np.maximum(np.linalg.lstsq(rates.T, given, rcond=None)[0], 0)
    found: NDArray[np.float64] = meant / meant.sum()
    return found
