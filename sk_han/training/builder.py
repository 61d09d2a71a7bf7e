"""From parameters to a net that is ready to train, and from stored weights to one that predicts."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping, Set
from numbers import Integral, Real
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import train_test_split
from skorch.callbacks import Callback, LRScheduler

from sk_han.documents import LabelledDocuments
from sk_han.nn.optimizers import RowwiseAdamW
from sk_han.training.callbacks.averaging import WeightAveraging
from sk_han.training.callbacks.early_stopping import EarlyStopping
from sk_han.training.callbacks.freezing import FrozenEmbedding
from sk_han.training.callbacks.progress import TrainingProgress
from sk_han.training.net import HANNet

__all__ = ["OPTIMIZERS", "epochs_for", "hold_out", "new_net", "plain_history", "restored_net"]

OPTIMIZERS: dict[str, type[torch.optim.Optimizer]] = {
    "adam": torch.optim.Adam,
    "adamw": RowwiseAdamW,
    "sgd": torch.optim.SGD,
}


# What HANClassifier sets itself, beside the parameters that `new_net` passes on.
_OWN_PARAMS = {"criterion__reduction", "module", "train_split", "verbose"}
# What its net makes no use of: documents come in batches of its own.
_UNUSED_PARAMS = {
    "dataset",
    "iterator_train",
    "iterator_valid",
    "predict_nonlinearity",
    "warm_start",
}
_UNUSED_PREFIXES = ("callbacks__", "dataset__", "iterator_train__", "iterator_valid__")


def epochs_for(max_epochs: int | str, n_documents: int, batch_size: int) -> int:
    """Give the number of epochs; "auto" takes few over many documents, more over few.

    A network needs a number of steps, not of epochs, before it has learnt anything.
    """
    if max_epochs != "auto":
        return int(max_epochs)
    steps_per_epoch = math.ceil(n_documents / batch_size)
    return min(max(math.ceil(600 / steps_per_epoch), 2), 20)


def hold_out(
    data: LabelledDocuments, fraction: float, random_state: np.random.RandomState
) -> tuple[LabelledDocuments, LabelledDocuments | None]:
    """Split into documents to train on and documents to stop by, stratified by class.

    The only document of a class is trained on. Where there are too few documents for one of each
    other class on either side, none is held out.
    """
    alone = np.bincount(data.targets)[data.targets] == 1
    candidates = np.flatnonzero(~alone)
    n_classes = len(np.unique(data.targets[candidates]))
    n_held_out = round(fraction * len(candidates))
    if n_classes == 0 or min(n_held_out, len(candidates) - n_held_out) < n_classes:
        return data, None
    rows, held_out = train_test_split(
        candidates,
        test_size=n_held_out,
        stratify=data.targets[candidates],
        random_state=random_state,
    )
    return data[np.concatenate([rows, np.flatnonzero(alone)])], data[held_out]


def new_net(
    module_params: Mapping[str, Any],
    *,
    n_documents: int,
    max_epochs: int,
    batch_size: int,
    optimizer: str | type[torch.optim.Optimizer],
    lr: float,
    lr_schedule: str,
    weight_decay: float,
    clip_norm: float | None,
    label_smoothing: float,
    weight_averaging: float | None,
    adversarial_noise: float,
    frozen_epochs: float,
    patience: int | None,
    callbacks: list[Any] | None,
    fit_tasks: Callback,
    net_params: Mapping[str, Any] | None,
    verbose: int,
    device: str,
    random_state: np.random.RandomState,
) -> HANNet:
    """Make a net with fresh weights.

    Parameters
    ----------
    module_params : mapping
        Arguments of `HierarchicalAttentionNetwork`.
    n_documents : int
        Number of training documents, from which the schedule knows its length.
    frozen_epochs : float
        Number of the first epochs in which the word vectors stay as they are.
    patience : int or None
        Epochs without a better one before training stops; None neither stops nor keeps the best.
    fit_tasks : Callback
        Tells scikit-learn's callbacks of the epochs.
    random_state : RandomState
        Source of the initial weights, of dropout and of the order of documents.
    max_epochs, batch_size, optimizer, lr, lr_schedule, weight_decay, clip_norm, label_smoothing, \
