"""One fit of a HANClassifier: from the user's data to the fitted attributes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from sk_han.checkpoints.fingerprint import data_fingerprint, settings_fingerprint
from sk_han.checkpoints.fit_checkpoints import FitCheckpoints
from sk_han.fit_data import FitData, fit_data
from sk_han.fit_reporting import (
    HeldOutLogits,
    fit_summary,
    held_out_logits,
    warn_of_a_useless_network,
)
from sk_han.network_fitting import Fit, TrainedNetwork, network_training
from sk_han.parts.calibration import fit_scales, fit_scales_near
from sk_han.parts.ngrams.latent import LatentSpace, fit_latent_space
from sk_han.parts.ngrams.memory import check_memory_of_linear_model
from sk_han.parts.ngrams.stacking import LinearParts, fit_linear_parts, partial_fit_linear_parts
from sk_han.training.callbacks.sklearn_callbacks import FitTasks
from sk_han.training.data_parallel import Ranks, next_number, with_ranks
from sk_han.training.devices import resolve_device
from sk_han.training.history import training_attributes
from sk_han.training.outcome import warned_that_nothing_is_learnt
from sk_han.utils.progress import tell
from sk_han.utils.stages import Stages

if TYPE_CHECKING:
    from sk_han.classifier import HANClassifier

__all__ = ["fitted_attributes", "linear_parts_of"]

# Of processes that train together.
_RANKS_MAY_DIFFER = {
    "callbacks",
    "device",
    "engine",
    "n_threads",
    "the device",
    "the engine",
    "tokenizer__n_jobs",
}


@torch.inference_mode(mode=False)  # training needs gradients even inside the caller's mode
@with_ranks
def fitted_attributes(
    classifier: HANClassifier,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    X_unlabelled: Any = None,
    X_val: Any = None,
    y_val: Any = None,
    checkpoint: Any = None,
    *,
    classes: Any = None,
    resume: bool,
    one_epoch: bool = False,
    ranks: Ranks | None = None,
) -> dict[str, Any]:
    """Train a network and fit the linear models; the classifier itself does not change.

    Parameters
    ----------
    classifier : HANClassifier
        Its parameters are used, and, with `resume`, its fitted attributes.
    X, y, sample_weight, X_unlabelled, X_val, y_val, checkpoint, classes
        As of `HANClassifier.fit` and `HANClassifier.partial_fit`.
    resume : bool
        Whether to start from the fitted weights.
    one_epoch : bool
        Whether to train one epoch at the constant learning rate, on all documents.
    ranks : Ranks or None
        The processes that train the network together; passed by `with_ranks`.

    Returns
    -------
    dict of str to object
        The fitted attributes; on a rank but the first only why there are none.
    """
    if ranks is not None and one_epoch:
        raise ValueError(
            "partial_fit learns in a single process, and this one belongs to a group of "
            f"{ranks.size}. Call fit, or torch.distributed.destroy_process_group() before it."
        )
    device = resolve_device(classifier.device)
    checkpoints = FitCheckpoints(checkpoint, writes=ranks is None or ranks.is_first)
    checkpoints.check(settings_fingerprint, classifier, device, resume)
    seed = classifier.random_state if ranks is None else ranks.seed(classifier.random_state)
    rng = checkpoints.random_state(
        check_random_state(seed), own=classifier.random_state is not None
    )
    stages = Stages(classifier.verbose if ranks is None or ranks.is_first else 0)
    with stages("texts"):
        given = fit_data(
            classifier,
            X,
            y,
            sample_weight=sample_weight,
            X_val=X_val,
            y_val=y_val,
            X_unlabelled=X_unlabelled,
            classes=classes,
            resume=resume,
            holds_out=not one_epoch,
            random_state=rng,
        )
    train_network = network_training(given, alone=ranks is None and checkpoint is None)
    checkpoints.check(data_fingerprint, given)
    if ranks is not None:
        _check_ranks_agree(ranks, classifier, device, given, rng, resume)
    ngram_range = _ngram_range(classifier)
    if ngram_range is not None:  # before training, which may take long
        check_memory_of_linear_model(
            given.data.documents,
            given.n_classes,
            ngram_range,
            before=classifier.ngram_model_ if resume and one_epoch else None,
            in_portions=one_epoch,
        )
    space = _latent_space(given, ngram_range, rng, stages)

    fit = Fit(
        classifier,
        given,
        ngram_range,
        space,
        resume,
        one_epoch,
        device,
        rng,
        checkpoints,
        ranks,
        stages,
    )
    fitted = _attributes_before_training(fit)
    begin_tasks = partial(FitTasks, classifier, given.documents, given.labels, sample_weight)
    trained = train_network(fit, partial(begin_tasks, fitted=fitted))
    if ranks is not None:
        ranks.dismiss()
        if not ranks.is_first:
            trained.tasks.end(fitted)
            return {"_rank": f"rank {ranks.rank} of {ranks.size}"}
    # A portion may have other class frequencies, and a loss of the user's no probabilities.
    checks = not one_epoch and not fit.own_loss
    warned = checks and warned_that_nothing_is_learnt(
        trained.net, given.training_data, classifier.lr
    )
    with stages("linear models"):
        parts, scored = _linear_parts(fit)
    with stages("scores"):
        unseen = held_out_logits(fit, trained.net, parts, scored)
        network_scale, linear_scale, parts = _scaled(fit, trained, parts, unseen)
        summary = fit_summary(fit, trained.net, parts, unseen, network_scale, linear_scale)
    if checks and not warned:
        warn_of_a_useless_network(summary, trained.net, unseen)
    fitted |= {"network_scale_": network_scale, **_linear_attributes(parts)}
    fitted |= training_attributes(trained.net, classifier.history_ if fit.learns_on else ())
    fitted["fit_summary_"] = summary
    if stages.verbose:
        tell(summary)
    trained.tasks.end(fitted)
    checkpoints.end()
    return fitted


def _check_ranks_agree(
    ranks: Ranks,
    classifier: HANClassifier,
    device: str,
    given: FitData,
    rng: np.random.RandomState,
    resume: bool,
) -> None:
    """Check that all ranks have the same parameters, data and random numbers."""
    settings = settings_fingerprint(classifier, device, resume)
    facts: dict[str, Any] = {
        "random_state": next_number(rng),
        "a fitted model to go on from": resume,
        **data_fingerprint(given),
    }
    same = {name: v for name, v in settings.items() if name not in _RANKS_MAY_DIFFER}
    ranks.check_same(same | facts)


def _latent_space(
    given: FitData,
    ngram_range: tuple[int, int] | None,
    rng: np.random.RandomState,
    stages: Stages,
) -> LatentSpace | None:
    """Learn from the text without labels, if there is any, what the latent model starts from."""
    if given.unlabelled is None or ngram_range is None or given.n_classes == 1:
        return None
    text, _ = given.text
    with stages("text without labels"):
        return fit_latent_space(text, ngram_range, rng)


def _attributes_before_training(fit: Fit) -> dict[str, Any]:
    """Return the fitted attributes as they are while the network learns."""
    classifier, given = fit.classifier, fit.given
    return {
        "classes_": given.classes,
        "tokenizer_": given.tokenizer,
        "device_": fit.device,
        "vocabulary_size_": given.vocabulary_size,
        "encoder_": given.encoder,
        "network_scale_": classifier.network_scale_ if fit.learns_on else 1.0,
        **_linear_attributes(linear_parts_of(classifier) if fit.learns_on else LinearParts()),
    }


def _ngram_range(classifier: HANClassifier) -> tuple[int, int] | None:
    if classifier.linear_ngrams is None:
        return None
    smallest, largest = classifier.linear_ngrams
    return int(smallest), int(largest)  # a search passes NumPy integers


def _linear_parts(fit: Fit) -> tuple[LinearParts, NDArray[np.float64] | None]:
    """Fit the linear models, and score the held-out documents by models that do not know them."""
    given, before = fit.given, _linear_parts_before(fit)
    if fit.one_epoch:
        parts = partial_fit_linear_parts(
            before, given.data, given.n_classes, fit.ngram_range, fit.space, begin=not fit.resume
        )
        return parts, None
    if fit.ngram_range is None:
        return LinearParts(), None
    parts, scored = fit_linear_parts(
        given.data, given.n_classes, fit.ngram_range, fit.space, given.held_out
    )
    if fit.space is None and before.latent_model is not None:
        # There is no text to learn another latent model from: that of the earlier fit stays.
        return parts.with_latent_model_of(before), None
    return parts, scored


def _scaled(
    fit: Fit, trained: TrainedNetwork, parts: LinearParts, unseen: HeldOutLogits | None
) -> tuple[float, float | None, LinearParts]:
    """Return the scale of the network, and the linear models with theirs.

    Between them stands what the scales of the linear models were multiplied by; None if they have
    no common factor.
    """
    before = _linear_parts_before(fit)
    keep_scales = fit.resume and fit.given.given_validation is None
    if keep_scales and parts.kinds == before.kinds and fit.space is None:
        kept = parts.with_scales_of(before)
        return fit.classifier.network_scale_, _common_factor(parts, kept), kept
    usual = trained.usual_scales
    if fit.resume and before.models:
        # The network goes on; linear models that stay have their factor in their scales.
        stays = parts.latent_model is not None and fit.space is None
        usual = max(fit.classifier.network_scale_, 0.01), 1.0 if stays else usual[1]
    fits_none = keep_scales or fit.given.n_classes == 1
    scales = _scales(parts, None if fits_none else unseen, usual, trained.spreads)
    return float(scales[0]), float(scales[-1]), parts.times(scales[-1])


def _common_factor(parts: LinearParts, kept: LinearParts) -> float | None:
    """Return by what all scales of `parts` are multiplied to be those of `kept`."""
    factors = {
        new / old if old else None
        for (old, _), (new, _) in zip(parts.models, kept.models, strict=True)
    }
    return factors.pop() if len(factors) == 1 else None if factors else 1.0


def _linear_parts_before(fit: Fit) -> LinearParts:
    return linear_parts_of(fit.classifier) if fit.resume else LinearParts()


def _scales(
    parts: LinearParts,
    unseen: HeldOutLogits | None,
    usual_scales: tuple[float, float],
    spreads: tuple[float, float],
) -> NDArray[np.float64]:
    """Fit the scales of the network, and of the sum of the linear models if there are any.

    They are trained separately: a linear model separates its training documents, so a network
    trained together with it has little left to learn. Training on the residual of cross-fitted
    logits of the linear model was not better (docs/benchmarks.md). What linear models count among
    each other is fitted before, on many documents.
    """
    usual = np.array(usual_scales if parts.models else [1.0])
    if unseen is None:
        return usual
    if unseen.linear is None:
        return fit_scales([unseen.network], unseen.targets, unseen.weights, usual)
    logits = [unseen.network, unseen.linear]
    return fit_scales_near(logits, unseen.targets, unseen.weights, usual, np.array(spreads))


def linear_parts_of(classifier: HANClassifier) -> LinearParts:
    """Return the linear models of a fitted classifier."""
    return LinearParts(
        classifier.ngram_model_,
        classifier.latent_model_,
        classifier.ngram_scale_,
        classifier.latent_scale_,
    )


def _linear_attributes(parts: LinearParts) -> dict[str, Any]:
    return {f"{name}_": value for name, value in parts._asdict().items()}
