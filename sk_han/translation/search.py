"""Beam search: the most probable target words of a source, for all sources of a batch at once."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from sk_han.translation.network import END_ID, AttentionSeq2Seq


class Hypothesis(NamedTuple):
    """What was found for a source."""

    word_ids: Tensor  # (n_words,), without the end mark
    attention: Tensor  # (n_words, source_length); the last source word is the end mark
    score: float  # of words and end mark: log-probability / number ** length_penalty


@torch.no_grad()
def beam_search(
    network: AttentionSeq2Seq,
    source_ids: Tensor,
    lengths: Tensor,
    *,
    beam_size: int,
    length_penalty: float,
    max_words: Tensor,
) -> list[Hypothesis]:
    """Find the best of the hypotheses that a beam of the best beginnings leads to.

    A hypothesis that has ended keeps a place in the beam while it is among the best. A sum of
    logarithms would prefer short ones, so it is divided by a power of their length (Wu et al.,
    2016). Sources (X,), lengths (P,) as of `AttentionSeq2Seq.encode`; `max_words` (P,) on the CPU.
    """
    device, K = source_ids.device, beam_size
    memory, state = network.encode(source_ids, lengths)
    P, W = memory.mask.shape
    pairs = torch.arange(P, device=device)  # those with an open hypothesis
    found: list[Hypothesis | None] = [None] * P
    # At first all hypotheses of a beam are equal: only one of them counts.
    scores = memory.mask.new_full((P, K), float("-inf"))  # sums of logarithms
    scores[:, 0] = 0
    ended = torch.zeros(P, K, dtype=torch.bool, device=device)
    n_words = torch.zeros(P, K, dtype=torch.int64, device=device)
    words = torch.full((P * K, 1), END_ID, device=device)
    attention = memory.mask.new_zeros(P * K, 0, W)
    own = pairs.repeat_interleave(K)  # the pair of each row
    memory, state = memory.of(own), state.of(own)
    most = max_words.to(device)
    for step in range(int(max_words.max()) + 1):
        n = len(pairs)
        state, weights = network.step(memory, state, words[:, -1])
        logs = torch.log_softmax(network.logits(state.attentional), dim=1).view(n, K, -1)
        V = logs.shape[2]
        ends = ended | (step >= most[pairs]).unsqueeze(1)  # (n, K)
        end_score = logs[:, :, END_ID].masked_fill(ended, 0)
        logs = logs.masked_fill(ends.unsqueeze(2), float("-inf"))
        logs[:, :, END_ID] = end_score
        after = scores.unsqueeze(2) + logs  # (n, K, V)
        length = (n_words + (~ended)).clamp(min=1).to(after)  # of words and end mark
        ranked = after / length.pow(length_penalty).unsqueeze(2)
        best, place = ranked.view(n, K * V).topk(K, dim=1)  # (n, K)
        parent, word = place // V, place % V
        scores = after.view(n, K * V).gather(1, place)
        was_ended = ended.gather(1, parent)
        n_words = n_words.gather(1, parent) + (~was_ended)
        ended = was_ended | (word == END_ID) | scores.isneginf()  # the last: of no hypothesis
        rows = (torch.arange(n, device=device).unsqueeze(1) * K + parent).view(-1)
        words = torch.cat([words[rows], word.view(-1, 1)], dim=1)
        attention = torch.cat([attention[rows], weights[rows].unsqueeze(1)], dim=1)
        state = state.of(rows)

        done = ended.all(dim=1)
        for i in done.nonzero().squeeze(1).tolist():
            pair, row, count = int(pairs[i]), i * K, int(n_words[i, 0]) - 1
            attended = attention[row, :count, : int(lengths[pair])]
            found[pair] = Hypothesis(words[row, 1 : 1 + count], attended, float(best[i, 0]))
        if done.all():
            break
        if done.any():
            kept = (~done).nonzero().squeeze(1)
            rows = (kept.unsqueeze(1) * K + torch.arange(K, device=device)).view(-1)
            pairs, scores, ended, n_words = pairs[kept], scores[kept], ended[kept], n_words[kept]
            words, attention = words[rows], attention[rows]
            memory, state = memory.of(rows), state.of(rows)
    return [hypothesis for hypothesis in found if hypothesis is not None]
