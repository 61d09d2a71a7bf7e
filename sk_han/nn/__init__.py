"""The network in PyTorch alone, independent of scikit-learn, skorch and text."""

from sk_han._kernels.engine import using_engine
from sk_han._options import NetworkOptions
from sk_han.nn._encoders import BidirectionalGRU, PackedRNN
from sk_han.nn._han import HANOutput, HierarchicalAttentionNetwork
from sk_han.nn._poolings import (
    AttentionPooling,
    LabelAttention,
    LastPooling,
    MaxPooling,
    MeanPooling,
    MultiHopPooling,
    Pooling,
)

__all__ = [
    "AttentionPooling",
    "BidirectionalGRU",
    "HANOutput",
    "HierarchicalAttentionNetwork",
    "LabelAttention",
    "LastPooling",
    "MaxPooling",
    "MeanPooling",
    "MultiHopPooling",
    "NetworkOptions",
    "PackedRNN",
    "Pooling",
    "using_engine",
]
