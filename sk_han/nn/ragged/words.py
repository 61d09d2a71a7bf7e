"""The words of a batch: which of them are distinct, and how many are encoded at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

__all__ = ["distinct_words", "in_parts"]


def distinct_words(word_ids: Tensor, vocabulary_size: int) -> tuple[Tensor, Tensor]:
    """Find the distinct ids of a batch, and where each word's id stands among them.

    A batch repeats its words four to seven times, and what depends on the word alone needs
    computing once. Marking a table of the vocabulary is cheaper than sorting the words.

    Returns
    -------
    distinct : Tensor of int64, shape (U,)
        Rising.
    index : Tensor of int64, shape (T,)
        ``distinct[index]`` are the words.
    """
    occurs = torch.zeros(vocabulary_size, dtype=torch.bool, device=word_ids.device)
    occurs[word_ids] = True
    distinct = occurs.nonzero().squeeze(1)
    position = torch.empty(vocabulary_size, dtype=torch.int64, device=word_ids.device)
    position[distinct] = torch.arange(len(distinct), device=word_ids.device)
    return distinct, position[word_ids]


def in_parts(
    encode: Callable[[Tensor, Tensor], tuple[Tensor, ...]],
    word_ids: Tensor,
    words_per_sentence: Tensor,
    max_words: int,
) -> tuple[Tensor, ...]:
    """Encode sentences, at most `max_words` words at once (or one longer sentence).

    Parameters
    ----------
    encode : callable
        Takes word ids and words per sentence; gives tensors with a row for each word or sentence.
    word_ids : Tensor of int64, shape (T,)
    words_per_sentence : Tensor of int64 on the CPU, shape (N,)
    max_words : int

    Returns
    -------
    tuple of Tensor
        The rows of all parts.
    """
    if len(word_ids) <= max_words:
        return encode(word_ids, words_per_sentence)
    if torch.is_grad_enabled():
        # Each part forgets its states and computes them again for its backward.
        encode = partial(checkpoint, encode, use_reentrant=False, preserve_rng_state=False)
    parts = [
        encode(ids, lengths) for ids, lengths in _parts(word_ids, words_per_sentence, max_words)
    ]
    return tuple(torch.cat(rows) for rows in zip(*parts, strict=True))


def _parts(
    word_ids: Tensor, words_per_sentence: Tensor, max_words: int
) -> Iterator[tuple[Tensor, Tensor]]:
    """Cut a batch between sentences so that each part has at most `max_words` words."""
    ends = torch.cumsum(words_per_sentence, 0)
    sentence, word = 0, 0
    while sentence < len(ends):
        fitting = int(torch.searchsorted(ends, word + max_words, right=True))
        next_sentence = max(fitting, sentence + 1)
        next_word = int(ends[next_sentence - 1])
        yield word_ids[word:next_word], words_per_sentence[sentence:next_sentence]
        sentence, word = next_sentence, next_word
