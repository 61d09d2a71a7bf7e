"""The linear-chain conditional random field over ragged sequences, without padding.

A path of labels ``y`` through a sequence of T tokens has the score
``first[y_1] + sum_t emissions[t, y_t] + sum_t transitions[y_t, y_(t+1)]``, and the probability
``exp(score) / Z``, where Z sums over all paths (Lafferty, McCallum, Pereira, 2001). A transition of
minus infinity is on no path of a probability above 0.

Sequences advance together, step by step, in double precision. A step is one product of matrices,
``log(exp(a - m) @ exp(transitions)) + m`` with the largest entry m of each row, as long as scores
are so small that no factor rounds to 0. Trained ones are; others take the slower sum of logarithms.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from sk_han.nn.ragged.layout import PackedLayout
from sk_han.nn.ragged.segments import segment_numbers, segment_sum, sequence_ends

__all__ = ["best_paths", "log_partition", "marginals", "path_scores"]

# Paths into the labels of a token differ by at most eight times this, and exp(-745) is not 0.
_LARGEST_SCORE = 80.0
# exp of it is finite, also summed up over all tokens.
_LARGEST_EXPONENT = 600.0


def path_scores(
    emissions: Tensor, labels: Tensor, first: Tensor, transitions: Tensor, lengths: Tensor
) -> Tensor:
    """Compute the score of one path of each sequence.

    Parameters
    ----------
    emissions : Tensor, shape (T, C)
        Score of each label at each token.
    labels : Tensor of int64, shape (T,)
        The label of each token on the path.
    first : Tensor, shape (C,)
        Score of each label at the first token of a sequence.
    transitions : Tensor, shape (C, C)
        Score of the label in the column after the label in the row.
    lengths : Tensor of int64 on the CPU, shape (N,)
        Number of tokens of each sequence, together T. A sequence without tokens has the score 0.

    Returns
    -------
    Tensor of float64, shape (N,)
    """
    _, starts, _ = sequence_ends(lengths, emissions.device)
    scores = emissions.gather(1, labels.unsqueeze(1)).squeeze(1)  # (T,)
    into = torch.zeros_like(scores)
    into[1:] = transitions[labels[:-1], labels[1:]]
    into = into.index_copy(0, starts, first[labels[starts]])
    sequence = segment_numbers(lengths).to(emissions.device)
    return segment_sum((scores + into).double().unsqueeze(1), sequence, len(lengths)).squeeze(1)


def log_partition(emissions: Tensor, first: Tensor, transitions: Tensor, lengths: Tensor) -> Tensor:
    """Compute the logarithm of the sum of ``exp(score)`` over all paths of each sequence.

    Each label needs a label that may follow it and one that may stand before it.

    Parameters
    ----------
    emissions, first, transitions, lengths : Tensor
        As of `path_scores`.

    Returns
    -------
    Tensor of float64, shape (N,)
        0 for a sequence without tokens, which has one path.
    """
    total: Tensor = _LogPartition.apply(emissions, first, transitions, lengths)
    return total


@torch.no_grad()
def marginals(emissions: Tensor, first: Tensor, transitions: Tensor, lengths: Tensor) -> Tensor:
    """Compute the probability of each label at each token, over all paths.

    Parameters
    ----------
    emissions, first, transitions, lengths : Tensor
        As of `path_scores`.

    Returns
    -------
    Tensor of float64, shape (T, C)
        Rows sum to 1.
    """
    chain = _Chain.of(emissions, first, transitions, lengths)
    alpha = chain.forwards()
    weights = torch.softmax(alpha + chain.backwards(), dim=1)
    return weights[chain.layout.forward_row.to(weights.device)]


@torch.no_grad()
def best_paths(emissions: Tensor, first: Tensor, transitions: Tensor, lengths: Tensor) -> Tensor:
    """Find the path of the highest score of each sequence (Viterbi, 1967).

    Parameters
    ----------
    emissions, first, transitions, lengths : Tensor
        As of `path_scores`.

    Returns
    -------
    Tensor of int64, shape (T,)
        The label of each token; of equal scores the first label.
    """
    chain = _Chain.of(emissions, first, transitions, lengths)
    scores, steps = chain.emissions, chain.steps
    before = torch.empty(scores.shape, dtype=torch.int64, device=scores.device)
    best = torch.empty_like(scores)
    for step, rows in enumerate(steps):
        if step == 0:
            best[rows] = scores[rows] + chain.first
            continue
        previous = best[steps[step - 1]][: rows.stop - rows.start]
        highest = (previous.unsqueeze(2) + chain.transitions).max(dim=1)  # (active, C)
        best[rows], before[rows] = highest.values + scores[rows], highest.indices
    path = best.argmax(dim=1)  # right where a sequence ends
    for step in range(len(steps) - 1, 0, -1):
        rows = steps[step]
        start = steps[step - 1].start
        n = rows.stop - rows.start
        path[start : start + n] = before[rows].gather(1, path[rows].unsqueeze(1)).squeeze(1)
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
        chain, alpha = ctx.chain, ctx.alpha
        device, beta = total.device, chain.backwards()
        sequence = segment_numbers(chain.layout.lengths)[chain.layout.forward_token].to(device)
        total, share = total[sequence].unsqueeze(1), grad.to(device)[sequence].unsqueeze(1)
        labels = share * torch.exp(alpha + beta - total)  # (T, C)
        pairs = torch.zeros_like(chain.transitions)
        later = slice(chain.layout.n_filled, None)  # the rows that have a token before them
        if len(alpha[later]):
            before, after = alpha[chain.previous], chain.emissions[later] + beta[later]
            pairs = chain.pairs(before, after - total[later], share[later])
        tokens = labels[chain.layout.forward_row.to(device)]
        at_start = labels[: chain.layout.n_filled].sum(0)
        gradients = tokens, at_start, pairs
        return (*(each.to(chain.device, chain.dtype) for each in gradients), None)


class _Chain(NamedTuple):
    """A batch of chains in the order of a `PackedLayout`, in double precision."""

    emissions: Tensor  # (T, C), packed
    first: Tensor  # (C,)
    transitions: Tensor  # (C, C)
    layout: PackedLayout
    steps: list[slice]  # the packed rows of each step
    previous: Tensor  # (T - filled,), the row before each row of a later step
    is_small: bool  # whether no score is beyond _LARGEST_SCORE, but for minus infinity
    device: torch.device
    dtype: torch.dtype

    @classmethod
    def of(cls, emissions: Tensor, first: Tensor, transitions: Tensor, lengths: Tensor) -> _Chain:
        layout = PackedLayout(lengths)
        # Apple's GPUs have no double precision.
        device = torch.device("cpu") if emissions.device.type == "mps" else emissions.device
        double = [each.detach().to(device).double() for each in (emissions, first, transitions)]
        ends = torch.cumsum(torch.tensor(layout.active, dtype=torch.int64, device="cpu"), 0)
        steps = [slice(e - n, e) for e, n in zip(ends.tolist(), layout.active, strict=True)]
        # `previous_row` counts an initial state of each sequence before the first rows.
        previous = layout.previous_row[layout.n_filled :] - layout.n_filled
        return cls(
            double[0][layout.forward_token.to(device)],
            double[1],
            double[2],
            layout,
            steps,
            previous.to(device),
            all(_largest(each) <= _LARGEST_SCORE for each in double),
            emissions.device,
            emissions.dtype,
        )

    def forwards(self) -> Tensor:
        """Return the log-sum over the paths up to each token and label, packed (T, C)."""
        log_product = self._log_product(self.transitions)
        alpha = torch.empty_like(self.emissions)
        for step, rows in enumerate(self.steps):
            if step == 0:
                alpha[rows] = self.emissions[rows] + self.first
                continue
            start = self.steps[step - 1].start
            previous = alpha[start : start + rows.stop - rows.start]
            alpha[rows] = log_product(previous) + self.emissions[rows]
        return alpha

    def backwards(self) -> Tensor:
        """Return the log-sum over the paths after each token and label, packed (T, C)."""
        log_product = self._log_product(self.transitions.T)
        beta = torch.zeros_like(self.emissions)
        for step in range(len(self.steps) - 1, 0, -1):
            rows, start = self.steps[step], self.steps[step - 1].start
            following = beta[rows] + self.emissions[rows]
            beta[start : start + rows.stop - rows.start] = log_product(following)
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


def _largest(scores: Tensor) -> float:
    return float(scores.masked_fill(scores == -torch.inf, 0).abs().amax()) if len(scores) else 0.0
