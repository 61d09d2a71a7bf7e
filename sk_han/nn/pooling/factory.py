"""Create the pooling that the options describe."""

from __future__ import annotations

import torch

from sk_han.nn.pooling.attention import AttentionPooling
from sk_han.nn.pooling.base import Pooling
from sk_han.nn.pooling.context import ContextPooling
from sk_han.nn.pooling.multi_hop import MultiHopPooling
from sk_han.nn.pooling.unweighted import LastPooling, MaxPooling, MeanPooling
from sk_han.options import ContextAttention, MultiHopAttention, NetworkOptions


def word_pooling(
    options: NetworkOptions, input_size: int, generator: torch.Generator | None
) -> Pooling:
    """Return the pooling of word states to sentence vectors."""
    attention = options.attention
    if isinstance(attention, ContextAttention):
        return ContextPooling(
            input_size,
            attention.size,
            bidirectional=attention.direction == "bidirectional",
            summary=attention.summary,
            gated=attention.gated,
            generator=generator,
        )
    return sentence_pooling(options, input_size, generator)


def sentence_pooling(
    options: NetworkOptions, input_size: int, generator: torch.Generator | None
) -> Pooling:
    """Return the pooling of sentence states to document vectors."""
    attention = options.attention
    if options.pooling == "mean":
        return MeanPooling(input_size)
    if options.pooling == "max":
        return MaxPooling(input_size)
    if attention is None:
        return LastPooling(input_size, options.recurrent.bidirectional)
    if isinstance(attention, MultiHopAttention) and attention.hops > 1:
        return MultiHopPooling(input_size, attention.size, attention.hops, generator)
    return AttentionPooling(input_size, attention.size, generator)
