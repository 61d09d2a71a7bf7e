"""A net as arrays and plain values, and back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import torch

from sk_han.options import NetworkOptions
from sk_han.training.builder import document_net
from sk_han.training.computing import torch_threads
from sk_han.training.net import Net

__all__ = ["copied_net", "net_from_state", "net_to_state", "stored_net"]

SIZES = "vocabulary_size", "n_classes", "max_words"


def net_to_state(net: Net) -> dict[str, Any]:
    """Return the state that prediction needs, without module, optimizer and callbacks.

    Returns
    -------
    dict
        With "reads" ("words" or "vectors"), the sizes of the network, "valid_batch_size" (integer),
        "options" (of the network, plain) and "weights" (arrays by name). The sizes of one that
        reads words are "vocabulary_size", "n_classes" and "max_words".
    """
    plain = net.module_.to_plain()
    plain.pop("unknown_id", None)  # the same in all documents
    return {
        "reads": "words" if net.dimension is None else "vectors",
        **plain,
        "valid_batch_size": int(net.valid_batch_size),
        "weights": net.weights,
    }


def net_from_state(state: Mapping[str, Any], device: str) -> Net:
    """Create a net that reads words from a checked state, for prediction: it has no optimizer."""
    return stored_net(document_net, SIZES, state, device)


@torch_threads()
def stored_net(
    make_net: Callable[..., Net], sizes: Iterable[str], state: Mapping[str, Any], device: str
) -> Net:
    """Create a net of a checked state, whose sizes have these names."""
    options = NetworkOptions.from_plain(state["options"]).get_params(deep=False)
    net: Net = make_net(
        module__generator=torch.Generator(),  # the weights drawn here are replaced at once
        **{f"module__{name}": state[name] for name in sizes},
        valid_batch_size=state["valid_batch_size"],
        optimizer=None,
        device=device,
        **{f"module__{name}": value for name, value in options.items()},
    ).initialize()
    weights = {name: torch.tensor(w, device="cpu") for name, w in state["weights"].items()}
    net.module_.load_state_dict(weights)
    net.prepare_to_predict()
    return net


def copied_net(net: Net) -> Net:
    """Return a copy of a net for prediction, which further training does not change."""
    state = net_to_state(net)
    make_net = partial(Net, net.module, to_tensors=net.to_tensors, measures=net.measures)
    sizes = state.keys() - {"options", "reads", "valid_batch_size", "weights"}
    return stored_net(make_net, sizes, state, net.device)
