"""Nets of the network of words, to train by the step."""

import torch

from sk_han import Attention
from sk_han._training.builder import document_net
from sk_han._training.net import Net
from sk_han.nn._training import RowwiseAdamW


def tiny_net(dtype: torch.dtype = torch.float32, **params) -> Net:
    """Make a net whose axes have sizes of their own, with dropout and noise."""
    settings = {
        "module__vocabulary_size": 13,
        "module__n_classes": 3,
        "module__embedding_dim": 17,
        "module__word_hidden": 5,
        "module__sentence_hidden": 7,
        "module__pooling": Attention(size=19),
        "module__dropout": 0.3,
        "module__word_dropout": 0.2,
        "module__sparse": True,
        "module__generator": torch.Generator().manual_seed(0),
        "optimizer": RowwiseAdamW,
        "lr": 0.01,
        "noise": 0.3,
    }
    net = document_net(**settings | params).initialize()
    net.module_.to(dtype)
    return net
