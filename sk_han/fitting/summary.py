"""What a fit has come to, as a summary and as warnings."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from sk_han.documents import LabelledDocuments
from sk_han.fitting.context import FitContext
from sk_han.fitting.data import FitData
from sk_han.fitting.logit_scales import Scaled, UnseenLogits
from sk_han.inspection.results.fit_summary import FitSummary
from sk_han.parts.pool import NETWORK, WORDS, Pool
from sk_han.targets import Target
from sk_han.training.history import best_of, end_of
from sk_han.training.net import Net
from sk_han.utils.messages import warn_user
from sk_han.utils.metrics import averages

# Fewer tell too little: of 50, one is 2 %.
_ENOUGH_TO_TELL = 50
# With fewer documents read in all epochs together, nothing was expected of the network.
_ENOUGH_READ = 1_000
_COUNTS_FOR_NOTHING = 0.02
_MOST_READ = 1000
# After a single epoch of a few documents the loss is up to 0.3 above that of a guess that takes all
# classes for alike, with labels drawn at random below it; with lr=10 it is 0.6 above, with 100 10.
_MARGIN = 0.5


def summary_of(scaled: Scaled, data: FitData, context: FitContext) -> FitSummary:
    """Sum up a fit."""
    net = scaled.pool.network.net
    return FitSummary(
        n_documents=len(data.labelled),
        n_classes=data.n_classes,
        n_conflicting=data.n_conflicting,
        n_epochs=len(net.history),
        kept_epoch=best_of(net)["best_epoch_"],
        ended="one portion" if context.is_portion else _end_of(scaled.pool),
        **_scores(scaled, data, context.settings.threshold),
        seconds=dict(context.stages.seconds),
        total_seconds=context.stages.total,
        several_labels=not data.target.has_one_label,
    )


def _end_of(pool: Pool) -> str:
    """Return why training ended; of two networks what ended one before its time."""
    parts: dict[str, Any] = dict(pool.parts)
    nets = [parts[name].net for name in (NETWORK, WORDS) if name in parts]
    return next((net.ended_by for net in nets if net.ended_by is not None), end_of(nets[0]))


def warn_of_a_useless_network(
    summary: FitSummary, scaled: Scaled, training: LabelledDocuments, lr: float
) -> None:
    """Warn if the network tells nothing of its training documents, or nothing of others."""
    found = _fault_in_training(scaled, training) or fault_in_unseen(summary, scaled)
    if found is None:
        return
    decides = (
        " The other parts decide, and attention says nothing of the prediction."
        if len(summary.shares) > 1
        else ""
    )
    warn_user(
        f"The network tells nothing: {found}.{decides} Lower lr={lr:g} (by default 0.006), train "
        "for more epochs, give more documents, or check that labels belong to their documents; "
        "fit_summary_ has the numbers.",
        ConvergenceWarning,
    )


def _fault_in_training(scaled: Scaled, training: LabelledDocuments) -> str | None:
    """Return by what a blind guess tells much more of up to 1,000 training documents."""
    net, target = scaled.pool.network.net, scaled.pool.target
    rows = np.linspace(0, len(training) - 1, min(len(training), _MOST_READ)).astype(np.int64)
    some = training[rows]
    logits = net.logits(some.documents).astype(np.float64)
    losses, _ = target.loss(logits, some.targets, some.weights / some.weights.sum())
    loss = losses.sum()
    if loss <= target.loss_of_nothing() + _MARGIN:
        return None
    of_frequencies = target.loss_of_frequencies(some.targets, some.weights)
    return (
        f"on its training documents its loss is {loss:.3g}, and that of the class frequencies "
        f"alone {of_frequencies:.3g}"
    )


def fault_in_unseen(summary: FitSummary, scaled: Scaled) -> str | None:
    """Return by what the network tells nothing of held-out documents.

    In no epoch is it better than the class frequencies, by accuracy or by loss, or it counts for
    nothing beside the linear models. Few documents do not tell, nor does a trial.
    """
    net, unseen, target = scaled.pool.network.net, scaled.unseen, scaled.pool.target
    if unseen is None or summary.n_classes == 1 or summary.n_scored < _ENOUGH_TO_TELL:
        return None
    n_epochs = len(net.history)
    if n_epochs == 1 or n_epochs * summary.n_documents < _ENOUGH_READ:  # a trial
        return None
    majority = summary.majority_accuracy
    if majority is not None and not _ever_beats(net, unseen, target, majority):
        guess = "set of labels" if summary.several_labels else "class"
        return (
            f"in none of its {summary.n_epochs} epochs was it better on {summary.n_scored:,} "
            f"held-out documents than always predicting the most frequent {guess} ({majority:.3f})"
        )
    share = summary.shares.get(NETWORK, 1.0)
    if summary.shares and share < _COUNTS_FOR_NOTHING:
        return f"its share of the log-odds of held-out documents is {100 * share:.1f} %"
    return None


def _scores(scaled: Scaled, data: FitData, threshold: Any) -> dict[str, Any]:
    """Return accuracy and loss of all parts together and alone, and the share of each learner.

    Decisions of all together are those of the fitted model, and thresholds of a part alone one
    half. The loss, with its weights, is that of training.
    """
    target, trained = scaled.pool.target, data.target
    names = ("accuracy", "loss", "network_accuracy", "linear_accuracy", "majority_accuracy")
    unseen, logits = scaled.unseen, scaled.unseen_logits
    if unseen is None or logits is None:
        return {"n_scored": 0, **dict.fromkeys(names), "shares": {}}
    together = logits.sum(axis=0)
    losses, _ = trained.loss(together, unseen.targets, unseen.weights / unseen.weights.sum())
    sizes = {
        of.title: float(np.abs(each - each.mean(axis=1, keepdims=True)).mean())
        for of, each in zip(scaled.learnt, logits, strict=True)
    }
    whole = sum(sizes.values())
    network, *_ = unseen.of_learners
    found = zip(unseen.of_learners, scaled.learnt, strict=True)
    linear = [logits for logits, of in found if not of.is_network]
    alone = trained.with_decisions(0.5, (unseen.targets, unseen.weights), None)
    return {
        "n_scored": len(unseen.targets),
        "loss": float(losses.sum()),
        "network_accuracy": alone.accuracy(network, unseen.targets),
        "linear_accuracy": alone.accuracy(linear[0], unseen.targets) if linear else None,
        "majority_accuracy": target.majority_accuracy(unseen.targets),
        "shares": {title: size / whole for title, size in sizes.items()} if whole else {},
        **_of_decisions(target, _decided(together, unseen, data, threshold), unseen.targets),
    }


def _decided(
    z: NDArray[np.float64], unseen: UnseenLogits, data: FitData, threshold: Any
) -> NDArray[Any]:
    """Decide as the fitted model, but each fold by thresholds of F1 found on the others, (H,)."""
    target, found = data.target, np.empty_like(unseen.targets)
    labelled, order = (data.labelled.targets, data.labelled.weights), np.arange(len(z))
    folds = [order]
    if isinstance(threshold, str):
        order = np.random.RandomState(0).permutation(len(z))
        groups = None if unseen.groups is None else unseen.groups[order]
        folds = [order[fold] for fold in target.folds(unseen.targets[order], groups)]
    for fold in folds:
        others = np.setdiff1d(order, fold) if len(fold) < len(z) else fold
        known = z[others], unseen.targets[others], unseen.weights[others]
        found[fold] = target.with_decisions(threshold, labelled, known).decide(z[fold])
    return found


def _of_decisions(target: Target, decided: NDArray[Any], targets: NDArray[Any]) -> dict[str, Any]:
    """Return accuracy, macro F1, and the class of the lowest recall among those of documents."""
    given, true = target.soft(decided) > 0.5, target.soft(targets) > 0.5  # (H, K)
    n_true = true.sum(axis=0)
    recalls = np.where(n_true > 0, (given & true).sum(axis=0) / np.maximum(n_true, 1), np.inf)
    worst = int(recalls.argmin())
    found: dict[str, Any] = {
        "accuracy": float((given == true).all(axis=1).mean()),
        "macro_f1": averages(given, true)["macro_f1"],
    }
    if n_true[worst]:
        found |= {
            "worst_class": str(target.names[worst]),
            "worst_recall": float(recalls[worst]),
            "n_worst": int(n_true[worst]),
        }
    return found


def _ever_beats(net: Net, unseen: UnseenLogits, target: Target, majority: float) -> bool:
    """Return whether an epoch was better than class frequencies, by accuracy or by weighted loss.

    Of a single class none can be.
    """
    of_frequencies = target.loss_of_frequencies(unseen.targets, unseen.weights)
    return majority == 1.0 or any(
        epoch["valid_accuracy"] > majority or epoch["valid_loss"] < of_frequencies
        for epoch in net.history
    )
