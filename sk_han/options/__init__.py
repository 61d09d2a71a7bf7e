"""Options of the network, without PyTorch, and the shapes of the network's weights."""

from sk_han.options.base import Choice, Options, Range
from sk_han.options.network import (
    RNN,
    Attention,
    ContextAttention,
    MultiHopAttention,
    NetworkOptions,
)

__all__ = [
    "RNN",
    "Attention",
    "Choice",
    "ContextAttention",
    "MultiHopAttention",
    "NetworkOptions",
    "Options",
    "Range",
]
