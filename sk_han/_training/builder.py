"""Create nets, to train with the parameters of an estimator or to predict with stored weights."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from numbers import Integral, Real
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import clone
from skorch.callbacks import (
    Callback,
    Freezer,
    GradientNormClipping,
    LoadInitState,
    LRScheduler,
    Unfreezer,
)

from sk_han._options import NetworkOptions, Options, Range
from sk_han._storage.schema import check_weights
from sk_han._training.callbacks import (
    EarlyStopping,
    StopWhenLearnt,
    TrainingProgress,
)
from sk_han._training.net import Net, document_tensors, torch_threads
from sk_han.nn import HierarchicalAttentionNetwork
from sk_han.nn._encoders import parameter_shapes
from sk_han.nn._training import RowwiseAdamW

OPTIMIZERS: dict[str, type[torch.optim.Optimizer]] = {
    "adam": torch.optim.Adam,
    "adamw": RowwiseAdamW,
    "sgd": torch.optim.SGD,
}

# Defaults that `net_params` may replace. Adversarial noise in every other step costs half as much
# as in every step, and helps as much (docs/what_was_tried.md).
CLIP_NORM, WEIGHT_DECAY, NOISE_EVERY = 1.0, 0.0001, 2

# Parameters that the estimator sets, so that `net_params` must not.
_OWN_PARAMS = {
    "batch_size",
    "callbacks",
    "criterion__reduction",
    "decide",
    "device",
    "lr",
    "max_epochs",
    "measures",
    "module",
    "noise",
    "optimizer",
    "shuffle",
    "to_tensors",
    "train_split",
    "verbose",
    *(
        f"module__{name}"
        for name in ("generator", "n_classes", "sparse", "unknown_id", "vocabulary_size")
    ),
    *(f"module__{n}" for n in NetworkOptions.constraints() if n != "embedding_dropout"),
}

# Parameters that would have no effect, since the net makes its own batches.
_UNUSED_PARAMS = {
    "dataset",
    "iterator_train",
    "iterator_valid",
    "predict_nonlinearity",
    "warm_start",
}

_UNUSED_PREFIXES = ("callbacks__", "dataset__", "iterator_train__", "iterator_valid__")

_CONSTRAINTS: dict[str, Range] = {
    "clip_norm": Range(Real, 0, includes_low=False),
    "criterion__label_smoothing": Range(Real, 0, 1),
    "excerpt_words": Range(Integral, 1),
    "module__embedding_dropout": Range(Real, 0, 1),
    "module__max_words": Range(Integral, 1),
    "noise_every": Range(Integral, 1),
    "optimizer__weight_decay": Range(Real, 0),
    "valid_batch_size": Range(Integral, 1),
}


def batch_size_for(batch_size: int | str, n_documents: int) -> int:
    """Return the number of documents per step.

    With "auto", small datasets get small batches, because the number of steps matters most.
    """
    if batch_size != "auto":
        return int(batch_size)
    return 16 if n_documents <= 2_500 else 32 if n_documents <= 5_000 else 64


def epochs_for(max_epochs: int | str, n_documents: int, batch_size: int) -> int:
    """Return the number of epochs; "auto" gives about 400 steps of 16 documents or 600 of 64."""
    if max_epochs != "auto":
        return int(max_epochs)
    return epochs_for_steps(100 * math.log2(batch_size), n_documents, batch_size, least=2, most=20)


def epochs_for_steps(
    n_steps: float, n_samples: int, batch_size: int, *, least: int, most: int
) -> int:
    """Return the number of epochs for about `n_steps` steps, between `least` and `most`."""
    steps_per_epoch = max(math.ceil(n_samples / batch_size), 1)
    return min(max(round(n_steps / steps_per_epoch), least), most)


def epochs_frozen(freeze_embedding: bool | int) -> float:
    """Return the number of epochs with frozen word vectors; True means all epochs, not one."""
    if isinstance(freeze_embedding, (bool, np.bool_)):
        return math.inf if freeze_embedding else 0
    return freeze_embedding


def new_net(
    network: Mapping[str, Any],
    *,
    make_net: Callable[..., Net],
    n_documents: int,
    max_epochs: int,
    batch_size: int,
    lr: float,
    keep_best: bool,
    verbose: int,
    device: str,
    random_state: np.random.RandomState,
    optimizer: str | type[torch.optim.Optimizer] = "adamw",
    lr_schedule: str = "one_cycle",
    noise: float = 0.0,
    frozen_epochs: float = 0.0,
    n_iter_no_change: int | None = None,
    learnt_loss: float = 0.0,
    callbacks: list[Any] | None = None,
    loss: Mapping[str, Any] | None = None,
    net_params: Mapping[str, Any] | None = None,
) -> Net:
    """Create a net with initial weights, from parameters of `HANClassifier` and of its network.

    `make_net` creates the net, such as `document_net`, and `loss` has the parameters of its loss
    and measures. The length of the learning rate schedule follows from the number of documents.
    The random state decides on initial weights, dropout and the order of documents. Training ends
    after an epoch whose loss is below `learnt_loss`.
    """
    n_batches = math.ceil(n_documents / batch_size)
    clips, callbacks, has_schedule = _sort_callbacks(clone(list(callbacks or ()), safe=False))
    own_callbacks: list[Any] = []
    if lr_schedule == "one_cycle" and not has_schedule:
        one_cycle = LRScheduler(
            torch.optim.lr_scheduler.OneCycleLR,
            max_lr=lr,
            # skorch advances the schedule once more after the last step.
            total_steps=max_epochs * n_batches + 1,
            cycle_momentum=False,
            step_every="batch",
        )
        own_callbacks.append(("lr_schedule", one_cycle))
    if frozen_epochs > 0:
        own_callbacks.append(("freezer", Freezer("*embedding.weight")))
        if frozen_epochs < math.inf:
            at = int(frozen_epochs) + 1
            own_callbacks.append(("unfreezer", Unfreezer("*embedding.weight", at=at)))
    if verbose:
        own_callbacks.append(("progress", TrainingProgress(n_batches, with_rates=verbose > 1)))
    own_callbacks += callbacks
    # The weights are kept after the user's callbacks, which may change them, and training ends only
    # after the last epoch could be kept.
    if keep_best:
        own_callbacks.append(("early_stopping", EarlyStopping(n_iter_no_change)))
    if learnt_loss:
        own_callbacks.append(("learnt", StopWhenLearnt(learnt_loss)))

    generator = torch.Generator().manual_seed(int(random_state.randint(2**31 - 1)))
    optimizer = check_optimizer(optimizer)
    own = {
        "optimizer": optimizer,
        "lr": lr,
        "max_epochs": max_epochs,
        "batch_size": batch_size,
        "noise": noise,
        "callbacks": own_callbacks,
        "device": device,
        "shuffle": np.random.RandomState(random_state.randint(2**31 - 1)),
        "module__generator": generator,
        "module__sparse": optimizer is RowwiseAdamW,
    }
    own |= {f"module__{name}": value for name, value in network.items()}
    clip_norm = min(clips, default=CLIP_NORM)
    defaults: dict[str, Any] = {"clip_norm": clip_norm, "noise_every": NOISE_EVERY, **(loss or {})}
    if optimizer is RowwiseAdamW:
        # A fused step is one kernel for all small weights.
        defaults["optimizer__fused"] = True
    if "weight_decay" in inspect.signature(optimizer).parameters:
        defaults["optimizer__weight_decay"] = WEIGHT_DECAY
    further: dict[str, Any] = clone(dict(net_params or {}), safe=False)
    try:
        net: Net = make_net(**(defaults | own | further)).initialize()
    except (AttributeError, TypeError, ValueError) as error:
        if not further:
            raise
        raise ValueError(f"No net can be made with net_params={further}: {error}") from error
    return net


def _sort_callbacks(callbacks: list[Any]) -> tuple[list[float], list[Any], bool]:
    """Return norms to clip gradients to, the other callbacks, and whether one sets the rates."""
    clips, others, has_schedule = [], [], False
    for entry in callbacks:
        # As in skorch, an entry may be a pair of a name and a callback.
        callback = entry[1] if isinstance(entry, (tuple, list)) else entry
        if not isinstance(callback, Callback) and not isinstance(callback, type):
            raise TypeError(
                f"callbacks must hold skorch callbacks, such as StopAfter(60); got {callback!r}."
            )
        if isinstance(callback, LoadInitState):
            raise ValueError(
                "LoadInitState cannot be used: a checkpoint lacks the vocabulary of its weights. "
                "Train in one fit, or continue a fitted HANClassifier by warm_start=True."
            )
        # PyTorch's function, which this callback uses, cannot clip sparse gradients; ours can.
        if isinstance(callback, GradientNormClipping):
            if callback.gradient_clip_norm_type != 2:
                raise ValueError(
                    "GradientNormClipping must have gradient_clip_norm_type=2; got "
                    f"{callback.gradient_clip_norm_type!r}."
                )
            clips += [callback.gradient_clip_value or math.inf]
            continue
        has_schedule |= isinstance(callback, LRScheduler) or callback is LRScheduler
        others.append(entry)
    return clips, others, has_schedule


# Creates a net for `HierarchicalAttentionNetwork`.
document_net = partial(Net, HierarchicalAttentionNetwork, to_tensors=document_tensors)


def check_optimizer(optimizer: Any) -> type[torch.optim.Optimizer]:
    """Return the class of an optimizer from its name or class; raise a TypeError for others."""
    kind = OPTIMIZERS.get(optimizer, optimizer) if isinstance(optimizer, str) else optimizer
    if not isinstance(kind, type) or not issubclass(kind, torch.optim.Optimizer):
        raise TypeError(f"optimizer must be a name or a torch.optim.Optimizer; got {optimizer}.")
    return kind


def check_net_params(net_params: Mapping[str, Any]) -> None:
    """Raise a ValueError for parameters set by the estimator, without effect, or of wrong value."""
    names = [name for name in net_params if not isinstance(name, str)]
    if names:
        raise ValueError(f"net_params={dict(net_params)} has a key that is no name: {names[0]!r}.")
    refused = sorted(_OWN_PARAMS & net_params.keys())
    if refused:
        raise ValueError(
            f"net_params holds {refused}, which the estimator sets itself. Use the estimator's "
            "parameters (max_epochs, batch_size, lr, optimizer, callbacks, ...)."
        )
    unused = [n for n in net_params if n in _UNUSED_PARAMS or n.startswith(_UNUSED_PREFIXES)]
    if unused:
        raise ValueError(
            f"net_params holds {unused}, which would have no effect, since the net makes its own "
            "batches. Add callbacks by the parameter `callbacks`."
        )
    for name, constraint in _CONSTRAINTS.items():
        value = net_params.get(name)
        off = name in ("clip_norm", "excerpt_words") and value is None
        if name in net_params and not off and not constraint.accepts(value):
            raise ValueError(f"{name} in net_params must be {constraint}; got {value!r}.")


# Entries of a state that are not sizes of its network.
_NO_SIZES = {"options", "valid_batch_size", "weights"}


def net_to_state(net: Net) -> dict[str, Any]:
    """Return what prediction needs: sizes, plain options, and the weights by name."""
    plain = net.module_.to_plain()
    # The id of the unknown word is the same for all vocabularies.
    plain.pop("unknown_id", None)
    return {
        **plain,
        "valid_batch_size": int(net.valid_batch_size),
        "weights": net.weights,
    }


def stored_net(state: Mapping[str, Any], device: str) -> Net:
    """Create a net of a checked state, for prediction."""
    options = NetworkOptions.from_plain(state["options"])
    n_layers, n_arrays = options.recurrent.num_layers, len(state["weights"])
    if n_layers > n_arrays:
        raise ValueError(f"its network.weights are {n_arrays} arrays for {n_layers} layers")
    params = {f"module__{name}": state[name] for name in state.keys() - _NO_SIZES}
    params["valid_batch_size"] = state["valid_batch_size"]
    return predicting_net(document_net, options, state["weights"], device, **params)


@torch_threads()
def predicting_net(
    make_net: Callable[..., Net],
    options: Options,
    weights: Mapping[str, NDArray[Any]],
    device: str,
    **params: Any,
) -> Net:
    """Create a net with stored weights, for prediction: it has no optimizer.

    A ValueError names a weight that the network does not have so, before memory is taken for it.
    """
    network = options.get_params(deep=False)
    net: Net = make_net(
        # The initial weights drawn here are replaced at once.
        module__generator=torch.Generator(),
        optimizer=None,
        device=device,
        **{f"module__{name}": value for name, value in network.items()},
        **params,
    )
    check_weights(weights, parameter_shapes(net.module, **net.get_params_for("module")))
    net.initialize()
    own = {name: torch.tensor(weight, device="cpu") for name, weight in weights.items()}
    net.module_.load_state_dict(own)
    net.prepare_to_predict()
    return net


def training_attributes(net: Net, epochs_before: Sequence[dict[str, float]] = ()) -> dict[str, Any]:
    """Return the fitted attributes of a trained net; its epochs follow those of earlier fits."""
    history = [*epochs_before, *plain_history(net, first_epoch=len(epochs_before) + 1)]
    return {"net_": net, "history_": history, "n_iter_": len(history), **best_epoch(net)}


def best_epoch(net: Net) -> dict[str, Any]:
    """Return the epoch of the kept weights, and its accuracy on the held-out data; or None."""
    for _, callback in net.callbacks_:
        if isinstance(callback, EarlyStopping) and callback.best_epoch_:
            epoch, score = callback.best_epoch_, float(callback.best_score_[0])
            return {"best_epoch_": epoch, "best_score_": score}
    return {"best_epoch_": None, "best_score_": None}


def stop_reason(net: Net) -> str:
    """Return why training ended, as `FitSummary.ended` has it."""
    n_epochs = len(net.history)
    if net.ended_by is not None:
        return net.ended_by
    if n_epochs >= net.max_epochs:
        return "all epochs"
    for _, callback in net.callbacks_:
        if isinstance(callback, EarlyStopping) and callback.has_stopped(n_epochs):
            return "no improvement"
        if isinstance(callback, StopWhenLearnt) and callback.has_stopped(net):
            return "all learnt"
    return "a callback"


def plain_history(net: Net, first_epoch: int = 1) -> list[dict[str, float]]:
    """Return the numbers recorded for each epoch, without those of its batches."""
    return [
        {"epoch": number}
        | {
            name: float(value)
            for name, value in epoch.items()
            if isinstance(value, Real)
            and not isinstance(value, bool)
            and name != "epoch"
            and not name.endswith("_batch_count")
        }
        for number, epoch in enumerate(net.history, start=first_epoch)
    ]
