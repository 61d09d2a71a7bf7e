"""The words of a batch: the distinct ones, and chunks to encode at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from sk_han.nn.ragged.segments import check_lengths


def distinct_words(word_ids: Tensor, vocabulary_size: int) -> tuple[Tensor, Tensor]:
    """Return the distinct ids of a batch (U,), rising, and each word's position in them (T,)."""
    if len(word_ids) and int(word_ids.min()) < 0:  # PyTorch would count from the end
        raise IndexError(f"word ids must be at least 0; got {int(word_ids.min())}.")
    occurs = torch.zeros(vocabulary_size, dtype=torch.bool, device=word_ids.device)
    occurs[word_ids] = True
    distinct = occurs.nonzero().squeeze(1)
    position = torch.empty(vocabulary_size, dtype=torch.int64, device=word_ids.device)
    position[distinct] = torch.arange(len(distinct), device=word_ids.device)
    return distinct, position[word_ids]


def in_chunks(
    encode: Callable[[Tensor, Tensor], tuple[Tensor, ...]],
    word_ids: Tensor,
    words_per_sentence: Tensor,
    max_words: int,
) -> tuple[Tensor, ...]:
    """Encode ids (T,) of sentences (N,), at most `max_words` words at once (or one sentence)."""
    if len(word_ids) <= max_words:
        return encode(word_ids, words_per_sentence)
    check_lengths(words_per_sentence, len(word_ids))
    if torch.is_grad_enabled():
        # To save memory, each chunk computes its states again in its backward pass.
        encode = partial(checkpoint, encode, use_reentrant=False, preserve_rng_state=False)
    encoded = [
        encode(ids, lengths) for ids, lengths in _chunks(word_ids, words_per_sentence, max_words)
    ]
    return tuple(torch.cat(rows) for rows in zip(*encoded, strict=True))


def _chunks(
    word_ids: Tensor, words_per_sentence: Tensor, max_words: int
) -> Iterator[tuple[Tensor, Tensor]]:
    """Cut a batch between sentences into chunks of at most `max_words` words."""
    ends = torch.cumsum(words_per_sentence, 0)
    sentence, word = 0, 0
    while sentence < len(ends):
        fitting = int(torch.searchsorted(ends, word + max_words, right=True))
        next_sentence = max(fitting, sentence + 1)
        next_word = int(ends[next_sentence - 1])
        yield word_ids[word:next_word], words_per_sentence[sentence:next_sentence]
        sentence, word = next_sentence, next_word
