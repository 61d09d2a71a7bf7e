"""The function `selective_threshold`, which chooses a threshold for accepting predictions."""

from __future__ import annotations

import math
from collections.abc import Iterator
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, betaincinv

from sk_han._rendering.blocks import percent
from sk_han._utils.messages import agreeing, plural
from sk_han._validation.labels import unknown_labels_note, warn_of_order
from sk_han.inspection._estimators import read_documents, reader_of
from sk_han.inspection._reporting import (
    classes_of,
    encoded_labels,
    predictions,
    with_length,
)
from sk_han.inspection._results.selective import SelectiveThreshold

# The thresholds to test, the strictest first; they are fixed before any document is seen. A
# threshold of 0 accepts all documents except blank texts.
THRESHOLDS = np.array([0.999, *(i / 100 for i in range(99, -1, -1))])
# The strictest threshold that is tested should pass even with so many errors.
_ERRORS = 2


def selective_threshold(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    max_error: float = 0.05,
    confidence_level: float = 0.95,
) -> SelectiveThreshold | dict[Any, SelectiveThreshold]:
    """Find a threshold of probability above which at most `max_error` of predictions are wrong.

    This is selective classification with guaranteed risk [1]_: predictions whose largest
    probability reaches the threshold are accepted, and the other documents go to a person. A blank
    text, one without words, is never accepted, here and by `Scorer.predict_frame`, the service and
    the command line.

    Parameters
    ----------
    estimator : classifier
        A fitted classifier with `classes_` and ``predict_proba``, or a `Scorer`.
    X : n_documents raw texts, DocumentArray, or ndarray of int
        Documents that the model has not learnt from, as for ``predict``. They must be independent
        draws from the same distribution as the documents to predict.
    y : array-like of shape (n_documents,), or indicator of shape (n_documents, n_labels)
        True labels. A label that the model does not know counts as a mistake.
    max_error : float, default=0.05
        Highest share of mistakes among accepted documents; with several labels per document, for
        each label among the documents for which it is accepted.
    confidence_level : float, default=0.95
        Probability, over draws of X, that the error is at most `max_error`; with several labels,
        for all thresholds together (Bonferroni).

    Returns
    -------
    SelectiveThreshold, or dict of label to SelectiveThreshold
        If no threshold passes, `threshold` is infinite, so that nothing is accepted, and
        `nearest_error` is the smallest `max_error` that these documents would support. With several
        labels per document, there is one result for each label, for documents predicted to have it.

    Raises
    ------
    TypeError
        If the estimator does not predict probabilities, or labels are not strings, numbers or
        booleans.
    ValueError
        If there are too few documents, if most of them are training documents, if only one of the
        model and y has several labels per document, or if a parameter is invalid.
    sklearn.exceptions.NotFittedError
        If the estimator is not fitted.

    See Also
    --------
    report : Evaluate a model; its page shows the error of the most confident documents.

    Notes
    -----
    The thresholds 0.999, 0.99, 0.98, ..., 0 are tested in this order until one fails (fixed
    sequence testing [2]_); the last one that passed is returned. A test passes if the exact
    binomial (Clopper-Pearson) upper bound of the error among accepted documents is at most
    `max_error`. The first thresholds are skipped while they accept too few documents to tolerate
    two mistakes or, with few documents, less than half of all. Where testing begins thus depends on
    how many documents are accepted, not on their labels; simulations confirm that the guarantee
    holds.

    Documents that equal a training document are left out, if the model can recognize them. The
    guarantee holds for documents from the same distribution as X: not if the data change, nor for
    the best of several calls with the same documents. For a model with `priors`, it is about
    documents with these class priors: documents of classes that X has too many of are left out at
    random.

    References
    ----------
    .. [1] Geifman and El-Yaniv, "Selective classification for deep neural networks", NeurIPS 2017.
    .. [2] Angelopoulos et al., "Learn then test: calibrating predictive algorithms to achieve risk
       control", 2021, arXiv:2110.01052.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import TfidfVectorizer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sk_han import selective_threshold
    >>> from sk_han.datasets import make_reviews
    >>> texts, labels = make_reviews(3000, random_state=0)
    >>> model = make_pipeline(TfidfVectorizer(ngram_range=(1, 2)), LogisticRegression(C=10))
    >>> model = model.fit(texts[:1500], labels[:1500])
    >>> found = selective_threshold(model, texts[1500:], labels[1500:], max_error=0.2)
    >>> accepted = model.predict_proba(texts[1500:]).max(axis=1) >= found.threshold
    >>> bool(accepted.mean() == found.coverage), 0 < found.upper_bound <= 0.2
    (True, True)
    """
    levels = check_levels(max_error, confidence_level)
    read = read_held_out(estimator, X, y, *levels, by="selective_threshold")
    if not read.several_labels:
        confidence, wrong = read.probabilities.max(axis=1), read.predicted != read.targets
        counts = _reaching(confidence), _reaching(confidence[wrong])
        return SelectiveThreshold(
            **choose_threshold(*counts, *levels), notes=read.notes, n_blank=read.n_blank
        )
    n = len(read.classes)
    share = 1 - (1 - levels[1]) / n
    notes = (
        f"With {percent(levels[1])} confidence, the promises for all "
        f"{plural(n, 'label')} hold together: each has a confidence of "
        f"{percent(share, 2)} (Bonferroni).",
        *read.notes,
    )
    thresholds = {}
    for j, label in enumerate(read.classes.tolist()):
        rows = read.predicted[:, j]
        confidence, wrong = read.probabilities[rows, j], ~read.targets[rows, j].astype(bool)
        counts = _reaching(confidence), _reaching(confidence[wrong])
        fields = choose_threshold(*counts, levels[0], share)
        thresholds[label] = SelectiveThreshold(**fields, notes=notes, label=label)
    return thresholds


