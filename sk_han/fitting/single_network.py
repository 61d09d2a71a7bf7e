"""The fit of an estimator that is one network and no other parts, and its state as plain data.

The estimator has the parameters of `HANClassifier` for training, and those of the network.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sk_han.inspection.results.training_summary import TrainingSummary
from sk_han.options.base import Options
from sk_han.storage.network_schema import network_of
from sk_han.storage.schema import Field, Sizes
from sk_han.storage.training_record import TRAINING
from sk_han.training.builder import new_net
from sk_han.training.history import outcome_of, training_attributes
from sk_han.training.net import Net
from sk_han.training.net_state import predicting_net
from sk_han.training.stateful import device_of, restored_training, stored_training
from sk_han.utils.progress import tell
from sk_han.utils.stages import Stages
from sk_han.validation.doubtful import warn_of_early_stopping
from sk_han.validation.labels import document_weights


def relative_weights(sample_weight: Any, n_samples: int) -> NDArray[np.float64]:
    """Return weights up to 1, shape (n_samples,): only ratios matter, and so sums are finite."""
    weights = document_weights(sample_weight, None, np.zeros(n_samples), np.zeros(1))
    return weights / weights.max()


def warn_of_no_stop(estimator: Any, units: str, share: str, repair: str) -> None:
    """Warn if training should stop early; `share` says what validation_fraction is a share of."""
    fraction, patience = estimator.validation_fraction, estimator.n_iter_no_change
    if patience is not None:
        of = " is None" if fraction is None else f"={fraction:g} of {share}"
        warn_of_early_stopping(patience, units, f"validation_fraction{of}", repair)


def new_network(
    estimator: Any,
    network: Mapping[str, Any],
    options: type[Options],
    make_net: Callable[..., Net],
    *,
    n_samples: int,
    max_epochs: int,
    keep_best: bool,
    device: str,
    rng: np.random.RandomState,
    noise: float = 0.0,
) -> Any:
    """Create a net with initial weights; the parameters of the estimator include the options."""
    return new_net(
        {name: getattr(estimator, name) for name in options.constraints()} | dict(network),
        n_documents=n_samples,
        max_epochs=max_epochs,
        batch_size=estimator.batch_size,
        optimizer="adamw",
        lr=estimator.lr,
        lr_schedule="one_cycle",
        noise=noise,
        frozen_epochs=0,
        keep_best=keep_best,
        n_iter_no_change=estimator.n_iter_no_change,
        callbacks=estimator.callbacks,
        verbose=estimator.verbose,
        device=device,
        random_state=rng,
        make_net=make_net,
    )


def trained_attributes(
    net: Net, training: Any, validation: Any, unit: str, stages: Stages
) -> dict[str, Any]:
    """Train a net, and return the fitted attributes that tell of it."""
    with stages("network", tells=False):
        net.train(training, validation)
    summary = TrainingSummary(
        unit=unit,
        n_trained=len(training),
        n_scored=0 if validation is None else len(validation),
        **outcome_of(net),
        seconds=dict(stages.seconds),
        total_seconds=stages.total,
    )
    if stages.verbose:
        tell(summary)
    return {"device_": net.device, "fit_summary_": summary, **training_attributes(net)}


def network_fields(options: type[Options]) -> tuple[Field, ...]:
    """Return the fields of `fitted_state`: a rule of their schema has to compare the weights."""

    def summary(value: Any, where: str, sizes: Sizes) -> None:
        TrainingSummary.from_dict(value)

    network = Field("network", network_of(options))
    return network, Field("fit_summary", summary, optional=True), *TRAINING


def fitted_state(estimator: Any) -> dict[str, Any]:
    """Return network, summary and training of a fitted estimator as arrays and plain values."""
    net, summary = estimator.net_, estimator.fit_summary_
    return {
        "network": {"options": net.module_.options.to_plain(), "weights": net.weights},
        "fit_summary": None if summary is None else summary.to_dict(),
        **stored_training(estimator),
    }


def restored_attributes(
    state: Mapping[str, Any], options: Options, make_net: Callable[..., Net], **network: Any
) -> dict[str, Any]:
    """Return the fitted attributes of a checked state; the net only predicts."""
    weights, summary = state["network"]["weights"], state["fit_summary"]
    sizes = {f"module__{name}": value for name, value in network.items()}
    return {
        "net_": predicting_net(make_net, options, weights, device_of(state), **sizes),
        "fit_summary_": None if summary is None else TrainingSummary.from_dict(summary),
        **restored_training(state),
    }
