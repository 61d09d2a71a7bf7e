"""The network in PyTorch alone: it knows nothing of scikit-learn, skorch or text."""

from sk_han.nn.attention import AttentionPooling
from sk_han.nn.han import HANOutput, HierarchicalAttentionNetwork
from sk_han.nn.recurrent import BidirectionalGRU

__all__ = ["AttentionPooling", "BidirectionalGRU", "HANOutput", "HierarchicalAttentionNetwork"]
