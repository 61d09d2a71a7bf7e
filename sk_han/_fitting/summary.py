"""The summary of a fit, its reference statistics, and warnings about a failed training."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from sk_han._documents import UNKNOWN_ID, DocumentArray, LabelledDocuments
from sk_han._fitting.data import FitState
from sk_han._fitting.scales import FittedNgrams, ScaledParts
from sk_han._model.class_mix import Reference, confidences, unknown_shares
from sk_han._model.fit_summary import SCORES
from sk_han._model.fitted_model import FEWEST_SCORES
from sk_han._model.novelty import Novelty, calibrated_novelty, novelty_terms
from sk_han._parts.pool import NETWORK, Pool
from sk_han._targets import Target
from sk_han._targets.splits import folds_of
from sk_han._training.builder import best_epoch, stop_reason
from sk_han._utils.containers import Floats, Integers
from sk_han._utils.messages import warn_user
from sk_han._utils.metrics import averages

# The network is judged only if this many documents are held out, of which one is 2 %.
_FEWEST_SCORED = 50
# It is judged only after it has read this many documents, counted over all epochs.
_FEWEST_READ = 1_000
_NEGLIGIBLE_SHARE = 0.02
# A sample of the training documents is enough to find out whether training failed.
_MOST_READ = 1000
# The gain over class frequencies, in nats, below which a model may be no better than chance.
_CHANCE_GAIN = 0.5
# The out-of-vocabulary rate is measured on a sample of the training documents.
_MOST_COUNTED = 5_000
# The smallest share of a class, which avoids a division by 0.
_RAREST = 1e-9
# The parameters that may be at fault, which the warning advises to set back to their defaults.
_TRAINING = "lr", "max_epochs", "batch_size", "optimizer", "lr_schedule", "dropout", "word_dropout"
# The loss above that of a uniform guess at which training has failed. It is up to 0.3 after one
# epoch on few documents, below 0 with random labels, 0.6 at lr=10 and 10 at lr=100.
_MARGIN = 0.5


def summarize_fit(scaled: ScaledParts, fit: FitState) -> dict[str, Any]:
    """Return the entries of `FitSummary` for a fit."""
    net = scaled.pool.network.net
    return dict(
        n_documents=len(fit.labelled),
        n_classes=fit.n_classes,
        n_conflicting=fit.n_conflicting,
        n_epochs=len(net.history),
        kept_epoch=best_epoch(net)["best_epoch_"],
        ended="one portion" if fit.is_partial else stop_reason(net),
        **_scores(scaled, fit),
        seconds=dict(fit.stages.seconds),
        total_seconds=fit.stages.total,
        several_labels=not fit.target.has_one_label,
        is_number=fit.target.is_number,
        columns=fit.column_descriptions,
        cuts=fit.stages.cuts,
    )


def reference_statistics(scaled: ScaledParts, fit: FitState) -> Reference:
    """Return the numbers of a fit with which later documents are compared."""
    labelled, target, validation = fit.labelled, fit.target, scaled.validation
    shares = target.mean_of(target.soft(labelled.targets), labelled.targets, labelled.weights)
    reference = Reference(shares, shares, 0.0, np.zeros(2), _unknown_words(fit))
    if validation is None or scaled.logits is None:
        return reference
    w, p = validation.weights, target.probabilities(scaled.together)
    confident = confidences(p, target)
    if fit.user_validation is not None and target.has_one_label:  # perhaps of another mix
        labels = target.soft(validation.targets)
        w = w * (labels @ (shares / target.mean_of(labels, validation.targets, w).clip(_RAREST)))
    return reference._replace(
        predicted=target.mean_of(p, validation.targets, w),
        n_held_out=float(w.sum() ** 2 / (w @ w)),
        confidence=_mean_and_variance(confident, w),
    )


def novelty_of(scaled: ScaledParts, fit: FitState, reference: Reference) -> Novelty | None:
    """Return the novelty scores of documents that no part has learnt from, if there are enough."""
    data = fit.user_validation if fit.held_out is None else fit.labelled[fit.held_out]
    if data is None or scaled.rows is None or len(scaled.rows) < FEWEST_SCORES:
        return None
    data = data[scaled.rows]
    p = scaled.pool.target.probabilities(scaled.together)
    terms = novelty_terms(p, data.documents, scaled.pool)
    if fit.held_out is not None:  # vocabulary and center have seen them
        terms[1] = _left_out_shares(data.documents.words(), fit, data.groups)
        terms[2] *= len(fit.labelled) / (len(fit.labelled) - 1)
    return calibrated_novelty(terms, data.documents, *reference.unknown[1:])


def _mean_and_variance(values: NDArray[np.float64], w: NDArray[np.float64]) -> NDArray[np.float64]:
    mean = np.average(values, weights=w)
    return np.array([mean, np.average((values - mean) ** 2, weights=w)])


def _unknown_words(fit: FitState) -> NDArray[np.float64]:
    """Return the number of documents, and the mean and variance of their out-of-vocabulary rate.

    The rate leaves out a group at a time, which is a document or its copies without groups: a word
    counts as unknown if, without its group, it would be rarer than the rarest word of the
    vocabulary. A warm start keeps its vocabulary, and thus the earlier result.
    """
    earlier = None if fit.warm_start_from is None else fit.warm_start_from.reference
    if earlier is not None:
        return earlier.unknown
    documents = fit.labelled.documents.words()
    # Groups are sampled as a whole, since their documents are left out together.
    groups = fit.labelled.groups
    group = (
        np.arange(len(documents)) if groups is None else np.unique(groups, return_inverse=True)[1]
    )
    n_groups, share = group.max() + 1, min(1.0, _MOST_COUNTED / len(documents))
    drawn = np.linspace(0, n_groups - 1, max(int(share * n_groups), 1)).astype(np.int64)
    rows = np.flatnonzero(np.isin(group, drawn))
    shares_unknown = _left_out_shares(documents[rows], fit, group[rows])
    return np.array([len(shares_unknown), shares_unknown.mean(), shares_unknown.var()])


def _left_out_shares(documents: DocumentArray, fit: FitState, groups: Integers | None) -> Floats:
    """Return the share of unknown words of labelled documents, each left out of the vocabulary.

    Documents of a group are left out together.
    """
    totals = np.bincount(fit.text[0].word_ids, minlength=fit.vocabulary_size)
    is_fixed = getattr(fit.tokenizer, "vocabulary", None) is not None
    least = 0 if is_fixed else totals[2:].min(initial=totals.sum())
    lengths = documents.words_per_document
    left_out = np.arange(len(lengths)) if groups is None else groups
    keys = np.repeat(left_out, lengths) * len(totals) + documents.word_ids
    _, place, counts = np.unique(keys, return_inverse=True, return_counts=True)
    elsewhere = totals[documents.word_ids] - counts[place]
    is_unknown = (documents.word_ids == UNKNOWN_ID) | (elsewhere < least)
    return unknown_shares(documents, is_unknown)


def warn_of_useless_network(
    estimator: Any, summary: dict[str, Any], scaled: ScaledParts, fit: FitState
) -> None:
    """Warn if the model is no better than chance, or if its network is useless."""
    chance = _chance_in_validation(summary, scaled, fit)
    fault = chance or _fault_in_training(scaled.pool, fit.training_data)
    fault = fault or fault_in_validation(summary, scaled)
    if fault is None:
        return
    decides = (
        " The other parts decide, and attention says nothing about the prediction."
        if len(summary["shares"]) > 1 and chance is None
        else ""
    )
    defaults, params = type(estimator)().get_params(deep=False), vars(fit.params)
    changed = [
        f"{name}={params[name]!r} (by default {defaults[name]!r})"
        for name in _TRAINING
        if params[name] != defaults[name]
    ]
    repair = f"Set {', '.join(changed)} back, give" if changed else "Give"
    warn_user(
        f"The {'network is useless' if chance is None else 'model is no better than chance'}: "
        f"{fault}.{decides} {repair} more documents, or check that labels belong to their "
        "documents; fit_summary_ has the numbers.",
        ConvergenceWarning,
    )


def _chance_in_validation(
    summary: dict[str, Any], scaled: ScaledParts, fit: FitState
) -> str | None:
    """Describe a model that is no better than chance on 50 or more held-out documents.

    Its total log-likelihood is less than half a nat above that of the class frequencies of the
    training documents, and its accuracy less than two standard errors (1 / sqrt(n)) above that of
    the majority class. This found 68 of 80 fits with shuffled labels, to 500 and 1,000 documents of
    five corpora, and none of 80 fits with the true labels, whose gain is 1 to 169 nats.
    """
    validation, majority, n = scaled.validation, summary["majority_accuracy"], summary["n_scored"]
    if validation is None or majority is None or _is_trial(summary, scaled) or majority == 1.0:
        return None
    labelled, target = fit.labelled, fit.target
    share = target.mean_of(target.soft(labelled.targets), labelled.targets, labelled.weights)
    z = target.scores_of_shares(share.clip(1e-12, 1 - 1e-7))
    weights = validation.weights / validation.weights.sum()
    losses, _ = target.loss(np.tile(z, (n, 1)), validation.targets, weights)
    of_frequencies = losses.sum()
    accuracy, loss = summary["accuracy"], summary["loss"]
    gain, further = n * (of_frequencies - loss), accuracy - majority
    if gain >= _CHANCE_GAIN or further >= n**-0.5:
        return None
    return (
        f"on {n:,} held-out documents its accuracy is {accuracy:.3f}, and that of always "
        f"predicting the most frequent {_guess(summary)} {majority:.3f}; its loss is "
        f"{loss:.3f}, and that of the class frequencies {of_frequencies:.3f}"
    )


def _is_trial(summary: dict[str, Any], scaled: ScaledParts) -> bool:
    """Return whether there are too few training or held-out documents to judge the fit."""
    n_epochs = len(scaled.pool.network.net.history)
    return (
        summary["n_classes"] == 1
        or summary["n_scored"] < _FEWEST_SCORED
        or n_epochs == 1
        or n_epochs * summary["n_documents"] < _FEWEST_READ
    )


def _guess(summary: dict[str, Any]) -> str:
    return "set of labels" if summary["several_labels"] else "class"


def _fault_in_training(pool: Pool, training: LabelledDocuments) -> str | None:
    """Describe a training loss that is well above the loss of a uniform guess."""
    target = pool.target
    rows = np.linspace(0, len(training) - 1, min(len(training), _MOST_READ)).astype(np.int64)
    sample = training[rows]
    logits = pool.network.net.outputs(sample.documents).astype(np.float64)
    losses, _ = target.loss(logits, sample.targets, sample.weights / sample.weights.sum())
    loss = losses.sum()
    uniform, _ = target.loss(np.zeros_like(logits), sample.targets, sample.weights)
    if loss <= uniform.sum() / sample.weights.sum() + _MARGIN:
        return None
    of_frequencies = target.prior_loss(sample.targets, sample.weights)
    return (
        f"on its training documents its loss is {loss:.3g}, and that of the class frequencies "
        f"alone {of_frequencies:.3g}"
    )


def fault_in_validation(summary: dict[str, Any], scaled: ScaledParts) -> str | None:
    """Describe how the network fails on held-out documents, if there are enough to judge it.

    It fails if no epoch is better than the class frequencies, in accuracy or in loss, or if its
    share next to the linear models is negligible.
    """
    net, validation, target = scaled.pool.network.net, scaled.validation, scaled.pool.target
    if validation is None or _is_trial(summary, scaled):
        return None
    majority = summary["majority_accuracy"]
    # If all documents are of one class, no model can beat the majority.
    if majority is not None and majority < 1.0:
        of_frequencies = target.prior_loss(validation.targets, validation.weights)
        if not any(
            epoch["valid_accuracy"] > majority or epoch["valid_loss"] < of_frequencies
            for epoch in net.history
        ):
            n_epochs, n = len(net.history), summary["n_scored"]
            return (
                f"in none of its {n_epochs} epochs was it better on {n:,} held-out "
                f"documents than always predicting the most frequent {_guess(summary)} "
                f"({majority:.3f})"
            )
    share = summary["shares"].get(NETWORK, 1.0)
    if summary["shares"] and share < _NEGLIGIBLE_SHARE:
        return f"its share of the log-odds of held-out documents is {100 * share:.1f} %"
    return None


def _scores(scaled: ScaledParts, fit: FitState) -> dict[str, Any]:
    """Return the accuracy and loss of the ensemble and of its parts, and the share of each part.

    The ensemble decides as the fitted model does; a part alone decides by thresholds of 0.5. The
    loss is the weighted training loss.
    """
    validation, logits, unscaled = scaled.validation, scaled.logits, scaled.unscaled
    if validation is None or logits is None or unscaled is None:
        return {"n_scored": 0, **dict.fromkeys(SCORES), "shares": {}}
    targets, weights, together = validation.targets, validation.weights, scaled.together
    losses, _ = fit.target.loss(together, targets, weights / weights.sum())
    sizes = {
        parts.title: float(np.abs(fit.target.center_scores(z)).mean())
        for parts, z in zip(scaled.fitted, logits, strict=True)
    }
    total = sum(sizes.values())
    pairs = zip(unscaled, scaled.fitted, strict=True)
    linear = [z for z, parts in pairs if isinstance(parts, FittedNgrams)]
    alone = fit.target.with_decisions(0.5, (targets, weights), None)
    decided = decisions(together, validation, fit)
    scores = {
        "n_scored": len(targets),
        "loss": float(losses.sum()),
        "shares": {title: size / total for title, size in sizes.items()} if total else {},
    }
    if fit.target.is_number:
        return (
            dict.fromkeys(SCORES)
            | scores
            | {
                "r2": alone.accuracy(together, targets),
                "mean_absolute_error": float(np.abs(decided - targets).mean()),
                "network_r2": alone.accuracy(unscaled[0], targets),
                "linear_r2": alone.accuracy(linear[0], targets) if linear else None,
            }
        )
    return (
        dict.fromkeys(SCORES)
        | scores
        | {
            "network_accuracy": alone.accuracy(unscaled[0], targets),
            "linear_accuracy": alone.accuracy(linear[0], targets) if linear else None,
            "majority_accuracy": float(np.bincount(fit.target.codes(targets)).max() / len(targets)),
            **_decision_scores(scaled.pool.target, decided, targets),
        }
    )


def decisions(z: NDArray[np.float64], validation: LabelledDocuments, fit: FitState) -> NDArray[Any]:
    """Decide as the fitted model does, (H,); "f1" thresholds are chosen on other folds."""
    target, threshold = fit.target, fit.params.threshold
    decided, order = np.empty_like(validation.targets), np.arange(len(z))
    labelled = fit.labelled.targets, fit.labelled.weights
    folds = [order]
    if isinstance(threshold, str):
        order = np.random.RandomState(0).permutation(len(z))
        groups = None if validation.groups is None else validation.groups[order]
        folds = [order[fold] for fold in folds_of(target.strata(validation.targets[order]), groups)]
    for fold in folds:
        others = np.setdiff1d(order, fold) if len(fold) < len(z) else fold
        unseen = z[others], validation.targets[others], validation.weights[others]
        decided[fold] = target.with_decisions(threshold, labelled, unseen).decide(z[fold])
    return decided


def _decision_scores(
    target: Target, decided: NDArray[Any], targets: NDArray[Any]
) -> dict[str, Any]:
    """Return the accuracy, macro F1, and the class with the lowest recall."""
    predicted, true = target.soft(decided) > 0.5, target.soft(targets) > 0.5  # (H, K)
    n_true = true.sum(axis=0)
    recalls = np.where(n_true > 0, (predicted & true).sum(axis=0) / np.maximum(n_true, 1), np.inf)
    worst = int(recalls.argmin())
    scores: dict[str, Any] = {
        "accuracy": float((predicted == true).all(axis=1).mean()),
        "macro_f1": averages(predicted, true)["macro_f1"],
    }
    if n_true[worst]:
        scores |= {
            "worst_class": str(target.names[worst]),
            "worst_recall": float(recalls[worst]),
            "n_worst": int(n_true[worst]),
        }
    return scores
