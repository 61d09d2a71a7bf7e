"""A net as arrays and plain values, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from sk_han.options.network_state import check_network
from sk_han.training.builder import document_net
from sk_han.training.computing import torch_threads
from sk_han.training.net import Net

__all__ = ["copied_net", "net_from_state", "net_to_state"]


def net_to_state(net: Net) -> dict[str, Any]:
    """Return the state that prediction needs, without module, optimizer and callbacks.

    Returns
    -------
    dict
        With "vocabulary_size", "n_classes", "max_words", "valid_batch_size" (integers), "options"
        (of the network, plain) and "weights" (arrays by name).
    """
    network = net.module_
    return {
        "vocabulary_size": network.embedding.num_embeddings,
        "n_classes": network.output.out_features,
        "max_words": int(network.max_words),
        "valid_batch_size": int(net.valid_batch_size),
        "options": network.options.to_plain(),
        "weights": net.weights,
    }


@torch_threads()
def net_from_state(state: Mapping[str, Any], device: str) -> Net:
    """Create a net with stored weights, for prediction: it has no optimizer.

    Raises
    ------
    ValueError
        If the state is not that of a network.
    """
    options = check_network(state)
    net: Net = document_net(
        module__generator=torch.Generator(),  # the weights drawn here are replaced at once
        module__vocabulary_size=state["vocabulary_size"],
        module__n_classes=state["n_classes"],
        module__max_words=state["max_words"],
        valid_batch_size=state["valid_batch_size"],
        optimizer=None,
        device=device,
        **{f"module__{name}": value for name, value in options.get_params(deep=False).items()},
    ).initialize()
    weights = {name: torch.tensor(w, device="cpu") for name, w in state["weights"].items()}
    net.module_.load_state_dict(weights)
    net.prepare_to_predict()
    return net


def copied_net(net: Net) -> Net:
    """Return a copy of a net for prediction, which further training does not change."""
    return net_from_state(net_to_state(net), net.device)