def check_levels(max_error: float, confidence_level: float) -> tuple[float, float]:
    """Check that both are between 0 and 1, and return them as floats."""
    for name, share in (("max_error", max_error), ("confidence_level", confidence_level)):
        if isinstance(share, bool) or not isinstance(share, Real) or not 0 < share < 1:
            raise ValueError(f"{name} must be a number between 0 and 1; got {share!r}.")
    return float(max_error), float(confidence_level)


class HeldOut(NamedTuple):
    """Predictions and labels of non-blank documents that a model has not learnt from."""

    classes: NDArray[Any]  # (K,)
    probabilities: NDArray[np.float64]  # (D, K)
    predicted: NDArray[Any]  # (D,) class numbers, or (D, K + U) for several labels
    targets: NDArray[Any]  # of the same shape; the numbers of unknown classes are K or more
    n_blank: int
    notes: tuple[str, ...]

    @property
    def several_labels(self) -> bool:
        """Whether documents have several labels each."""
        return self.targets.ndim > 1


def read_held_out(
    estimator: Any, X: Any, y: Any, max_error: float, confidence_level: float, by: str
) -> HeldOut:
    """Read the documents by which a threshold is chosen; `by` is the function that errors name.

    Blank texts, training documents, and documents of classes that are too frequent for the model's
    priors are left out. A ValueError is raised if too few remain to show an error of at most
    `max_error`.
    """
    classes = classes_of(estimator, by)
    model = reader_of(estimator)
    warn_of_order(X, y, "y")
    X = with_length(X)
    labels, targets, _ = encoded_labels(classes, model, X, y)
    probabilities, predicted = predictions(estimator, model, X, labels, targets)
    several, classes = targets.ndim == 2, np.array(labels[: probabilities.shape[1]])
    documents = read_documents(model, X)
    seen, n_words = documents.learnt_from, documents.n_words
    kept = np.ones(len(targets), dtype=bool)
    kept[[] if seen is None else seen] = False
    has_text = kept if n_words is None else kept & (n_words > 0)
    needed = math.ceil(math.log(1 - confidence_level) / math.log(1 - max_error))
    n = int(kept.sum())
    if n < len(kept) / 2:
        n_seen = len(kept) - n
        raise ValueError(
            f"{n_seen:,} of {plural(len(kept))} {agreeing(n_seen, 'have')} the words of a "
            "training document of this model. Pass documents that it was not fitted to."
        )
    n_blank = n - int(has_text.sum())
    priors = None if model is None else model.fitted.priors
    kept, of_mix = _with_mix(has_text, targets, classes, priors)
    n = int(kept.sum())
    if n < needed:
        raise ValueError(
            f"{plural(n)}{' with text' if n_blank else ''} {agreeing(n, 'are')} too few: for "
            f"max_error={max_error:g} and confidence_level={confidence_level:g} at least "
            f"{needed:,} are needed, even if the model makes no mistake. Pass more documents, or "
            f"max_error={math.ceil(1000 - 1000 * (1 - confidence_level) ** (1 / n)) / 1000:g}."
        )
    targets, n_unknown = targets[kept], 0
    if not several:
        n_unknown = int((targets >= len(classes)).sum())
    notes = (*of_mix, *_notes(seen, n_blank, n_unknown, labels[len(classes) :]))
    return HeldOut(classes, probabilities[kept], predicted[kept], targets, n_blank, notes)


