"""The network in PyTorch alone, independent of scikit-learn, skorch and text."""

from sk_han.nn.encoders.bidirectional_gru import BidirectionalGRU
from sk_han.nn.encoders.packed_rnn import PackedRNN
from sk_han.nn.han import HANOutput, HierarchicalAttentionNetwork
from sk_han.nn.pooling.attention import AttentionPooling
from sk_han.nn.pooling.base import Pooling
from sk_han.nn.pooling.context import ContextPooling
from sk_han.nn.pooling.label_attention import LabelAttention
from sk_han.nn.pooling.multi_hop import MultiHopPooling
from sk_han.nn.pooling.unweighted import LastPooling, MaxPooling, MeanPooling

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
]
