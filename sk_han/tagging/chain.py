"""The linear-chain conditional random field over ragged sequences, without padding.

A path of labels ``y`` through a sequence of T tokens has the score
``first[y_1] + sum_t emissions[t, y_t] + sum_t transitions[y_t, y_(t+1)]``, and the probability
``exp(score) / Z``, where Z sums over all paths (Lafferty, McCallum, Pereira, 2001). A transition of
minus infinity is on no path of a probability above 0.

Arguments: ``emissions`` (T, C) of all sequences, ``first`` (C,), ``transitions`` (C, C) from the
label in the row to that in the column, and on the CPU ``lengths`` (N,), together T. A sequence
without tokens has one path, of the score 0. Scores of sequences are returned as float64.

Sequences advance together, step by step, in double precision. A step is one product of matrices,
``log(exp(a - m) @ exp(transitions)) + m`` with the largest entry m of each row, as long as scores
are so small that no factor rounds to 0. Trained ones are; others take the slower sum of logarithms.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from sk_han.nn.ragged import PackedLayout, segment_numbers, segment_sum, sequence_ends

# Paths into the labels of a token differ by at most eight times this, and exp(-745) is not 0.
_LARGEST_SCORE = 80.0
# exp of it is finite, also summed up over all tokens.
_LARGEST_EXPONENT = 600.0


def path_scores(
    emissions: Tensor, labels: Tensor, first: Tensor, transitions: Tensor, lengths: Tensor
) -> Tensor:
    """Compute the score of the path of these labels (T,) of each sequence, shape (N,)."""
    _, starts, _ = sequence_ends(lengths, emissions.device)
    scores = emissions.gather(1, labels.unsqueeze(1)).squeeze(1)  # (T,)
    into = torch.zeros_like(scores)
    into[1:] = transitions[labels[:-1], labels[1:]]
    into = into.index_copy(0, starts, first[labels[starts]])
    sequence = segment_numbers(lengths).to(emissions.device)
    return segment_sum((scores + into).double().unsqueeze(1), sequence, len(lengths)).squeeze(1)


def log_partition(emissions: Tensor, first: Tensor, transitions: Tensor, lengths: Tensor) -> Tensor:
    """Compute the logarithm of the sum of ``exp(score)`` over all paths, shape (N,)."""
    total: Tensor = _LogPartition.apply(emissions, first, transitions, lengths)
    return total


@torch.no_grad()
def marginals(emissions: Tensor, first: Tensor, transitions: Tensor, lengths: Tensor) -> Tensor:
    """Compute the probability of each label at each token, over all paths, shape (T, C)."""
    chain = _Chain.of(emissions, first, transitions, lengths)
    alpha = chain.forwards()
    weights = torch.softmax(alpha + chain.backwards(), dim=1)
    return weights[chain.layout.forward_row.to(weights.device)]


@torch.no_grad()
def best_paths(emissions: Tensor, first: Tensor, transitions: Tensor, lengths: Tensor) -> Tensor:
    """Find the labels (T,) of the best path of each sequence (Viterbi, 1967)."""
    chain = _Chain.of(emissions, first, transitions, lengths)
    came_from = torch.empty(chain.emissions.shape, dtype=torch.int64, device=chain.emissions.device)
    best = chain.begun()
    for rows, before in chain.steps:
        highest = (best[before].unsqueeze(2) + chain.transitions).max(dim=1)  # (active, C)
        best[rows], came_from[rows] = highest.values + chain.emissions[rows], highest.indices
    path = best.argmax(dim=1)  # right where a sequence ends
    for rows, before in reversed(chain.steps):
        path[before] = came_from[rows].gather(1, path[rows].unsqueeze(1)).squeeze(1)
    return path[chain.layout.forward_row.to(path.device)]


class _LogPartition(torch.autograd.Function):
    """`log_partition`, whose gradient is the expected number of each label and transition."""

    @staticmethod
    def forward(
        ctx: Any, emissions: Tensor, first: Tensor, transitions: Tensor, lengths: Tensor
    ) -> Tensor:
        """Sum up all paths from the left."""
        ctx.chain = _Chain.of(emissions, first, transitions, lengths)
        ctx.alpha = ctx.chain.forwards()
        total = ctx.chain.emissions.new_zeros(len(lengths))
        filled, _, last = sequence_ends(lengths, total.device)
        rows = ctx.chain.layout.forward_row.to(total.device)[last]
        total[filled] = torch.logsumexp(ctx.alpha[rows], dim=1)
        ctx.save_for_backward(total)
        return total.to(emissions.device)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """Compute marginals of labels and pairs by the paths from both sides."""
        (total,) = ctx.saved_tensors
        chain, alpha, layout = ctx.chain, ctx.alpha, ctx.chain.layout
        device, beta = total.device, chain.backwards()
        sequence = segment_numbers(layout.lengths)[layout.forward_token].to(device)
        total, share = total[sequence].unsqueeze(1), grad.to(device)[sequence].unsqueeze(1)
        labels = share * torch.exp(alpha + beta - total)  # (T, C)
        pairs = torch.zeros_like(chain.transitions)
        n = layout.n_filled  # rows from here on have a token before them
        if len(alpha) > n:
            # The layout counts an initial state of each sequence before the first rows.
            before = alpha[(layout.previous_row[n:] - n).to(device)]
            after = chain.emissions[n:] + beta[n:]
            pairs = chain.pairs(before, after - total[n:], share[n:])
        gradients = labels[layout.forward_row.to(device)], labels[:n].sum(0), pairs
        return (*(each.to(chain.device, chain.dtype) for each in gradients), None)


class _Chain(NamedTuple):
    """A batch of chains in the order of a `PackedLayout`, in double precision."""

    emissions: Tensor  # (T, C), packed
    first: Tensor  # (C,)
    transitions: Tensor  # (C, C)
    layout: PackedLayout
    steps: list[tuple[slice, slice]]  # rows of each later step, and the rows before them
    is_small: bool  # whether no score is beyond _LARGEST_SCORE, but for minus infinity
    device: torch.device
    dtype: torch.dtype

    @classmethod
    def of(cls, emissions: Tensor, first: Tensor, transitions: Tensor, lengths: Tensor) -> _Chain:
        layout = PackedLayout(lengths)
        # Apple's GPUs have no double precision.
        device = torch.device("cpu") if emissions.device.type == "mps" else emissions.device
        double = [each.detach().to(device).double() for each in (emissions, first, transitions)]
        starts = [0, *accumulate(layout.active)]
        steps = [
            (slice(start, start + n), slice(before, before + n))
            for before, start, n in zip(starts, starts[1:], layout.active[1:], strict=False)
        ]
        packed = double[0][layout.forward_token.to(device)]
        is_small = all(
            bool(((each.abs() <= _LARGEST_SCORE) | (each == -torch.inf)).all()) for each in double
        )
        of_chain = packed, double[1], double[2], layout, steps, is_small
        return cls(*of_chain, emissions.device, emissions.dtype)

    def begun(self) -> Tensor:
        """Return the scores of the paths into the first tokens; other rows are not set, (T, C)."""
        scores, n = torch.empty_like(self.emissions), self.layout.n_filled
        scores[:n] = self.emissions[:n] + self.first
        return scores

    def forwards(self) -> Tensor:
        """Return the log-sum over the paths up to each token and label, packed (T, C)."""
        log_product, alpha = self._log_product(self.transitions), self.begun()
        for rows, before in self.steps:
            alpha[rows] = log_product(alpha[before]) + self.emissions[rows]
        return alpha

    def backwards(self) -> Tensor:
        """Return the log-sum over the paths after each token and label, packed (T, C)."""
        log_product = self._log_product(self.transitions.T)
        beta = torch.zeros_like(self.emissions)
        for rows, before in reversed(self.steps):
            beta[before] = log_product(beta[rows] + self.emissions[rows])
        return beta

    def pairs(self, before: Tensor, after: Tensor, share: Tensor) -> Tensor:
        """Return the expected number of each transition, (C, C), by the log-sums on both sides."""
        if not self.is_small:
            paths = before.unsqueeze(2) + self.transitions + after.unsqueeze(1)  # (T, C, C)
            return (share.unsqueeze(2) * paths.exp()).sum(0)
        highest = before.max(dim=1, keepdim=True).values
        # A label that may not follow the likeliest one may have any factor here, but not infinity.
        factor = (after + highest).clamp(max=_LARGEST_EXPONENT).exp_() * share
        return (before - highest).exp_().T @ factor * self.transitions.exp()

    def _log_product(self, transitions: Tensor) -> Callable[[Tensor], Tensor]:
        """Return the function of rows that computes ``log(exp(rows) @ exp(transitions))``."""
        if not self.is_small:
            return lambda rows: torch.logsumexp(rows.unsqueeze(2) + transitions, dim=1)
        factor = transitions.exp()

        def product(rows: Tensor) -> Tensor:
            highest = rows.max(dim=1, keepdim=True).values
            return (rows - highest).exp_().mm(factor).log_().add_(highest)

        return product
