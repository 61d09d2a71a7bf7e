"""A net as arrays and plain values, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from sk_han.nn.sentence_level import SentenceNetwork
from sk_han.options.network_state import check_network, check_sentence_network, reads_sentences
from sk_han.training.builder import document_net
from sk_han.training.computing import torch_threads
from sk_han.training.net import Net
from sk_han.training.sentences import sentence_net

__all__ = ["copied_net", "net_from_state", "net_to_state"]

WORD_SIZES = "vocabulary_size", "n_classes", "max_words"
SENTENCE_SIZES = "input_size", "n_classes", "recurrent"


def net_to_state(net: Net) -> dict[str, Any]:
    """Return the state that prediction needs, without module, optimizer and callbacks.

    Returns
    -------
    dict
        With "vocabulary_size", "n_classes", "max_words", "valid_batch_size" (integers), "options"
        (of the network, plain) and "weights" (arrays by name). A network over sentence vectors has
        "input_size" and "recurrent" in place of the first and third.
    """
    network = net.module_
    if isinstance(network, SentenceNetwork):
        return {
            "input_size": network.input_size,
            "recurrent": network.recurrent,
            "n_classes": network.output.out_features,
            "valid_batch_size": int(net.valid_batch_size),
            "options": network.options.to_plain(),
            "weights": net.weights,
        }
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
    if reads_sentences(state):
        options, make_net, names = check_sentence_network(state), sentence_net, SENTENCE_SIZES
    else:
        options, make_net, names = check_network(state), document_net, WORD_SIZES
    net: Net = make_net(
        module__generator=torch.Generator(),  # the weights drawn here are replaced at once
        **{f"module__{name}": state[name] for name in names},
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
