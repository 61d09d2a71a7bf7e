"""Options of the network, without PyTorch, and the shapes of the network's weights."""

from sk_han.options.base import Choice, Options, Range
from sk_han.options.network import (
    RNN,
    Attention,
    ContextAttention,
    MultiHopAttention,
    NetworkOptions,
)
from sk_han.options.tagging import TaggingOptions

__all__ = [
    "RNN",
    "Attention",
    "Choice",
    "ContextAttention",
    "MultiHopAttention",
    "NetworkOptions",
    "Options",
    "Range",
    "TaggingOptions",
]
