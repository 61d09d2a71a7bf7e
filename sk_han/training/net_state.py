"""A net as arrays and plain values, and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import torch
from numpy.typing import NDArray

from sk_han.options import NetworkOptions
from sk_han.options.base import Options
from sk_han.training.devices_and_threads import torch_threads
from sk_han.training.net import Net

# What a state has beside the sizes of its network.
_NO_SIZES = {"options", "reads", "valid_batch_size", "weights"}


def net_to_state(net: Net) -> dict[str, Any]:
    """Return what prediction needs: "reads", sizes, plain options, and the weights by name."""
    plain = net.module_.to_plain()
    plain.pop("unknown_id", None)  # the same in all documents
    return {
        "reads": "words" if net.dimension is None else "vectors",
        **plain,
        "valid_batch_size": int(net.valid_batch_size),
        "weights": net.weights,
    }


def stored_net(make_net: Callable[..., Net], state: Mapping[str, Any], device: str) -> Net:
    """Create a net of a checked state, for prediction."""
    options = NetworkOptions.from_plain(state["options"])
    params = {f"module__{name}": state[name] for name in state.keys() - _NO_SIZES}
    params["valid_batch_size"] = state["valid_batch_size"]
    return predicting_net(make_net, options, state["weights"], device, **params)


@torch_threads()
def predicting_net(
    make_net: Callable[..., Net],
    options: Options,
    weights: Mapping[str, NDArray[Any]],
    device: str,
    **params: Any,
) -> Net:
    """Create a net with stored weights, for prediction: it has no optimizer."""
    network = options.get_params(deep=False)
    net: Net = make_net(
        module__generator=torch.Generator(),  # the weights drawn here are replaced at once
        optimizer=None,
        device=device,
        **{f"module__{name}": value for name, value in network.items()},
        **params,
    ).initialize()
    own = {name: torch.tensor(weight, device="cpu") for name, weight in weights.items()}
    net.module_.load_state_dict(own)
    net.prepare_to_predict()
    return net


def copied_net(net: Net) -> Net:
    """Return a copy of a net for prediction, which further training does not change."""
    how = {name: getattr(net, name) for name in ("to_tensors", "measures", "decide")}
    return stored_net(partial(Net, net.module, **how), net_to_state(net), net.device)
