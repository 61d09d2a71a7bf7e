"""One fit, from the user's data to a fitted model."""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np

from sk_han._documents.repeated import TextHashes
from sk_han._fitting.data import FitInput, FitState, read_data
from sk_han._fitting.linear import (
    fit_latent_spaces,
    fit_linear_models,
    fit_teacher,
)
from sk_han._fitting.network import fit_network
from sk_han._fitting.scales import FittedNgrams, ScaledParts, scale_parts
from sk_han._fitting.sources import ngram_sources
from sk_han._fitting.summary import (
    novelty_of,
    reference_statistics,
    summarize_fit,
    warn_of_useless_network,
)
from sk_han._model.fitted_model import FittedModel
from sk_han._targets import Number
from sk_han._training.builder import training_attributes
from sk_han._utils.containers import Floats
from sk_han._utils.progress import Stages


def fit_model(
    estimator: Any,
    data: FitInput,
    stages: Stages,
    warm_start_from: FittedModel | None = None,
    *,
    is_partial: bool = False,
) -> FittedModel:
    """Fit the network and the linear models to the user's data, and calibrate their scales.

    With `is_partial`, as in `partial_fit`, the network trains for one epoch on all documents at a
    constant learning rate.
    """
    # Labels are checked and encoded, texts converted to word ids, some documents held out.
    fit = read_data(estimator, data, stages, warm_start_from, is_partial=is_partial)
    # Text without labels determines the directions of the latent models. If there is much of it,
    # linear models of the labelled documents label it, for pre-training the network.
    sources = fit_latent_spaces(fit, ngram_sources(fit))
    teacher = fit_teacher(fit, sources)

    # The network learns from the training documents alone. The linear models learn from held-out
    # documents too, which are scored by cross-fitting, by models that have not seen them. They come
    # first, because a network that is better than they are is trained longer.
    linear = fit_linear_models(fit, sources, teacher)
    _check_limit(stages, has_more_text=fit.unlabelled is not None)
    ngrams = [parts.held_out for parts in linear if isinstance(parts, FittedNgrams)]
    fitted = [fit_network(fit, teacher, *ngrams), *linear]

    # Calibrating the scale of each part on held-out documents also calibrates the probabilities.
    with stages("scales"):
        scaled = scale_parts(fitted, fit)

    summary = summarize_fit(scaled, fit)
    # A portion may have other class frequencies, and the user's loss may have no probabilities.
    if not is_partial and not fit.has_own_loss:
        warn_of_useless_network(estimator, summary, scaled, fit)
    reference = None if is_partial else reference_statistics(scaled, fit)
    training = training_attributes(scaled.pool.network.net, fit.earlier_history)
    return fit.model(
        scaled.pool,
        training["history_"],
        best_epoch=training["best_epoch_"],
        best_score=training["best_score_"],
        fit_summary=summary,
        text_hashes=_text_hashes(fit),
        reference=reference,
        interval_scores=_interval_scores(scaled),
        novelty=reference and novelty_of(scaled, fit, reference),
    ).with_priors(fit.params.priors)


def _check_limit(stages: Stages, *, has_more_text: bool) -> None:
    """Check that reading and linear models took at most half of the time limit.

    Where text without labels was read, they may take more: the least limit is not known then.
    """
    least = 2 * sum(stages.seconds.get(name, 0.0) for name in ("texts", "linear models"))
    if stages.limit < least and not has_more_text:
        raise ValueError(
            f"time_limit={stages.limit:g} is less than twice the {least / 2:.2g} seconds of "
            f"reading and linear models. Give {math.ceil(least)} or more."
        )


def _interval_scores(scaled: ScaledParts) -> Floats | None:
    """Return the sorted scores of held-out documents that calibrate intervals, if there are any."""
    target, validation = scaled.pool.target, scaled.validation
    if not isinstance(target, Number) or validation is None:
        return None
    p = target.probabilities(scaled.together)
    return np.sort(target.interval_scores(p, validation.targets))


def _text_hashes(fit: FitState) -> TextHashes:
    """Hash the labelled documents, so that a report can tell them from new documents."""
    if fit.warm_start_from is not None and fit.warm_start_from.text_hashes is not None:
        return fit.warm_start_from.text_hashes.union(fit.labelled.documents)
    salt = np.frombuffer(copy.deepcopy(fit.rng).bytes(16), dtype=np.uint8)
    return TextHashes.from_documents(fit.labelled.documents, salt)