def _with_mix(
    kept: NDArray[np.bool_], targets: NDArray[Any], classes: NDArray[Any], priors: Any
) -> tuple[NDArray[np.bool_], list[str]]:
    """Leave out random documents so that class shares equal the priors; also return a note."""
    if priors is None:
        return kept, []
    if targets.ndim > 1:
        return kept, ["The promise is about documents whose labels are as frequent as here."]
    counts = np.bincount(targets[kept], minlength=len(classes))[: len(classes)]
    if not counts.all():
        raise ValueError(f"No document has the class {classes.tolist()[counts.argmin()]!r}.")
    # Documents of unknown classes get the last weight, 0.
    weights = np.append(priors / counts, 0.0)
    draws = weights.max() * np.random.RandomState(0).random_sample(len(targets))
    rows = kept & (draws < weights[np.minimum(targets, len(classes))])
    n = plural(int(rows.sum()))
    return rows, [f"{n} are used, drawn so that classes have the shares of the priors."]


def choose_threshold(
    n_accepted: NDArray[np.int64],
    n_errors: NDArray[np.int64],
    max_error: float,
    confidence_level: float,
) -> dict[str, Any]:
    """Choose the last of `THRESHOLDS` that passes, from the numbers that each one accepts."""
    # The one-sided Clopper-Pearson bound.
    n_right = n_accepted - n_errors
    bounds = betaincinv(n_errors + 1, np.maximum(n_right, 1), confidence_level)
    bounds[n_right == 0] = 1.0

    def tests(error: float) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        tested = _is_tested(n_accepted, bounds <= error, error, 1 - confidence_level)
        return tested, THRESHOLDS[tested & (bounds <= error)]

    tested, passed = tests(max_error)
    others = (error for error in np.arange(1, 100) / 100 if error > max_error)
    return {
        "threshold": float(passed[-1]) if len(passed) else math.inf,
        "max_error": max_error,
        "confidence_level": confidence_level,
        "nearest_error": None
        if len(passed)
        else next((float(error) for error in others if len(tests(error)[1])), None),
        "thresholds": THRESHOLDS,
        "n_accepted": n_accepted,
        "n_errors": n_errors,
        "upper_bounds": bounds,
        "tested": tested,
    }


def _reaching(confidence: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the number of probabilities that reach each threshold."""
    return len(confidence) - np.searchsorted(np.sort(confidence), THRESHOLDS)


def _is_tested(
    n_accepted: NDArray[np.int64], passes: NDArray[np.bool_], max_error: float, alpha: float
) -> NDArray[np.bool_]:
    """Return which thresholds are tested: from the first that accepts enough to the first failure.

    Which thresholds are skipped depends on the number of accepted documents, never on their errors.
    Given this number, errors at a threshold are binomial, so a threshold whose true error is too
    high passes with a probability of at most alpha. The strictest such threshold is tested first
    or, if it accepts too few documents, a laxer one in its place, whose true error is even higher
    if errors are more frequent at lower probabilities. In 7,000 simulated populations, with and
    without this property, no rate of violations was above alpha.
    """
    n = int(n_accepted[-1])
    needed = math.ceil(math.log(alpha) / math.log(1 - max_error))
    sizes = np.arange(_ERRORS + 1, n // 2 + 1)
    standing = sizes[bdtr(_ERRORS, sizes, max_error) <= alpha]
    is_enough = n_accepted >= max(needed, standing[0] if len(standing) else n // 2)
    n_failed = np.cumsum(is_enough & ~passes)
    return is_enough & ((n_failed == 0) | ((n_failed == 1) & ~passes))


def _notes(
    seen: NDArray[np.int64] | None, n_blank: int, n_unknown: int, unknown: list[Any]
) -> Iterator[str]:
    if seen is None:
        yield (
            "It is not known whether the model was fitted to these documents. If it was, more "
            "predictions will be wrong than promised."
        )
    elif n := len(seen):
        yield (f"{plural(n)} with the words of a training document {agreeing(n, 'are')} left out.")
    if n_blank:
        yield f"{plural(n_blank, 'blank text')} {agreeing(n_blank, 'are')} never accepted."
    if n_unknown:
        yield unknown_labels_note(n_unknown, unknown)
