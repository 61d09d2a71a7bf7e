"""What a fit has come to, as a summary and as warnings."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from sk_han.fitting.context import FitContext
from sk_han.fitting.data import FitData
from sk_han.fitting.scales import Scaled, UnseenLogits
from sk_han.inspection.results.fit_summary import FitSummary
from sk_han.parts.pool import NETWORK
from sk_han.targets import Target
from sk_han.training.history import best_of, end_of
from sk_han.training.net import Net
from sk_han.utils.warnings import warn_user

__all__ = ["summary_of", "warn_of_a_useless_network"]

# Fewer tell too little: of 50, one is 2 %.
_ENOUGH_TO_TELL = 50
# With fewer documents read in all epochs together, nothing was expected of the network.
_ENOUGH_READ = 1_000
_COUNTS_FOR_NOTHING = 0.02


def summary_of(scaled: Scaled, data: FitData, context: FitContext) -> FitSummary:
    """Sum up a fit.

    Parameters
    ----------
    scaled : Scaled
    data : FitData
    context : FitContext

    Returns
    -------
    FitSummary
    """
    net = scaled.pool.network.net
    return FitSummary(
        n_documents=len(data.labelled),
        n_classes=data.n_classes,
        n_conflicting=data.n_conflicting,
        n_epochs=len(net.history),
        kept_epoch=best_of(net)["best_epoch_"],
        ended="one portion" if context.is_portion else end_of(net),
        **_scores(scaled, data.target),
        seconds=dict(context.stages.seconds),
        total_seconds=context.stages.total,
    )


def warn_of_a_useless_network(summary: FitSummary, scaled: Scaled) -> None:
    """Warn if the network tells nothing of documents that it has not learnt from.

    Parameters
    ----------
    summary : FitSummary
    scaled : Scaled

    Warns
    -----
    ConvergenceWarning
        If in no epoch it is better than the class frequencies, by accuracy or by loss, or counts
        for nothing beside the linear models. Fewer than 50 held-out documents do not tell, nor
        does a trial: a single epoch, or fewer than 1,000 documents in all epochs together. If all
        held-out documents have one class, no model can be better than its frequency, and only the
        second is told.
    """
    net, unseen, target = scaled.pool.network.net, scaled.unseen, scaled.pool.target
    if unseen is None or summary.n_classes == 1 or summary.n_scored < _ENOUGH_TO_TELL:
        return
    n_epochs = len(net.history)
    if n_epochs == 1 or n_epochs * summary.n_documents < _ENOUGH_READ:  # a trial
        return
    majority = summary.majority_accuracy
    share = summary.shares.get(NETWORK, 1.0)
    if majority is not None and not _ever_beats(net, unseen, target, majority):
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


def _scores(scaled: Scaled, target: Target) -> dict[str, Any]:
    """Return accuracy and loss of all parts together and alone, and the share of each learner."""
    names = ("accuracy", "loss", "network_accuracy", "linear_accuracy", "majority_accuracy")
    unseen = scaled.unseen
    if unseen is None or None in scaled.factors:
        return {"n_scored": 0, **dict.fromkeys(names), "shares": {}}
    factors = np.array(scaled.factors, dtype=np.float64)
    logits = factors[:, np.newaxis, np.newaxis] * unseen.of_learners  # (L, H, K)
    together = sum(logits, start=np.zeros_like(logits[0]))
    loss, _ = target.loss(together, unseen.targets, unseen.weights / unseen.weights.sum())
    sizes = {
        title: float(np.abs(each - each.mean(axis=1, keepdims=True)).mean())
        for title, each in zip(scaled.titles, logits, strict=True)
    }
    whole = sum(sizes.values())
    network, *others = unseen.of_learners
    return {
        "n_scored": len(unseen.targets),
        "accuracy": target.accuracy(together, unseen.targets),
        "loss": loss,
        "network_accuracy": target.accuracy(network, unseen.targets),
        "linear_accuracy": target.accuracy(others[0], unseen.targets) if others else None,
        "majority_accuracy": target.majority_accuracy(unseen.targets),
        "shares": {title: size / whole for title, size in sizes.items()} if whole else {},
    }


def _ever_beats(net: Net, unseen: UnseenLogits, target: Target, majority: float) -> bool:
    """Return whether an epoch was better than class frequencies, by accuracy or by loss.

    The loss is weighted, as the network was trained: so are the frequencies.
    """
    of_frequencies = target.loss_of_frequencies(unseen.targets, unseen.weights)
    return majority == 1.0 or any(
        epoch["valid_accuracy"] > majority or epoch["valid_loss"] < of_frequencies
        for epoch in net.history
    )
