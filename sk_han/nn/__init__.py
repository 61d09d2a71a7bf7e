"""The network in PyTorch alone, independent of scikit-learn, skorch and text."""

from sk_han.kernels.engine import using_engine
from sk_han.nn.encoders import BidirectionalGRU, PackedRNN
from sk_han.nn.han import HANOutput, HierarchicalAttentionNetwork
from sk_han.nn.poolings import (
    AttentionPooling,
    ContextPooling,
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
    "ContextPooling",
    "HANOutput",
    "HierarchicalAttentionNetwork",
    "LabelAttention",
    "LastPooling",
    "MaxPooling",
    "MeanPooling",
    "MultiHopPooling",
    "PackedRNN",
    "Pooling",
    "using_engine",
]
