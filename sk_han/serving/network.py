"""The network of a stored model, computed by NumPy, or by compiled kernels where Numba is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sk_han.documents import Coalitions, DocumentArray, packed, starts_of
from sk_han.engines.numpy_gradients import attention_gradient, gru_gradient
from sk_han.engines.numpy_labels import LabelAttention
from sk_han.engines.numpy_pooling import pooling_of
from sk_han.engines.numpy_recurrence import Array, Lengths, encoded, recurrent_layers
from sk_han.options import RNN, ContextAttention, NetworkOptions
from sk_han.parts.network_part import Attribution, NetworkPart
from sk_han.targets import Target

_MOST_WORDS = 8_192  # that are encoded at once, if they are more than a sentence


class ServedNetwork(NetworkPart):
    """A `HierarchicalAttentionNetwork` of a checked state, which only predicts, without PyTorch."""

    def __init__(self, state: Mapping[str, Any]) -> None:
        self._state = state
        self._options = options = NetworkOptions.from_plain(state["options"])
        self._weights = weights = state["weights"]
        self._vectors: Array = weights["embedding.weight"]
        self._output = weights["output.weight"], weights["output.bias"]
        self._word_layers = recurrent_layers(weights, "word_encoder", options.recurrent)
        self._sentence_layers = recurrent_layers(weights, "sentence_encoder", options.recurrent)
        self._pool_words = pooling_of("word_attention", options, weights)
        self._pool_sentences = pooling_of("sentence_attention", options, weights)
        self._labels = LabelAttention.of(weights) if options.attends_per_label else None

    @classmethod
    def from_state(cls, state: Mapping[str, Any], target: Target, device: str) -> ServedNetwork:
        """Restore a network; this engine computes on the CPU alone."""
        return cls(state)

    def to_state(self) -> dict[str, Any]:
        """Return what it was restored from."""
        return dict(self._state)

    def logits(self, documents: DocumentArray) -> NDArray[np.float64]:
        """Score documents, shape (D, K)."""
        return self._read(documents).logits.astype(np.float64)

    def coalitions(self, documents: DocumentArray, coalitions: Coalitions) -> NDArray[np.float64]:
        """Score sets of sentences, (M, K); words are read once where no sentence sees another's."""
        if isinstance(self._options.attention, ContextAttention):
            return super().coalitions(documents, coalitions)
        vectors, _, _ = self._read_words(documents)
        one_each = np.ones(len(vectors), dtype=np.int64)
        logits = [
            self._read_sentences(vectors, some.sentences, some.lengths)[0]
            for some in coalitions.portions(one_each, _MOST_WORDS)
        ]
        return np.concatenate(logits).astype(np.float64)

    def attend(self, documents: DocumentArray) -> Attribution:
        """Score documents, and return the attention to their words and sentences."""
        return self._read(documents).attribution(np.zeros(documents.n_words))

    def gradient_attention(
        self, documents: DocumentArray, score: Callable[[Array], NDArray[Any]]
    ) -> Attribution:
        """Multiply attention by the gradient at it, as `sk_han.nn.attribution` explains."""
        if self._options.recurrent != RNN() or self._options.attention is None:
            raise ValueError(
                "'shapley' and 'gradient_attention' are computed without PyTorch for one layer of "
                "a bidirectional GRU and attention; this network has "
                f"rnn={self._options.rnn!r} and pooling={self._options.pooling!r}. Take "
                "'attention', or explain with sk_han.load(...)."
            )
        words, sentences = documents.words_per_sentence, documents.sentences_per_document
        read = self._read(documents, keep=True)
        factors = score(read.logits).astype(np.float32, copy=False)
        of_pooled = factors @ self._output[0]  # (D, R * H)
        weight, bias, context = (
            self._weights[f"sentence_attention.{name}"] for name in ("weight", "bias", "context")
        )
        of_states = attention_gradient(
            read.sentence_states,
            read.sentence_weights,
            sentences,
            of_pooled,
            weight,
            bias,
            np.atleast_2d(context),  # (R, A)
        )
        (layer,) = self._sentence_layers
        vectors, sums = self._parted(read.sentences)
        of_sentences = gru_gradient(layer, vectors, sentences, of_states)  # (N, R * H)
        n_hops = read.word_weights.shape[1]
        sentence = np.repeat(np.arange(len(words)), words)
        contributions = np.zeros(len(sentence), dtype=np.float32)
        for share, gradient in zip(
            read.word_weights.T, np.split(of_sentences, n_hops, axis=1), strict=True
        ):
            contributions += share * (read.word_states * gradient[sentence]).sum(axis=1)
        if self._labels is not None:
            contributions += self._labels.attributions(
                read.word_states, sums, factors, words, sentences
            )
        return read.attribution(contributions)

    def _read(self, documents: DocumentArray, *, keep: bool = False) -> _Reading:
        """Read documents; keep the states of words if they are needed."""
        vectors, word_states, word_weights = self._read_words(documents, keep=keep)
        logits, states, weights = self._read_sentences(
            vectors, np.arange(len(vectors)), documents.sentences_per_document
        )
        return _Reading(logits, word_states, word_weights, vectors, states, weights)

    def _read_words(
        self, documents: DocumentArray, *, keep: bool = False
    ) -> tuple[Array, Array, Array]:
        """Return sentence vectors, beside sums of a label attention; states, weights of words."""
        words, sentences = documents.words_per_sentence, documents.sentences_per_document
        # An attention that depends on other sentences pools those of a document at once.
        depends = isinstance(self._options.attention, ContextAttention)
        chunks = [(documents.word_ids, words)] if depends else _chunks(documents.word_ids, words)
        kept, pooled = [np.empty((0, self._word_layers[-1].size), dtype=np.float32)], []
        for ids, lengths in chunks:
            distinct, index = np.unique(ids, return_inverse=True)
            states = encoded(self._word_layers, self._vectors[distinct], index, lengths)
            vectors, weights = self._pool_words(states, lengths, sentences)
            if self._labels is not None:
                vectors = np.hstack([vectors, self._labels.sums(states, lengths)])
            pooled.append((vectors, weights))
            if keep:
                kept.append(states)
        vectors, word_weights = (np.concatenate(part) for part in zip(*pooled, strict=True))
        return vectors, np.concatenate(kept), word_weights

    def _read_sentences(
        self, vectors: Array, chosen: NDArray[np.int64], lengths: Lengths
    ) -> tuple[Array, Array, Array]:
        """Return logits of documents of chosen sentences, and states and weights of these."""
        vectors, sums = self._parted(vectors)
        states = encoded(self._sentence_layers, vectors, chosen, lengths)
        document_vectors, sentence_weights = self._pool_sentences(states, lengths, lengths)
        weight, bias = self._output
        logits = document_vectors @ weight.T + bias
        if self._labels is not None:
            logits += self._labels.scores(sums[chosen], lengths)
        return logits, states, sentence_weights

    def _parted(self, pooled: Array) -> tuple[Array, Array]:
        """Return sentence vectors, and the sums of a label attention beside them."""
        size = self._sentence_layers[0].inputs.shape[2]
        return np.ascontiguousarray(pooled[:, :size]), pooled[:, size:]


class _Reading(NamedTuple):
    """What the network computes of D documents with N sentences and T words."""

    logits: Array
    word_states: Array  # (T, H), or (0, H) where they were not to be kept
    word_weights: Array  # (T, R)
    sentences: Array  # (N, output_size), as of `_read_words`
    sentence_states: Array  # (N, H)
    sentence_weights: Array  # (N, R)

    def attribution(self, contributions: NDArray[Any]) -> Attribution:
        """Return logits, attention and these contributions of words (T,), in double precision."""
        attention = self.word_weights.mean(axis=1), self.sentence_weights.mean(axis=1)
        found = (self.logits, *attention, contributions)
        return Attribution(*(array.astype(np.float64) for array in found))


def _chunks(
    word_ids: NDArray[np.int32], lengths: Lengths
) -> Iterator[tuple[NDArray[np.int32], Lengths]]:
    """Yield the words of consecutive sentences, and their lengths; at least one chunk."""
    starts = starts_of(lengths)
    for rows in packed(lengths, _MOST_WORDS) if len(lengths) else [slice(0, 0)]:
        yield word_ids[starts[rows.start] : starts[rows.stop]], lengths[rows]