weight_averaging, adversarial_noise, callbacks, net_params, verbose, device
        As of `HANClassifier`.

    Returns
    -------
    HANNet
        Initialized.
    """
    n_steps = max_epochs * math.ceil(n_documents / batch_size)
    further: dict[str, Any] = clone(dict(net_params or {}), safe=False)
    own_callbacks: list[Any] = []
    if lr_schedule == "one_cycle":
        one_cycle = LRScheduler(
            torch.optim.lr_scheduler.OneCycleLR,
            max_lr=lr,
            total_steps=n_steps + 1,  # skorch advances once more after the last step
            cycle_momentum=False,
            step_every="batch",
        )
        own_callbacks.append(("lr_schedule", one_cycle))
    if frozen_epochs > 0:
        own_callbacks.append(("frozen_embedding", FrozenEmbedding(frozen_epochs)))
    if weight_averaging is not None:
        own_callbacks.append(("weight_averaging", WeightAveraging(weight_averaging)))
    if verbose:
        own_callbacks.append(("progress", TrainingProgress(n_steps)))

    own_callbacks += clone(list(callbacks or ()), safe=False)
    if patience is not None:  # behind the user's, which may change weights
        own_callbacks.append(("early_stopping", EarlyStopping(patience)))
    own_callbacks.append(("fit_tasks", fit_tasks))

    generator = torch.Generator().manual_seed(int(random_state.randint(2**31 - 1)))
    optimizer = OPTIMIZERS[optimizer] if isinstance(optimizer, str) else optimizer
    if not issubclass(optimizer, torch.optim.Optimizer):
        raise TypeError(f"optimizer must be a name or a torch.optim.Optimizer; got {optimizer}.")
    params: dict[str, Any] = {f"module__{name}": value for name, value in module_params.items()}
    params |= {
        "optimizer": optimizer,
        "lr": lr,
        "max_epochs": max_epochs,
        "batch_size": batch_size,
        "clip_norm": clip_norm,
        "adversarial_noise": adversarial_noise,
        "callbacks": own_callbacks,
        "device": device,
        "shuffle": np.random.RandomState(random_state.randint(2**31 - 1)),
        "module__generator": generator,
        "module__sparse": optimizer is RowwiseAdamW,
    }
    if label_smoothing > 0:
        params["criterion__label_smoothing"] = label_smoothing
    _check_net_params(further, taken=_OWN_PARAMS | params.keys())
    if optimizer is RowwiseAdamW:
        params["optimizer__fused"] = True  # one kernel for all small weights
    if "weight_decay" in inspect.signature(optimizer).parameters:
        params["optimizer__weight_decay"] = weight_decay
    try:
        net: HANNet = HANNet(**(params | further)).initialize()
    except (AttributeError, TypeError, ValueError) as error:
        if not further:
            raise
        raise ValueError(f"No net can be made with net_params={further}: {error}") from error
    return net


def restored_net(
    params: Mapping[str, Any], weights: Mapping[str, NDArray[Any]], device: str
) -> HANNet:
    """Make a net that predicts with stored weights; its optimizer starts anew."""
    generator = torch.Generator()  # the weights drawn here are replaced at once
    net: HANNet = HANNet(module__generator=generator, device=device, **params).initialize()
    net.module_.load_state_dict(
        {name: torch.tensor(w, device="cpu") for name, w in weights.items()}
    )
    net.prepare_to_predict()
    return net


def plain_history(net: HANNet, first_epoch: int = 1) -> list[dict[str, float]]:
    """Give the numbers that were recorded for each epoch, without its batches."""
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


def _check_net_params(net_params: Mapping[str, Any], taken: Set[str]) -> None:
    """Refuse what HANClassifier sets itself, what has no effect, and what no pickle restores."""
    names = [name for name in net_params if not isinstance(name, str)]
    if names:
        raise ValueError(f"net_params={dict(net_params)} has a key that is no name: {names[0]!r}.")
    refused = sorted(taken & net_params.keys())
    if refused:
        raise ValueError(
            f"net_params holds {refused}, which HANClassifier sets itself. Use its own "
            "parameters (max_epochs, batch_size, lr, optimizer, callbacks, ...); the network is "
            "always a HierarchicalAttentionNetwork."
        )
    unused = [n for n in net_params if n in _UNUSED_PARAMS or n.startswith(_UNUSED_PREFIXES)]
    if unused:
        raise ValueError(
            f"net_params holds {unused}, which would have no effect: HANClassifier makes batches "
            "of its own and adds callbacks by its parameter `callbacks`."
        )
    for name in ("valid_batch_size", "module__max_words"):
        size = net_params.get(name, 1)
        if not isinstance(size, Integral) or size < 1:
            raise ValueError(
                f"{name} in net_params must be an integer of at least 1; got {size!r}."
            )
