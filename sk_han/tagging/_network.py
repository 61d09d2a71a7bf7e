"""A recurrent network that labels tokens, with a linear-chain conditional random field."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from sk_han._options import Choice, Options, Range, option
from sk_han.nn._encoders import (
    BidirectionalGRU,
    distinct_words,
    dropout,
    normal_,
    parameter,
    with_memory,
    word_dropout,
    xavier_uniform_,
)
from sk_han.nn._ragged import PackedLayout, segment_numbers, segment_sum, sequence_ends

# Standard deviation of the entries of an initial vector, and factor of PyTorch's initial input
# weights.
VECTOR_SCALE, INPUT_GAIN = 0.1, 3.0


@dataclass(kw_only=True)
class TaggingOptions(Options):
    """Options of a `TaggingNetwork`: sizes, dropout and the random field; see `SequenceTagger`."""

    embedding_dim: int = option(50, Range(Integral, 1))
    attribute_dim: int = option(20, Range(Integral, 1))
    hidden_size: int = option(100, Range(Integral, 1))
    dropout: float = option(0.5, Range(Real, 0, 1))
    word_dropout: float = option(0.05, Range(Real, 0, 1))
    crf: bool = option(True, Choice((False, True)))


class TaggingOutput(NamedTuple):
    """Result of `TaggingNetwork.attend`.

    Attributes
    ----------
    logits : Tensor, shape (T, C)
        Score of each label at each token, without transitions.
    penalty : Tensor, shape (N,)
        Zeros, since nothing is added to the loss.
    """

    logits: Tensor
    penalty: Tensor


class TaggingNetwork(nn.Module):
    """Encode the tokens of sentences in both directions, and score the labels of each token.

    A token is a row of attributes: its word, and others such as its suffix, its shape or a part of
    speech. The concatenated vectors of its attributes are the input of a bidirectional GRU. With
    ``crf=True`` a linear-chain conditional random field connects the labels of neighbouring tokens
    (Huang, Xu, Yu, 2015; see `sk_han.SequenceTagger`). The result of a sentence does not depend on
    other sentences.

    Parameters
    ----------
    sizes : sequence of int
        Number of values of each attribute, including padding (0) and the unknown value (1). The
        first attribute is the word.
    n_classes : int
        Number of labels C.
    chunks : Tensor of int64, shape (C,), optional
        Allowed transitions. A label with a negative number -k may only follow labels with k or -k,
        and never starts a sentence; other labels may follow any label. At least one label must not
        be negative.
    unknown_id : int
        Value of a word dropped in training.
    sparse : bool
        Whether the gradient of the vectors is sparse.
    generator : torch.Generator on the CPU, optional
        Source of the initial weights and of dropout; by default PyTorch's global one.
    **options
        Of `sk_han.tagging.TaggingOptions`.

    Examples
    --------
    Two sentences, of two tokens and of one; three kinds of tokens with a word and one attribute.

    >>> import torch
    >>> from sk_han.tagging import TaggingNetwork
    >>> network = TaggingNetwork(sizes=[5, 4], n_classes=3)
    >>> kinds, attributes = torch.tensor([0, 2, 1]), torch.tensor([[2, 2], [3, 2], [4, 3]])
    >>> network(kinds, attributes, torch.tensor([2, 1])).shape
    torch.Size([3, 3])
    """

    offsets: Tensor
    chunks: Tensor | None

    def __init__(
        self,
        sizes: Sequence[int],
        n_classes: int,
        *,
        chunks: Tensor | None = None,
        unknown_id: int = 1,
        sparse: bool = False,
        generator: torch.Generator | None = None,
        **options: Any,
    ) -> None:
        super().__init__()
        self.options = TaggingOptions(**options).copy()
        self.options.check()
        self.unknown_id, self.generator = unknown_id, generator
        n_words, n_others = sizes[0], sum(sizes[1:])
        E, D = self.options.embedding_dim, self.options.attribute_dim
        self.embedding = nn.Embedding(n_words, E, sparse=sparse, _weight=parameter(n_words, E))
        self.attributes = nn.Embedding(n_others, D, sparse=sparse, _weight=parameter(n_others, D))
        input_size = E + D * (len(sizes) - 1)
        self.encoder = BidirectionalGRU(input_size, self.options.hidden_size, generator)
        self.output = with_memory(nn.Linear(self.encoder.output_size, n_classes, device="meta"))
        shape = (n_classes + 1, n_classes)
        self.transitions = parameter(*shape) if self.options.crf else None
        offsets = torch.cumsum(torch.tensor([0, *sizes[1:]], device="cpu"), 0)[:-1]
        self.register_buffer("offsets", offsets, persistent=False)
        self.register_buffer("chunks", chunks, persistent=False)
        normal_(self.embedding.weight, VECTOR_SCALE, generator)
        normal_(self.attributes.weight, VECTOR_SCALE, generator)
        xavier_uniform_(self.output.weight, generator)
        nn.init.zeros_(self.output.bias)
        with torch.no_grad():
            for weight in self._input_weights():
                weight *= INPUT_GAIN

    def start_from(self, vectors: Tensor) -> None:
        """Set the word vectors, shape (sizes[0], E), of a network that has not been trained yet.

        Published vectors are usually longer than random ones, and so change less in a step. They
        keep their length; the input weights of words are divided by the ratio.
        """
        size = vectors.double().square().mean().sqrt().item()
        with torch.no_grad():
            self.embedding.weight.copy_(vectors)
            if VECTOR_SCALE < size < float("inf"):
                for weight in self._input_weights():
                    weight[:, : vectors.shape[1]] *= VECTOR_SCALE / size

    def forward(self, kinds: Tensor, attributes: Tensor, lengths: Tensor) -> Tensor:
        """Score the labels of each token.

        Parameters
        ----------
        kinds : Tensor of int64, shape (T,)
            The row of `attributes` of each token of the batch.
        attributes : Tensor of int64, shape (n_kinds, n_attributes)
            Values of the attributes of each kind of token.
        lengths : Tensor of int64 on the CPU, shape (N,)
            Number of tokens of each sentence, together T; 0 for an empty one.

        Returns
        -------
        Tensor, shape (T, C)
        """
        return self.attend(kinds, attributes, lengths).logits

    def attend(self, kinds: Tensor, attributes: Tensor, lengths: Tensor) -> TaggingOutput:
        """Score the labels like `forward`, with the penalty that a `Net` expects."""
        p = self.options.dropout if self.training else 0.0
        distinct, index = distinct_words(kinds, len(attributes))
        values = attributes[distinct]  # (U, n_attributes)
        words, others = values[:, 0], values[:, 1:] + self.offsets
        if self.training:
            words = word_dropout(words, self.options.word_dropout, self.unknown_id, self.generator)
        vectors = [self.embedding(words), self.attributes(others).flatten(1)]
        inputs = dropout(torch.cat(vectors, dim=1), p, self.generator)  # (U, E + D * ...)
        states = dropout(self.encoder(inputs, index, lengths), p, self.generator)  # (T, H)
        logits = self.output(states)
        return TaggingOutput(logits, logits.new_zeros(len(lengths)))

    def losses(self, logits: Tensor, labels: Tensor, lengths: Tensor) -> Tensor:
        """Compute minus the log-likelihood of the labels of each sentence, shape (N,)."""
        if self.transitions is None:
            losses = nn.functional.cross_entropy(logits, labels, reduction="none")
            sequence = segment_numbers(lengths).to(logits.device)
            return segment_sum(losses.unsqueeze(1), sequence, len(lengths)).squeeze(1)
        first, transitions = self._chain()
        total = log_partition(logits, first, transitions, lengths)
        return total - path_scores(logits, labels, first, transitions, lengths)

    @torch.no_grad()
    def decode(self, logits: Tensor, lengths: Tensor) -> Tensor:
        """Find the most probable allowed sequence of labels of each sentence, shape (T,)."""
        if self.transitions is None and not self.has_rules:
            return logits.argmax(dim=1)
        return best_paths(logits, *self._chain(), lengths)

    def probabilities(self, logits: Tensor, lengths: Tensor) -> Tensor:
        """Compute the probability of each label at each token, shape (T, C)."""
        if self.transitions is None and not self.has_rules:
            return torch.softmax(logits.detach().double(), dim=1)
        return marginals(logits, *self._chain(), lengths)

    @property
    def has_kernels(self) -> bool:
        """Whether compiled kernels cover the layers that do most of the work."""
        return self.encoder.has_kernels

    @property
    def has_rules(self) -> bool:
        """Whether some transition is forbidden."""
        return self.chunks is not None and bool((self.chunks < 0).any())

    def _input_weights(self) -> list[Tensor]:
        return [w for name, w in self.encoder.gru.named_parameters() if "weight_ih" in name]

    def _chain(self) -> tuple[Tensor, Tensor]:
        """Return scores of first labels and of transitions, minus infinity for forbidden ones."""
        weight = self.output.weight
        C = len(weight)
        scores = weight.new_zeros(C + 1, C) if self.transitions is None else self.transitions
        if self.chunks is not None:
            before = nn.functional.pad(self.chunks.abs(), (1, 0)).unsqueeze(1)  # (C + 1, 1)
            forbidden = (self.chunks < 0) & (before != -self.chunks)  # (C + 1, C)
            scores = scores.masked_fill(forbidden, -torch.inf)
        return scores[0], scores[1:]


# The functions below compute a linear-chain conditional random field over ragged sequences.
#
# A path of labels ``y`` through a sequence of T tokens has the score
# ``first[y_1] + sum_t emissions[t, y_t] + sum_t transitions[y_t, y_(t+1)]``, and the probability
# ``exp(score) / Z``, where Z sums over all paths (Lafferty, McCallum, Pereira, 2001). Paths with a
# transition of minus infinity have the probability 0.
#
# Arguments are ``emissions`` (T, C) of all sequences, ``first`` (C,), ``transitions`` (C, C) from
# the label of the row to that of the column, and ``lengths`` (N,) on the CPU, which sum to T. A
# sequence without tokens has a single path, whose score is 0. Everything is computed in double
# precision.

# This number replaces minus infinity, so that sums and the gradients of logsumexp are finite.
_FORBIDDEN = -1e100
# If scores are small enough that no factor underflows, a step of the recursion is a matrix product.
# Paths into the labels of a token differ by at most eight times this score, and exp(-690) is
# 1e-300.
_LARGEST_SCORE, _SMALLEST_FACTOR = 80.0, 1e-300


def path_scores(
    emissions: Tensor, labels: Tensor, first: Tensor, transitions: Tensor, lengths: Tensor
) -> Tensor:
    """Compute the score of the path given by labels (T,), for each sequence, shape (N,)."""
    emissions, first, transitions = _in_double_precision(emissions, first, transitions)
    labels = labels.to(emissions.device)
    _, starts, _ = sequence_ends(lengths, emissions.device)
    scores = emissions.gather(1, labels.unsqueeze(1)).squeeze(1)  # (T,)
    into = torch.zeros_like(scores)
    into[1:] = transitions[labels[:-1], labels[1:]]
    into = into.index_copy(0, starts, first[labels[starts]])
    sequence = segment_numbers(lengths).to(emissions.device)
    return segment_sum((scores + into).unsqueeze(1), sequence, len(lengths)).squeeze(1)


def log_partition(emissions: Tensor, first: Tensor, transitions: Tensor, lengths: Tensor) -> Tensor:
    """Compute the logarithm of the sum of ``exp(score)`` over all paths, shape (N,)."""
    emissions, first, transitions = _in_double_precision(emissions, first, transitions)
    layout = PackedLayout(lengths)
    packed = emissions[layout.forward_token.to(emissions.device)]
    scores = packed[: layout.n_filled] + first  # over the paths up to the first tokens, (N, C)
    sums, factor = [scores], transitions.exp()
    all_scores = torch.cat([s.detach().flatten() for s in (emissions, first, transitions)])
    is_small = bool(((all_scores.abs() <= _LARGEST_SCORE) | (all_scores == _FORBIDDEN)).all())
    for emission, n in zip(packed.split(layout.active)[1:], layout.active[1:], strict=True):
        if is_small:
            highest = scores[:n].detach().max(dim=1, keepdim=True).values
            total = (scores[:n] - highest).exp() @ factor
            into = total.clamp(min=_SMALLEST_FACTOR).log() + highest
            into = torch.where(total > 0, into, _FORBIDDEN)
        else:
            into = torch.logsumexp(scores[:n].unsqueeze(2) + transitions, dim=1)
        scores = into + emission
        sums.append(scores)
    filled, _, last = sequence_ends(lengths, emissions.device)
    ends = torch.cat(sums)[layout.forward_row.to(emissions.device)[last]]
    partitions = emissions.new_zeros(len(lengths))
    return partitions.index_copy(0, filled, torch.logsumexp(ends, dim=1))


def marginals(emissions: Tensor, first: Tensor, transitions: Tensor, lengths: Tensor) -> Tensor:
    """Compute the probability of each label at each token, over all paths, shape (T, C)."""
    with torch.inference_mode(False), torch.enable_grad():
        scores = emissions.detach().double().requires_grad_()
        total = log_partition(scores, first.detach(), transitions.detach(), lengths)
        return torch.autograd.grad(total.sum(), scores)[0]


@torch.no_grad()
def best_paths(emissions: Tensor, first: Tensor, transitions: Tensor, lengths: Tensor) -> Tensor:
    """Find the labels (T,) of the best path of each sequence (Viterbi, 1967)."""
    emissions, first, transitions = _in_double_precision(emissions, first, transitions)
    layout = PackedLayout(lengths)
    packed = emissions[layout.forward_token.to(emissions.device)]
    scores = packed[: layout.n_filled] + first
    came_from: list[Tensor] = []
    ends = [scores.argmax(dim=1)]
    for emission, n in zip(packed.split(layout.active)[1:], layout.active[1:], strict=True):
        highest = (scores[:n].unsqueeze(2) + transitions).max(dim=1)  # (n, C)
        scores = highest.values + emission
        came_from.append(highest.indices)
        ends.append(scores.argmax(dim=1))
    for step in reversed(range(len(came_from))):
        into = came_from[step].gather(1, ends[step + 1].unsqueeze(1)).squeeze(1)
        # Sequences that end at this step keep their best last label.
        ends[step][: len(into)] = into
    return torch.cat(ends)[layout.forward_row.to(emissions.device)]


def _in_double_precision(*scores: Tensor) -> list[Tensor]:
    """Return scores as float64 without minus infinity, on the CPU if the device has no float64."""
    device = "cpu" if scores[0].device.type == "mps" else scores[0].device
    return [tensor.to(device).double().clamp(min=_FORBIDDEN) for tensor in scores]
