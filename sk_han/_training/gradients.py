"""Losses and gradients of the default network on the CPU, computed by kernels without autograd.

The modules of `sk_han.nn` define the network. Autograd through them is used on GPUs, and for other
layers, double precision, losses and optimizers. For short documents, most of the time of such a
step is the overhead of autograd, sparse gradients and small tensors. So a step of the default
network (bidirectional GRU of one layer and softmax attention at both levels, cross-entropy) is
written out here over `sk_han._kernels.engine`. Random numbers are drawn in the same order as by the
modules, so results differ only by rounding.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from sk_han._kernels import engine
from sk_han._kernels.engine import Array, Positions
from sk_han._kernels.numpy_network import AttentionPooling, NumpyGRU
from sk_han.nn import HierarchicalAttentionNetwork
from sk_han.nn import _encoders as encoders
from sk_han.nn import _poolings as poolings
from sk_han.nn._training import BinaryLosses, RowwiseAdamW


def kernels_train(net: Any, documents: Any) -> bool:
    """Return whether `set_gradients` supports a net and a batch of documents."""
    network, criterion = net.module_, net.criterion_
    if (
        type(network) is not HierarchicalAttentionNetwork
        or type(net.optimizer_) is not RowwiseAdamW
    ):
        return False
    table = network.embedding.weight
    gru, attention = encoders.BidirectionalGRU, poolings.AttentionPooling
    trained = (weight for group in net.optimizer_.param_groups for weight in group["params"])
    return (
        encoders.kernels_cover(table)
        and type(network.word_encoder) is type(network.sentence_encoder) is gru
        and type(network.word_attention) is type(network.sentence_attention) is attention
        and network.options.embedding_dropout == 0
        and documents.n_words <= network.max_words
        and all(weight.requires_grad or weight is table for weight in trained)
        and (
            type(criterion) is BinaryLosses
            or (
                type(criterion) is nn.CrossEntropyLoss
                and criterion.weight is None
                and criterion.ignore_index < 0
            )
        )
    )


class Gradients(NamedTuple):
    """Result of `set_gradients`, besides the gradients of the parameters."""

    losses: Tensor  # of the batch without noise, then with noise, if any
    logits: Tensor  # (D, K), without noise
    arrays: list[Array]  # the memory of all gradients


# Numbers that are not finite are noticed in the losses, so NumPy need not warn of them.
@np.errstate(all="ignore")
def set_gradients(
    network: HierarchicalAttentionNetwork,
    criterion: nn.Module,
    documents: tuple[Tensor, ...],  # as the network takes them
    targets: NDArray[Any],  # (D,) or (D, K)
    shares: NDArray[np.float64],  # (D,) of the documents in the loss
    noise: float,  # relative length of the adversarial noise; 0 for none
) -> Gradients:
    """Set the gradients of a batch.

    With noise, they are the mean of the gradients without noise and with adversarial noise, as in
    `sk_han.nn._training.adversarial_noise`; dropout is drawn for each.
    """
    options, generator, labels = network.options, network.generator, network.label_attention
    parameters = dict(network.named_parameters())
    weights = {name: p.detach().numpy() for name, p in parameters.items()}
    table = weights.pop("embedding.weight")
    flat = np.zeros(sum(weight.size for weight in weights.values()), dtype=np.float32)
    gradients, end = {}, 0
    for name, weight in weights.items():
        start, end = end, end + weight.size
        gradients[name] = flat[start:end].reshape(weight.shape)
        parameters[name].grad = torch.from_numpy(gradients[name])
    words, sentences = _Level("word", weights, gradients), _Level("sentence", weights, gradients)
    output, bias = weights["output.weight"], weights["output.bias"]

    word_ids, words_per_sentence, sentences_per_document = documents
    # Word dropout may replace any word by the unknown one, so this must be among the distinct
    # words.
    with_unknown = torch.cat([word_ids, word_ids.new_tensor([network.unknown_id])])
    distinct, index = encoders.distinct_words(with_unknown, len(table))
    index, unknown = index[:-1], int(index[-1])
    vectors = table[distinct.numpy()]  # (U, E)

    def add_gradients(vectors: Array, part: float) -> tuple[float, Array, Array, NDArray[np.bool_]]:
        """Return loss, logits, gradient of vectors (U, E), and flags of those that occur (U,)."""
        kept = encoders.word_dropout(index, options.word_dropout, unknown, generator).numpy()
        pooled = words.forward(vectors, kept, words_per_sentence.numpy())  # (N, H)
        factors = _dropout_factors(pooled, options.dropout, generator)
        order = np.arange(len(pooled))
        read = sentences.forward(pooled * factors, order, sentences_per_document.numpy())
        factors_read = _dropout_factors(read, options.dropout, generator)
        read = read * factors_read  # (D, H)
        logits = read @ output.T + bias  # (D, K)
        # Label attention is computed by autograd, whose overhead does not matter for large arrays.
        if labels is not None:
            states = torch.from_numpy(words.recurred.states).requires_grad_()  # (T, H)
            sums = labels.sums(states, words_per_sentence)
            scores = labels.scores(sums, sentences_per_document)
            logits += scores.detach().numpy()

        losses, of_logits = _losses(criterion, logits, targets)
        of_logits = (part * shares[:, np.newaxis] * of_logits).astype(np.float32)
        gradients["output.weight"] += of_logits.T @ read
        gradients["output.bias"] += of_logits.sum(axis=0)
        of_pooled = sentences.backward(of_logits @ output * factors_read) * factors  # (N, H)
        of_states: Any = None
        if labels is not None:
            (scores * torch.from_numpy(of_logits)).sum().backward()
            of_states = states.grad
        occurs = np.zeros(len(vectors), dtype=bool)
        occurs[kept] = True
        return float(losses @ shares), logits, words.backward(of_pooled, of_states), occurs

    loss, logits, gradient, occurs = add_gradients(vectors, 0.5 if noise else 1.0)
    losses = [loss]
    if noise:
        length, size = np.linalg.norm(gradient), np.linalg.norm(vectors[occurs])
        # A gradient that is zero or NaN has no direction.
        moved = vectors + gradient * (noise * size / length) if length > 0 else vectors
        loss, _, further, occurs_too = add_gradients(moved, 0.5)
        losses.append(loss)
        gradient += further
        occurs |= occurs_too
    arrays = [flat]
    if network.embedding.weight.requires_grad:
        arrays.append(gradient[occurs])
        network.embedding.weight.grad = torch.sparse_coo_tensor(
            distinct[torch.from_numpy(occurs)][np.newaxis],
            torch.from_numpy(arrays[1]),
            table.shape,
            # The user may have called torch.set_default_device.
            device="cpu",
            is_coalesced=True,
            check_invariants=False,
        )
    of_batch = torch.from_numpy(np.array(losses, dtype=np.float32))
    return Gradients(of_batch, torch.from_numpy(logits), arrays)


@np.errstate(all="ignore")
def clip_arrays(arrays: list[Array], max_norm: float) -> None:
    """Clip the common norm of arrays to `max_norm`, in place."""
    norm = math.sqrt(sum(float(np.vdot(array, array)) for array in arrays))
    if norm > max_norm:
        for array in arrays:
            array *= np.float32(max_norm / norm)


class _Level:
    """GRU and attention of one level: of words in sentences, or of sentences in documents."""

    def __init__(self, name: str, weights: dict[str, Array], gradients: dict[str, Array]) -> None:
        self.name, self.gradients = name, gradients
        self.gru = NumpyGRU.from_weights(weights, f"{name}_encoder")
        self.attention = AttentionPooling.from_weights(weights, f"{name}_attention")

    def forward(self, inputs: Array, index: Positions, lengths: Positions) -> Array:
        """Encode and pool N sequences of distinct inputs (U, E), by an index (T,), to (N, H)."""
        gru, self.inputs, self.index = self.gru, inputs, index
        projected = engine.project(inputs, gru.inputs, gru.input_bias)  # (2, U, 3H/2)
        recurrent = gru.states, gru.candidate_bias
        self.recurred = engine.recur(projected, *recurrent, index, lengths, True)
        self.attended = engine.attend(self.recurred.states, *self.attention, lengths, True)
        return self.attended.pooled

    def backward(self, of_pooled: Array, of_states: Tensor | None = None) -> Array:
        """Add the gradients of the weights, and return those of the distinct inputs (U, E).

        Arguments are the gradients of the pooled vectors (N, H), and of the states (T, H) if
        something other than the pooling reads them.
        """
        gru, attention, (states, gates, sequences) = self.gru, self.attention, self.recurred
        _, shares, hidden, starts, bounds = self.attended
        assert gates is not None
        assert hidden is not None
        attended, *of_attention = engine.attend_gradients(
            of_pooled, np.zeros_like(shares), states, attention.weight, attention.context,
            shares, hidden, starts, bounds,
        )  # fmt: skip
        if of_states is not None:
            attended += of_states.numpy()
        recurred = engine.recur_gradients(
            attended, states, gates, gru.states, self.index, sequences, len(self.inputs)
        )
        of_projected, of_recurrent, of_candidate_bias = map(_sum_chunks, recurred)
        of_inputs, *projected = engine.project_gradients(of_projected, self.inputs, gru.inputs)
        of_weight, of_bias = map(_sum_chunks, projected)

        H = gru.states.shape[1]  # of one direction
        for d, way in enumerate(("", "_reverse")):
            of_state_bias = np.concatenate([of_bias[d, : 2 * H], of_candidate_bias[d]])
            own = of_weight[d], of_recurrent[d].T, of_bias[d], of_state_bias
            for kind, gradient in zip(encoders.WEIGHTS, own, strict=True):
                self.gradients[f"{self.name}_encoder.gru.{kind}_l0{way}"] += gradient
        for kind, gradient in zip(attention._fields, of_attention, strict=True):
            self.gradients[f"{self.name}_attention.{kind}"] += _sum_chunks(gradient)
        return of_inputs


def _sum_chunks(gradient: Array) -> Array:
    """Add up the gradients that the chunks of the work contribute."""
    return gradient[0] if len(gradient) == 1 else gradient.sum(axis=0)


def _dropout_factors(vectors: Array, p: float, generator: torch.Generator | None) -> Array:
    ones = torch.from_numpy(np.ones_like(vectors))
    return encoders.dropout(ones, p, generator).numpy()


def _losses(
    criterion: Any, logits: Array, targets: NDArray[Any]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Compute the loss of each document (D,), and its gradient by the logits (D, K)."""
    z, smoothing = logits.astype(np.float64), criterion.label_smoothing
    if isinstance(criterion, BinaryLosses):
        truths = targets * (1 - smoothing) + smoothing / 2
        weights: Any = 1.0
        if criterion.positive is not None and criterion.negative is not None:
            positive, negative = criterion.positive.numpy(), criterion.negative.numpy()
            weights = truths * positive + (1 - truths) * negative
        losses = weights * (np.logaddexp(0, z) - truths * z)
        return losses.sum(axis=1), weights * (0.5 + 0.5 * np.tanh(0.5 * z) - truths)
    truths = np.eye(z.shape[1])[targets] if targets.ndim == 1 else targets.astype(np.float64)
    truths = truths * (1 - smoothing) + smoothing / z.shape[1]
    z -= z.max(axis=1, keepdims=True)
    log_proba = z - np.log(np.exp(z).sum(axis=1, keepdims=True))
    return (
        -(truths * log_proba).sum(axis=1),
        np.exp(log_proba) * truths.sum(axis=1, keepdims=True) - truths,
    )
