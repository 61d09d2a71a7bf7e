"""Class priors of the documents to predict: `with_priors` and `estimate_priors`."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sk_han._documents import DocumentArray
from sk_han._model.class_mix import PER_CLASS, Reference, class_mixes, implied_shares
from sk_han._model.fitted_model import FittedModel
from sk_han._rendering.blocks import Block, Heading, Sentence, Table, names, percent
from sk_han._rendering.result import Extent, Result
from sk_han._targets import Target
from sk_han._utils.containers import Floats, listed
from sk_han._utils.messages import plural
from sk_han.inspection._estimators import explained_model, inner_model, refuse_number

# The level of the test for a prior shift, chosen on training folds of six corpora with 1,000 labels
# (benchmarks/class_mix.py).
_LEVEL = 0.02
# The fewest documents of a batch whose mix is estimated.
_FEWEST = 100
# The number of held-out documents that is assumed if there are none.
_ASSUMED = 100
# Expectation maximization ends after so many steps, or once no share changes by more than this.
_STEPS, _CLOSE = 500, 1e-6
# This variance is added to that of a mean probability, since differences below 0.001 mean nothing.
_FLOOR = 1e-6


@dataclasses.dataclass(frozen=True, eq=False)
class MixEstimate(Result):
    """Class shares of a batch of documents, estimated from their probabilities.

    It is the result of `estimate_priors`.

    Parameters
    ----------
    labels : tuple
        The classes or labels.
    training : ndarray of shape (n_labels,)
        Weighted shares of the labels among the training documents.
    shares, lower, upper : ndarray of shape (n_labels,)
        Estimated shares, and the ends of their 95 % intervals.
    p_values : ndarray of shape (n_labels,)
        The p-value of the difference from the training shares. Classes that exclude each other have
        a common one; those of several labels are corrected for their number.
    n_documents : int
    fewest : int
        Least number of documents for an estimate.
    """

    labels: tuple[Any, ...]
    training: NDArray[np.float64]
    shares: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    p_values: NDArray[np.float64]
    n_documents: int
    fewest: int

    @property
    def moved(self) -> bool:
        """Whether class shares, or the share of one of several labels, changed significantly."""
        return self.priors is not None

    @property
    def priors(self) -> dict[Any, float] | None:
        """The argument for `with_priors`; None if there is no significant change."""
        rows = np.flatnonzero(self.p_values < _LEVEL).tolist()
        return {self.labels[i]: float(self.shares[i]) for i in rows} or None

    @property
    def text(self) -> str:
        """The result in one sentence."""
        n, rows = plural(self.n_documents), np.flatnonzero(self.p_values < _LEVEL)
        if self.n_documents < self.fewest:
            return f"{n} are too few to estimate the mix of classes, which takes {self.fewest:,}."
        p = self.p_values.min()
        tested = f"(p {'< 0.001' if p < 0.001 else f'= {p:.2g}'}, {n})"
        if not len(rows):
            return f"The mix of classes may be that of the training documents {tested}."
        rows = rows[np.argsort(-np.abs(self.shares - self.training)[rows], kind="stable")]
        changes = [
            f"{self.labels[i]} {percent(self.training[i])} to {percent(self.shares[i])}"
            for i in rows.tolist()
        ]
        return f"The mix of classes has changed {tested}: {listed(changes, 5, str)}."

    def _blocks(self, extent: Extent, **options: Any) -> Iterable[Block]:
        shares = np.stack([self.training, self.shares, self.lower, self.upper], axis=1)
        rows = [[n, *map(percent, row)] for n, row in zip(names(self.labels), shares, strict=True)]
        head = ["", "training", "here", "at least", "at most (95 %)"]
        legend = (
            "The test compares mean probabilities with those of held-out documents. An interval is "
            "of one share alone, and may exclude the training share although p is large."
        )
        table = Table(rows, head)
        return [Heading("Mix of classes", 1), Sentence(self.text), table, Sentence(legend)]


def with_priors(model: Any, priors: Mapping[Any, float] | None) -> Any:
    """Return a copy of a fitted model for documents with other class priors.

    A classifier learns how frequent each class is. If classes have other frequencies but look the
    same (prior shift, or label shift), the probabilities of a calibrated model are corrected by the
    ratio of the shares [1]_: a constant is added to the logits. Predictions, explanations,
    thresholds, files and the service follow. The copy shares the weights of the model, which does
    not change.

    Parameters
    ----------
    model : HANClassifier, Scorer, Pipeline that ends in one, or search
        A fitted model. Of a search or a FrozenEstimator, the model inside is copied.
    priors : dict of class to share, or None
        See the parameter `priors` of `HANClassifier`, which the copy gets. None restores the
        training priors.

    Returns
    -------
    object
        A model of the same type as `model`, or as the model inside it.

    Raises
    ------
    TypeError
        If `model` is another estimator.
    ValueError
        If a class is unknown or lacking, if shares do not sum to 1, or if the model was fitted by
        `partial_fit` and so has no training priors.

    See Also
    --------
    estimate_priors : Estimate priors from documents without labels.

    References
    ----------
    .. [1] Saerens, Latinne, Decaestecker, "Adjusting the outputs of a classifier to new a priori
       probabilities: a simple procedure", Neural Computation 14, 2002.

    Examples
    --------
    >>> from sk_han import HANClassifier, with_priors
    >>> from sk_han.datasets import make_reviews
    >>> texts, labels = make_reviews(60, random_state=0)
    >>> classifier = HANClassifier(embedding_dim=8, max_epochs=1, random_state=0)
    >>> classifier = classifier.fit(texts, labels)
    >>> praised = with_priors(classifier, {"negative": 0.1, "positive": 0.9})
    >>> bool((praised.predict_proba(texts)[:, 1] > classifier.predict_proba(texts)[:, 1]).all())
    True
    """
    explained_model(model, "with_priors")
    refuse_number(model, "with_priors")
    wanted: Any = priors
    # A Series of pandas has keys, too.
    if hasattr(wanted, "keys"):
        wanted = dict(wanted)
    return _with_priors(model, wanted)


def _with_priors(model: Any, priors: Any) -> Any:
    model = inner_model(model)
    if hasattr(model, "steps"):
        *steps, (name, last) = model.steps
        return _copy_with(model, steps=[*steps, (name, _with_priors(last, priors))])
    changed = _copy_with(model, model_=model.model_.with_priors(priors))
    if hasattr(model, "get_params"):
        changed.priors = priors
    return changed


def estimate_priors(model: Any, X: Any) -> MixEstimate:
    """Estimate the class priors of documents without labels.

    If the mean probabilities differ significantly from those of held-out documents (at a level of
    2 %), the shares are estimated by maximum likelihood: expectation maximization [1]_ with a
    Dirichlet prior around the training shares.

    Parameters
    ----------
    model : HANClassifier, Scorer, Pipeline that ends in one, or search
        A fitted model.
    X : as for ``predict``
        At least 100 documents, and five for each class, drawn like those to predict. Blank texts
        do not count.

    Returns
    -------
    MixEstimate
        Its `text` summarizes the result, and `priors` is the argument for `with_priors`.

    Raises
    ------
    TypeError, ValueError
        See `with_priors`.

    Notes
    -----
    The estimate assumes prior shift: classes have other frequencies but look the same. New kinds of
    documents, which `sk_han.drift` detects, may be mistaken for a prior shift.

    References
    ----------
    .. [1] Alexandari, Kundaje, Shrikumar, "Maximum likelihood with bias-corrected calibration is
       hard-to-beat at label shift adaptation", ICML 2020.

    Examples
    --------
    >>> from sk_han import HANClassifier, estimate_priors, with_priors
    >>> from sk_han.datasets import make_reviews
    >>> texts, labels = make_reviews(160, random_state=0)
    >>> classifier = HANClassifier(embedding_dim=8, max_epochs=1, random_state=0)
    >>> found = estimate_priors(classifier.fit(texts[:60], labels[:60]), texts[60:])
    >>> found.n_documents, found.moved, found.priors
    (100, False, None)
    >>> same = with_priors(classifier, found.priors)
    """
    _, p, fitted = compared_documents(model, X, "estimate_priors")
    refuse_number(model, "estimate_priors")
    return estimated_mix(p, fitted.known_reference, fitted.target)


def compared_documents(model: Any, X: Any, by: str) -> tuple[DocumentArray, Floats, FittedModel]:
    """Return the non-blank documents, their probabilities without priors, and the fitted model."""
    explained = explained_model(model, by)
    explained = replace(explained, fitted=explained.fitted.with_priors(None))
    documents = explained.read(X)
    documents = documents[np.flatnonzero(documents.sentences_per_document > 0)]
    if not len(documents):
        raise ValueError("None of the documents has a word.")
    return documents, explained.predict_proba(documents), explained.fitted


def _copy_with(holder: Any, **attributes: Any) -> Any:
    """Return a shallow copy with some attributes replaced.

    `copy.copy` would serialize and restore the fitted state.
    """
    result = object.__new__(type(holder))
    vars(result).update(vars(holder) | attributes)
    return result


def estimated_mix(p: Floats, reference: Reference, target: Target) -> MixEstimate:
    """Estimate the shares of classes or labels from the probabilities of a batch, (D, K)."""
    mixes, one_label = class_mixes(reference, target), target.has_one_label
    columns = [p] if one_label else [np.stack([q, 1 - q], axis=1) for q in p.T]
    fewest = max(_FEWEST, PER_CLASS * len(mixes[0].shares))
    shares, errors = implied_shares(reference, target), np.ones(target.n_scores)
    p_values = np.ones(target.n_scores)
    if len(p) >= fewest and target.n_scores > 1:
        chance = np.array([*map(moved_by_chance, columns, mixes)]) * len(mixes)  # Bonferroni
        estimates = np.array([*map(_estimate_shares, columns, mixes)])
        shares, errors = estimates[0] if one_label else estimates[:, :, 0].T
        p_values = np.broadcast_to(chance, p_values.shape).clip(0, 1)
        # Labels without a significant change keep the shares of the training.
        if not one_label:
            still = p_values >= _LEVEL
            shares = np.where(still, implied_shares(reference, target), shares)
            errors = np.where(still, p.std(axis=0) / math.sqrt(len(p)), errors)
    width, labels = 1.96 * errors, tuple(target.names.tolist())
    ends = (shares - width).clip(0), (shares + width).clip(max=1)
    return MixEstimate(labels, reference.shares, shares, *ends, p_values, len(p), fewest)


def moved_by_chance(p: Floats, reference: Reference) -> float:
    """Test whether mean probabilities, (D, K), differ from those on held-out documents.

    Return the p-value of Hotelling's test, with the covariance of the batch and Paulson's
    approximation of the F distribution. The probabilities need not be calibrated, only as biased as
    on held-out documents.
    """
    n, k = len(p), p.shape[1] - 1
    away = (p.mean(axis=0) - reference.predicted)[:-1]
    spread = np.cov(p[:, :-1], rowvar=False).reshape(k, k) + _FLOOR * n * np.eye(k)
    far = away @ np.linalg.solve(spread * (1 / n + 1 / (reference.n_held_out or _ASSUMED)), away)
    root = np.cbrt(far * (n - k) / (k * (n - 1)))
    a, b = 2 / (9 * k), 2 / (9 * (n - k))
    return math.erfc(((1 - b) * root - (1 - a)) / math.sqrt(2 * (b * root**2 + a))) / 2


def _estimate_shares(p: Floats, reference: Reference) -> tuple[Floats, Floats]:
    """Estimate class shares from probabilities, (D, K), and their standard errors, (K,) each.

    The shares are the posterior mode by expectation maximization (Saerens et al., 2002), with a
    Dirichlet prior around the training shares. The errors follow from the Fisher information of the
    batch and of the held-out documents.
    """
    n, implied = len(p), reference.implied
    strength = PER_CLASS * len(implied)
    shares, ratios = implied, p / implied
    for _ in range(_STEPS):
        before, posterior = shares, ratios * shares
        totals = (posterior / posterior.sum(axis=1, keepdims=True)).sum(axis=0)
        shares = (totals + strength * implied) / (n + strength)
        if np.abs(shares - before).max() < _CLOSE:
            break
    slopes = ratios / (ratios @ shares)[:, np.newaxis]
    information = slopes.T @ slopes / (1 + n / (reference.n_held_out or _ASSUMED))
    inverse = np.linalg.inv(information + np.diag(strength * implied / shares**2))
    # The constraint that shares sum to 1 reduces the variances.
    sums = inverse.sum(axis=0)
    variances = np.diag(inverse) - sums**2 / sums.sum()
    return shares, np.sqrt(variances.clip(0))
