"""The network in PyTorch alone: it knows nothing of scikit-learn, skorch or text."""

from sk_han.nn.attention import AttentionPooling
from sk_han.nn.context import ContextPooling
from sk_han.nn.han import HANOutput, HierarchicalAttentionNetwork
from sk_han.nn.hops import MultiHopAttention
from sk_han.nn.packed import PackedRNN
from sk_han.nn.pooling import LastPooling, MaxPooling, MeanPooling
from sk_han.nn.recurrent import BidirectionalGRU

__all__ = [
    "AttentionPooling",
    "BidirectionalGRU",
    "ContextPooling",
    "HANOutput",
    "HierarchicalAttentionNetwork",
    "LastPooling",
    "MaxPooling",
    "MeanPooling",
    "MultiHopAttention",
    "PackedRNN",
]
