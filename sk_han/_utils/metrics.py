"""Scores of predictions and their confidence intervals, in NumPy."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sk_han._utils.containers import Flags, Floats, Integers

_RESAMPLES, _PORTION = 1_000, 100
_BINS, _SMALLEST = 10, 0.05
Figures = dict[str, Floats]


def averages(predicted: Flags, true: Flags) -> dict[str, float]:
    """Return the scores of `_figures` for these documents."""
    scores = _figures(predicted, true, np.ones((1, len(true))))
    return {name: float(values[0]) for name, values in scores.items()}


def log_losses(p: Floats, t: Flags) -> Floats:
    """Return the mean negative log-likelihood of each label in nats, (L,)."""
    losses: Floats = -np.log(np.maximum(np.where(t, p, 1 - p), np.finfo(float).eps)).mean(axis=0)
    return losses


def calibration_error_of_labels(p: Floats, t: Flags) -> float:
    """Return the expected calibration error of several labels, over ten bins of probabilities."""
    # Of many labels nearly all have a probability next to 0 and are right, which would hide errors.
    counted = p > _SMALLEST
    values, right = p[counted], t[counted]
    bins = np.minimum((values * _BINS).astype(np.int64), _BINS - 1)
    gaps = np.bincount(bins, weights=values - right, minlength=_BINS)
    return float(np.abs(gaps).sum() / max(len(values), 1))


def bootstrap(
    predicted: NDArray[Any],
    true: NDArray[Any],
    groups: Integers | None,
    figures_of: Callable[[NDArray[Any], NDArray[Any], Floats], Figures] | None = None,
) -> Figures:
    """Return the scores of `_figures`, or of `figures_of`, in 1,000 bootstrap samples.

    Documents are drawn with replacement, or all documents of drawn groups (D,).
    """
    random = np.random.RandomState(0)
    unit = np.arange(len(true)) if groups is None else np.unique(groups, return_inverse=True)[1]
    n = int(unit.max()) + 1
    portions = []
    for _ in range(0, _RESAMPLES, _PORTION):
        drawn = random.multinomial(n, np.full(n, 1 / n), size=_PORTION).astype(np.float64)
        portions.append((figures_of or _figures)(predicted, true, drawn[:, unit]))  # (B, D)
    return {name: np.concatenate([portion[name] for portion in portions]) for name in portions[0]}


def _figures(predicted: Flags, true: Flags, weights: Floats) -> Figures:
    """Return precision, recall and F1, micro, macro and by document, and subset accuracy.

    Labels are (D, L); `weights` (B, D) has how often each document is in each of B samples. A label
    that no document has or gets is left out of the macro mean. A label that only a sample lacks
    keeps its score on all documents, since means would rise without rare labels, which are hard. A
    document for which no label is true or predicted counts as right; any other ratio 0 / 0 is 0.
    """
    right = (predicted & true).astype(np.float64)
    by_label = [weights @ counts for counts in (right, predicted, true)]  # (B, L) each
    of_all = [counts.sum(axis=0) for counts in (right, predicted, true)]  # (L,) each
    occurs, in_sample = of_all[1] + of_all[2] > 0, by_label[1] + by_label[2] > 0
    by_document = [counts.sum(axis=1) for counts in (right, predicted, true)]  # (D,) each
    nothing = by_document[1] + by_document[2] == 0
    micro = _shares(*(counts.sum(axis=1) for counts in by_label))
    scores = {}
    for name, whole, of_labels, usual, of_documents in zip(
        ("precision", "recall", "f1"),
        micro,
        _shares(*by_label),
        _shares(*of_all),
        _shares(*by_document),
        strict=True,
    ):
        scores[f"micro_{name}"] = whole
        of_labels = np.where(in_sample, of_labels, usual)
        scores[f"macro_{name}"] = of_labels.sum(axis=1) / max(occurs.sum(), 1)
        scores[f"samples_{name}"] = weights @ np.where(nothing, 1.0, of_documents)
        scores[f"samples_{name}"] /= weights.sum(axis=1)
    exact = (predicted == true).all(axis=1)
    scores["subset_accuracy"] = weights @ exact / weights.sum(axis=1)
    return scores


def _shares(right: Floats, predicted: Floats, true: Floats) -> tuple[Floats, ...]:
    """Return precision, recall and F1 for counts of right, predicted and true labels."""
    return _ratio(right, predicted), _ratio(right, true), _ratio(2 * right, predicted + true)


def _ratio(part: Floats, whole: Floats) -> Floats:
    """Divide; a ratio to 0 is 0."""
    return np.divide(part, whole, out=np.zeros(part.shape), where=whole > 0)


BINS = 15
_Z = 1.959964  # 95 % of a normal distribution
# Values that differ by less than this are equal.
_ALIKE = 1e-9


class Bin(NamedTuple):
    """Documents of similar confidence."""

    n_documents: int
    confidence: float  # the mean
    accuracy: float
    low: float  # the 95 % interval of the accuracy
    high: float


def figures(
    probabilities: Floats,
    targets: Integers,
    decided: Integers | None = None,
) -> dict[str, Any]:
    """Return scores of probabilities (D, K), and the confusion matrix, whose rows are true classes.

    `decided` (D,) has the predicted classes; None stands for the most probable ones. Targets of K
    and more are labels unknown to the model. They count as mistakes, but not in the log loss.
    """
    n_documents, n_classes = probabilities.shape
    predicted = probabilities.argmax(axis=1) if decided is None else decided
    n_labels, has_class = max(n_classes, int(targets.max()) + 1), targets < n_classes
    counts = np.bincount(targets * n_labels + predicted, minlength=n_labels**2)
    confusion = counts.reshape(n_labels, n_labels)
    right = np.diag(confusion)
    occurring = confusion.sum(axis=0) + confusion.sum(axis=1)
    f1 = 2 * right[occurring > 0] / occurring[occurring > 0]
    of_true = probabilities[has_class, targets[has_class]]
    return {
        "documents": n_documents,
        "accuracy": float(right.sum() / n_documents),
        "macro_f1": float(f1.mean()),
        "log_loss": abs(float(np.log(np.maximum(of_true, np.finfo(float).eps)).mean())),
        "calibration_error": calibration_error(probabilities, targets, decided=decided),
        "confusion": confusion,
    }


def distance_figures(
    predicted: Integers, true: Integers, weights: Floats, values: Floats
) -> Figures:
    """Return distances of predicted from true classes, (D,) each, for K ordered classes.

    The mean absolute error is in units of `values` (K,), the numbers that the classes stand for. A
    step leads to the next class; the kappa has weights quadratic in the number of steps (Cohen,
    1968, Psychological Bulletin 70). `weights` (B, D) are as in `_figures`.
    """
    steps, distances = predicted - true, np.abs(values[predicted] - values[true])
    columns = distances, np.abs(steps) <= 1, steps**2, predicted**2 + true**2, predicted, true
    error, near, square, squares, *means = (
        weights @ column / weights.sum(axis=1) for column in columns
    )
    by_chance = squares - 2 * means[0] * means[1]
    return {
        "mean_absolute_error": error,
        "within_one_step": near,
        "quadratic_kappa": 1 - _ratio(square, by_chance),
    }


def number_figures(predicted: Floats, true: Floats, weights: Floats) -> Figures:
    """Return how far predicted numbers are from the true ones, (D,) each.

    R2 is 0 where all true numbers are the same. `weights` (B, D) are as in `_figures`.
    """
    error, centred = np.abs(predicted - true), true - true.mean()
    columns = error, error**2, centred, centred**2
    absolute, square, mean, squares = (weights @ column / weights.sum(axis=1) for column in columns)
    variance = squares - mean**2
    return {
        "mean_absolute_error": absolute,
        "root_mean_squared_error": np.sqrt(square),
        "r2": np.where(variance > 0, 1 - _ratio(square, variance), 0.0),
    }


def median_class(probabilities: Floats) -> Integers:
    """Return the median of K ordered classes: the first whose cumulative probability is a half."""
    cumulative = probabilities.cumsum(axis=1)
    return (cumulative >= cumulative[:, -1:] / 2).argmax(axis=1)


def pad_labels(values: NDArray[Any], n_labels: int) -> NDArray[Any]:
    """Append columns of zeros for labels unknown to the model, up to `n_labels`."""
    return np.pad(values, ((0, 0), (0, n_labels - values.shape[1])))


def indicator(codes: NDArray[Any], n_labels: int) -> Flags:
    """Return flags (D, n_labels) for label numbers (D,), or for flags of fewer labels (D, L)."""
    if codes.ndim == 2:
        return pad_labels(codes, n_labels)
    flags: Flags = codes[:, np.newaxis] == np.arange(n_labels)
    return flags


def label_scores(true: Integers, predicted: Integers, right: Integers) -> tuple[list[Any], ...]:
    """Return columns with one entry per label: true, predicted, precision, recall and F1.

    A ratio 0 / 0 is None.
    """

    def shares(these: Integers, of: Integers) -> list[float | None]:
        pairs = zip(these.tolist(), of.tolist(), strict=True)
        return [part / whole if whole else None for part, whole in pairs]

    f1 = shares(2 * right, true + predicted)
    return true.tolist(), predicted.tolist(), shares(right, predicted), shares(right, true), f1


def calibration_error(
    probabilities: Floats,
    targets: Integers,
    decided: Integers | None = None,
) -> float:
    """Return the expected calibration error: mean distance of accuracy and confidence in bins.

    Guo, Pleiss, Sun, Weinberger, 2017, On Calibration of Modern Neural Networks, ICML, equation 3.
    """
    bins = reliability(probabilities, targets, decided=decided)
    return sum(b.n_documents * abs(b.accuracy - b.confidence) for b in bins) / len(targets)


def reliability(
    probabilities: Floats,
    targets: Integers,
    groups: Integers | None = None,
    decided: Integers | None = None,
) -> list[Bin]:
    """Group documents into bins of equal width by the probability of their predicted class.

    `decided` (D,) has the predicted classes; None stands for the most probable ones. Empty bins are
    left out.
    """
    predicted = probabilities.argmax(axis=1) if decided is None else decided
    confidence = probabilities[np.arange(len(targets)), predicted]
    right = predicted == targets
    bins = np.digitize(confidence, np.linspace(0, 1, BINS + 1)[1:-1], right=True)
    filled = []
    for i in np.unique(bins):
        these = bins == i
        means = float(confidence[these].mean()), float(right[these].mean())
        interval = accuracy_interval(right[these], None if groups is None else groups[these])
        filled.append(Bin(int(these.sum()), *means, *interval))
    return filled


def accuracy_interval(right: Flags, groups: Integers | None = None) -> tuple[float, float]:
    """Return the 95 % confidence interval of the accuracy; with groups (D,), for sampled groups."""
    worth = effective_share(right, groups)
    return share_interval(int(np.count_nonzero(right)) * worth, len(right) * worth)


def share_interval(n_right: float, n: float) -> tuple[float, float]:
    """Return the 95 % interval of a share (Wilson, 1927), which is valid for small samples too."""
    share, z2 = n_right / n, _Z**2 / n
    middle = share + z2 / 2
    half = _Z * math.sqrt(share * (1 - share) / n + z2 / (4 * n))
    low, high = (middle - half) / (1 + z2), (middle + half) / (1 + z2)
    return max(0.0, low), min(1.0, high)


def resampled_share_interval(share: float, drawn: Floats, n: float) -> tuple[float, float]:
    """Return the 95 % interval of a mean of shares by bootstrap samples of n documents, (B,).

    The center is corrected for bias (Efron and Tibshirani, 1993, An Introduction to the Bootstrap,
    chapter 10), since F1 of few documents is too low, and doubly so in samples of them. The
    interval is Wilson's for the effective number of documents, whose share would vary as the
    samples do (Korn and Graubard, as in `accuracy_interval`).
    """
    of_samples = float(drawn.mean())
    n_alike = _Z**2 * of_samples * (1 - of_samples) / resampled_half_width(drawn, n) ** 2
    low, high = share_interval(min(1.0, max(0.0, 2 * share - of_samples)) * n_alike, n_alike)
    return min(low, share), max(high, share)


def resampled_half_width(drawn: Floats, n: float) -> float:
    """Return half the width of the 95 % t interval by bootstrap samples of n documents, (B,).

    The variance of samples is too small by the factor 1 - 1 / n, which is corrected: Davison and
    Hinkley, 1997, Bootstrap Methods and their Application, chapter 2.
    """
    from scipy.special import stdtrit

    freedom = max(1.0, n - 1)
    return float(stdtrit(freedom, 0.975) * drawn.std() * math.sqrt(1 + 1 / freedom))


def mean_interval(
    values: Floats, lowest: float = -1.0, highest: float = 1.0
) -> tuple[float, float]:
    """Return the 95 % interval of the mean of values from `lowest` to `highest` (Student, 1908).

    It is NaN for fewer than three values, and if all values are equal and not 0, because then the
    variance is unknown.
    """
    from scipy.special import stdtrit

    n = len(values)
    are_alike = n > 0 and np.ptp(values) < _ALIKE and abs(values[0]) >= _ALIKE
    if n < 3 or are_alike:
        return math.nan, math.nan
    mean = float(values.mean())
    half = float(stdtrit(n - 1, 0.975) * values.std(ddof=1)) / math.sqrt(n)
    return max(lowest, mean - half), min(highest, mean + half)


def effective_share(values: NDArray[Any], groups: Integers | None) -> float:
    """Return the effective sample size per document: 1 without groups, usually less with groups.

    Korn and Graubard, 1998, Confidence intervals for proportions with small expected number of
    positive counts estimated from survey data, Survey Methodology 24. A large group pulls the mean
    toward itself: Bell and McCaffrey, 2002, Bias reduction in standard errors for linear regression
    with multi-stage samples, Survey Methodology 28.
    """
    if groups is None:
        return 1.0
    from scipy.special import stdtrit

    n, deviations = len(values), values - values.mean()
    _, group_of, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    n_groups, of_documents = effective_groups(groups), float(deviations @ deviations)
    if len(sizes) == 1 or of_documents == 0:
        return n_groups / n
    sums = np.bincount(group_of, weights=deviations)
    of_groups = float((sums**2 / (1 - sizes / n)).sum())
    alike = max(1.0, of_groups * (n - 1) / (of_documents * n))
    tails = stdtrit(n - 1, 0.975) / stdtrit(max(1.0, n_groups - 1), 0.975)
    return float(tails**2 / alike)


def effective_groups(groups: Integers) -> float:
    """Return the effective number of groups (D,): that of equally large groups as informative.

    Kish, 1965, Survey Sampling. Carter, Schnepel and Steigerwald, 2017, Asymptotic behavior of a
    t-test robust to cluster heterogeneity, Review of Economics and Statistics 99, have the same
    number for documents that are no more alike within groups than between them.
    """
    sizes = np.unique(groups, return_counts=True)[1]
    return float(sizes.sum() ** 2 / (sizes**2).sum())


def difference_interval(
    right: Flags,
    right_of_other: Flags,
    groups: Integers | None = None,
) -> tuple[float, float]:
    """Return the 95 % interval of the difference of two accuracies on the same documents.

    Agresti and Min, 2005, Simple improved confidence intervals for comparing matched proportions,
    Statistics in Medicine 24: half a document is added to each kind of discordant documents, which
    exactly one of both models has right.
    """
    worth = effective_share(right.astype(np.float64) - right_of_other, groups)
    n = len(right) * worth + 2
    ours = int(np.count_nonzero(right & ~right_of_other)) * worth + 0.5
    theirs = int(np.count_nonzero(right_of_other & ~right)) * worth + 0.5
    difference = (ours - theirs) / n
    half = _Z * math.sqrt(max(0.0, ours + theirs - (ours - theirs) ** 2 / n)) / n
    return max(-1.0, difference - half), min(1.0, difference + half)
