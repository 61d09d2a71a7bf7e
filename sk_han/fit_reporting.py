"""What a fit has come to, as a summary and as warnings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from sk_han.inspection.results.fit_summary import FitSummary
from sk_han.parts.ngrams.stacking import LinearParts
from sk_han.training.history import best_of, end_of
from sk_han.training.net import Net
from sk_han.utils.softmax import log_softmax
from sk_han.utils.warnings import warn_user

if TYPE_CHECKING:
    from sk_han.network_fitting import Fit

__all__ = ["HeldOutLogits", "fit_summary", "held_out_logits", "warn_of_a_useless_network"]

# Fewer tell too little: of 50, one is 2 %.
_ENOUGH_TO_TELL = 50
# With fewer documents read in all epochs together, nothing was expected of the network.
_ENOUGH_READ = 1_000
_COUNTS_FOR_NOTHING = 0.02


class HeldOutLogits(NamedTuple):
    """Logits of H documents by models that have not learnt from them.

    Attributes
    ----------
    network : ndarray of float64, shape (H, C)
    linear : ndarray of float64, shape (H, C), or None
        Sum of the scaled logits of the linear models; None without them.
    targets : ndarray of int64, shape (H,)
    weights : ndarray of float64, shape (H,)
    """

    network: NDArray[np.float64]
    linear: NDArray[np.float64] | None
    targets: NDArray[np.int64]
    weights: NDArray[np.float64]


def held_out_logits(
    fit: Fit, net: Net, parts: LinearParts, scored: NDArray[np.float64] | None
) -> HeldOutLogits | None:
    """Score the documents that the network has not learnt from.

    Parameters
    ----------
    fit : Fit
    net : Net
        Trained.
    parts : LinearParts
    scored : ndarray of shape (H, C) or None
        Logits of the held-out documents from linear models that have not learnt from them; rows of
        NaN are left out. None if `parts` have not, or if there are none.

    Returns
    -------
    HeldOutLogits or None
        None if there is no document that neither of them has learnt from.
    """
    validation = fit.given.validation
    if validation is None:
        return None
    linear = None
    if parts.models:
        if scored is None and fit.given.given_validation is None:
            return None  # a latent model of an earlier fit may know them
        linear = parts.logits(validation.documents) if scored is None else scored
        known = ~np.isnan(linear[:, 0])
        if not known.any():
            return None
        validation, linear = validation[known], linear[known]
    logits = net.logits(validation.documents).astype(np.float64)
    return HeldOutLogits(logits, linear, validation.targets, validation.weights)


def fit_summary(
    fit: Fit,
    net: Net,
    parts: LinearParts,
    unseen: HeldOutLogits | None,
    network_scale: float,
    linear_scale: float | None,
) -> FitSummary:
    """Sum up a fit.

    Parameters
    ----------
    fit : Fit
    net : Net
    parts : LinearParts
    unseen : HeldOutLogits or None
    network_scale : float
    linear_scale : float or None
        Factor of the linear models' logits in `unseen`; None if they have no common one.

    Returns
    -------
    FitSummary
    """
    data = fit.given.data
    n_epochs = len(net.history)
    return FitSummary(
        n_documents=len(data),
        n_classes=fit.given.n_classes,
        n_conflicting=fit.given.n_conflicting,
        n_epochs=n_epochs,
        kept_epoch=best_of(net)["best_epoch_"],
        ended="one portion" if fit.one_epoch else end_of(net),
        **_scores(parts, None if linear_scale is None else unseen, network_scale, linear_scale),
        seconds=dict(fit.stages.seconds),
        total_seconds=fit.stages.total,
    )


def warn_of_a_useless_network(summary: FitSummary, net: Net, unseen: HeldOutLogits | None) -> None:
    """Warn if the network tells nothing of documents that it has not learnt from.

    Parameters
    ----------
    summary : FitSummary
    net : Net
    unseen : HeldOutLogits or None

    Warns
    -----
    ConvergenceWarning
        If in no epoch it is better than the class frequencies, by accuracy or by loss, or counts
        for nothing beside the linear models. Fewer than 50 held-out documents do not tell, nor
        does a trial: a single epoch, or fewer than 1,000 documents in all epochs together. If all
        held-out documents have one class, no model can be better than its frequency, and only the
        second is told.
    """
    if unseen is None or summary.n_classes == 1 or summary.n_scored < _ENOUGH_TO_TELL:
        return
    n_epochs = len(net.history)
    if n_epochs == 1 or n_epochs * summary.n_documents < _ENOUGH_READ:  # a trial
        return
    majority = summary.majority_accuracy
    share = summary.shares.get("network", 1.0)
    if majority is not None and not _ever_beats(net, unseen, majority):
        what = (
            f"The network tells nothing: in none of its {summary.n_epochs} epochs was it better on "
            f"{summary.n_scored:,} held-out documents than always predicting the most frequent "
            f"class ({majority:.3f})"
        )
    elif summary.shares and share < _COUNTS_FOR_NOTHING:
        what = (
            "The network counts for nothing: its share of the log-odds of held-out documents is "
            f"{100 * share:.1f} %"
        )
    else:
        return
    decides = (
        " The linear models decide, and attention says nothing of the prediction."
        if len(summary.shares) > 1
        else ""
    )
    warn_user(
        f"{what}.{decides} Give more documents, check that labels belong to their documents, or "
        "change lr and max_epochs; fit_summary_ has the numbers.",
        ConvergenceWarning,
    )


def _scores(
    parts: LinearParts,
    unseen: HeldOutLogits | None,
    network_scale: float,
    linear_scale: float | None,
) -> dict[str, Any]:
    """Return accuracy and loss of all parts together and alone, and the share of each."""
    names = ("accuracy", "loss", "network_accuracy", "linear_accuracy", "majority_accuracy")
    if unseen is None:
        return {"n_scored": 0, **dict.fromkeys(names), "shares": {}}
    n = len(unseen.targets)
    scaled = {"network": network_scale * unseen.network}
    if unseen.linear is not None and linear_scale is not None:
        scaled[_linear_name(parts)] = linear_scale * unseen.linear
    together = sum(scaled.values(), start=np.zeros_like(unseen.network))
    losses = -log_softmax(together)[np.arange(n), unseen.targets]
    sizes = {
        name: float(np.abs(logits - logits.mean(axis=1, keepdims=True)).mean())
        for name, logits in scaled.items()
    }
    whole = sum(sizes.values())
    return {
        "n_scored": n,
        "accuracy": _accuracy(together, unseen.targets),
        "loss": float(np.average(losses, weights=unseen.weights)),
        "network_accuracy": _accuracy(unseen.network, unseen.targets),
        "linear_accuracy": None
        if unseen.linear is None
        else _accuracy(unseen.linear, unseen.targets),
        "majority_accuracy": float(np.bincount(unseen.targets).max() / n),
        "shares": {name: size / whole for name, size in sizes.items()} if whole else {},
    }


def _linear_name(parts: LinearParts) -> str:
    return {
        (True, True): "n-gram and latent model",
        (True, False): "n-gram model",
        (False, True): "latent model",
    }[parts.kinds]


def _accuracy(logits: NDArray[np.float64], targets: NDArray[np.int64]) -> float:
    return float((logits.argmax(axis=1) == targets).mean())


def _ever_beats(net: Net, unseen: HeldOutLogits, majority: float) -> bool:
    """Return whether an epoch was better than class frequencies, by accuracy or by loss.

    The loss is weighted, as the network was trained: so are the frequencies.
    """
    frequencies = np.bincount(unseen.targets, unseen.weights) / unseen.weights.sum()
    frequencies = frequencies[frequencies > 0]
    of_frequencies = -float(frequencies @ np.log(frequencies))
    return majority == 1.0 or any(
        epoch["valid_accuracy"] > majority or epoch["valid_loss"] < of_frequencies
        for epoch in net.history
    )
