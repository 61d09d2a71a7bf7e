"""The network of a stored classifier, for prediction without PyTorch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sk_han._documents import Coalitions, DocumentArray, chunk_slices, to_offsets
from sk_han._kernels.engine import Array as Floats
from sk_han._kernels.numpy_network import (
    AttentionPooling,
    LabelAttention,
    Lengths,
    NumpyGRU,
    attention_gradient,
    gru_gradient,
)
from sk_han._options import RNN, Attention, NetworkOptions
from sk_han._parts.pool import Attribution, NetworkPart, Score
from sk_han._storage.schema import Shapes, check_weights
from sk_han._targets import Target

# At most so many words are encoded at once, to bound memory; a longer sentence is encoded alone.
_MOST_WORDS = 8_192


class ServedNetwork(NetworkPart):
    """A `HierarchicalAttentionNetwork`, restored from a checked state, that works without PyTorch.

    It computes bidirectional GRUs of one layer with attention of one hop, and label attention.
    """

    batch_size = 64

    def __init__(self, state: Mapping[str, Any]) -> None:
        self._state = state
        options, weights = NetworkOptions.from_plain(state["options"]), state["weights"]
        if options.recurrent != RNN() or type(options.attention) is not Attention:
            raise ValueError(
                f"its network has rnn={options.rnn!r} and pooling={options.pooling!r}, but a "
                "Scorer computes only rnn='gru' with pooling='attention' or Attention(...): "
                "sk_han.load reads it"
            )
        check_weights(weights, weight_shapes(state["vocabulary_size"], state["n_classes"], options))
        self._vectors: Floats = weights["embedding.weight"]
        self._output = weights["output.weight"], weights["output.bias"]
        self._word_encoder = NumpyGRU.from_weights(weights, "word_encoder")
        self._sentence_encoder = NumpyGRU.from_weights(weights, "sentence_encoder")
        self._word_attention = AttentionPooling.from_weights(weights, "word_attention")
        self._sentence_attention = AttentionPooling.from_weights(weights, "sentence_attention")
        self._labels = LabelAttention.from_weights(weights) if options.attends_per_label else None

    @classmethod
    def from_state(cls, state: Mapping[str, Any], target: Target, device: str) -> ServedNetwork:
        """Restore a network; the target and device are ignored, since it computes on the CPU."""
        return cls(state)

    def to_state(self) -> dict[str, Any]:
        """Return the state that the network was restored from."""
        return dict(self._state)

    def logits(self, documents: DocumentArray) -> NDArray[np.float64]:
        """Compute the logits of documents, (D, K)."""
        if len(documents) <= self.batch_size:
            return self._read(documents).logits.astype(np.float64)
        portions = range(0, len(documents), self.batch_size)
        logits = [self._read(documents[i : i + self.batch_size]).logits for i in portions]
        return np.concatenate(logits).astype(np.float64)

    def coalitions(self, documents: DocumentArray, coalitions: Coalitions) -> NDArray[np.float64]:
        """Compute the logits of sets of sentences, (M, K); each word is encoded once for all."""
        vectors, _, _ = self._read_words(documents)
        one_each = np.ones(len(vectors), dtype=np.int64)
        logits = [
            self._read_sentences(vectors, portion.sentences, portion.lengths)[0]
            for portion in coalitions.portions(one_each, _MOST_WORDS)
        ]
        return np.concatenate(logits).astype(np.float64)

    def attend(self, documents: DocumentArray) -> Attribution:
        """Compute the logits of documents and the attention to their words and sentences."""
        return self._read(documents).attribution(np.zeros(documents.n_words))

    def gradient_attention(self, documents: DocumentArray, score: Score) -> Attribution:
        """Multiply attention by the gradient of the score at it; see `sk_han.nn._han`."""
        words, sentences = documents.words_per_sentence, documents.sentences_per_document
        read = self._read(documents, keep=True)
        logits = read.logits.astype(np.float64)
        factors = score(logits, slice(None)).astype(np.float32, copy=False)
        of_pooled = factors @ self._output[0]  # (D, H)
        of_states = attention_gradient(
            self._sentence_attention,
            read.sentence_states,
            read.sentence_weights,
            sentences,
            of_pooled,
        )
        vectors, sums = self._split(read.sentences)
        gradient = gru_gradient(self._sentence_encoder, vectors, sentences, of_states)  # (N, H)
        sentence = np.repeat(np.arange(len(words)), words)
        contributions = read.word_weights * (read.word_states * gradient[sentence]).sum(axis=1)
        if self._labels is not None:
            contributions += self._labels.attributions(
                read.word_states, sums, factors, words, sentences
            )
        return read.attribution(contributions)

    def _read(self, documents: DocumentArray, *, keep: bool = False) -> _Reading:
        """Compute what `_Reading` holds; the states of all words only with `keep`."""
        vectors, word_states, word_weights = self._read_words(documents, keep=keep)
        logits, states, weights = self._read_sentences(
            vectors, np.arange(len(vectors)), documents.sentences_per_document
        )
        return _Reading(logits, word_states, word_weights, vectors, states, weights)

    def _read_words(
        self, documents: DocumentArray, *, keep: bool = False
    ) -> tuple[Floats, Floats, Floats]:
        """Return sentence vectors, with sums of label attention, and word states and weights."""
        H = self._sentence_encoder.inputs.shape[2]
        kept, pooled = [np.empty((0, H), dtype=np.float32)], []
        for ids, lengths in _chunks(documents.word_ids, documents.words_per_sentence):
            distinct, index = np.unique(ids, return_inverse=True)
            states = self._word_encoder.encode(self._vectors[distinct], index, lengths)
            vectors, weights = self._word_attention.pool(states, lengths)
            if self._labels is not None:
                vectors = np.hstack([vectors, self._labels.sums(states, lengths)])
            pooled.append((vectors, weights))
            if keep:
                kept.append(states)
        vectors, word_weights = (np.concatenate(part) for part in zip(*pooled, strict=True))
        return vectors, np.concatenate(kept), word_weights

    def _read_sentences(
        self, vectors: Floats, chosen: NDArray[np.int64], lengths: Lengths
    ) -> tuple[Floats, Floats, Floats]:
        """Return logits of documents made of chosen sentences, and sentence states and weights."""
        vectors, sums = self._split(vectors)
        states = self._sentence_encoder.encode(vectors, chosen, lengths)
        document_vectors, sentence_weights = self._sentence_attention.pool(states, lengths)
        weight, bias = self._output
        logits = document_vectors @ weight.T + bias
        if self._labels is not None:
            logits += self._labels.scores(sums[chosen], lengths)
        return logits, states, sentence_weights

    def _split(self, pooled: Floats) -> tuple[Floats, Floats]:
        """Split the vectors of `_read_words` into sentence vectors and sums of label attention."""
        size = self._sentence_encoder.inputs.shape[2]
        return np.ascontiguousarray(pooled[:, :size]), pooled[:, size:]


def weight_shapes(V: int, K: int, options: NetworkOptions) -> Shapes:
    """Return the shape of each weight of a network that a `ServedNetwork` can compute."""
    assert options.attention is not None
    A, S = options.attention.size, options.sentence_hidden
    shapes: dict[str, tuple[int, ...]] = {"embedding.weight": (V, options.embedding_dim)}
    input_size = options.embedding_dim
    for level, H in (("word", options.word_hidden), ("sentence", S)):
        for way in ("", "_reverse"):
            gru = f"{level}_encoder.gru."
            shapes[f"{gru}weight_ih_l0{way}"] = (3 * H, input_size)
            shapes[f"{gru}weight_hh_l0{way}"] = (3 * H, H)
            shapes[f"{gru}bias_ih_l0{way}"] = shapes[f"{gru}bias_hh_l0{way}"] = (3 * H,)
        input_size = 2 * H
        shapes[f"{level}_attention.weight"] = (A, input_size)
        shapes[f"{level}_attention.bias"] = shapes[f"{level}_attention.context"] = (A,)
    shapes |= {"output.weight": (K, 2 * S), "output.bias": (K,)}
    if options.attends_per_label:
        labels = (K, 2 * options.word_hidden)
        shapes |= {"label_attention.query": labels, "label_attention.value": labels}
    return shapes


class _Reading(NamedTuple):
    """The outputs of the network for D documents with N sentences and T words."""

    logits: Floats
    word_states: Floats  # (T, H), or (0, H) without `keep`
    word_weights: Floats  # (T,)
    sentences: Floats  # (N, H), from `_read_words`
    sentence_states: Floats  # (N, H)
    sentence_weights: Floats  # (N,)

    def attribution(self, contributions: NDArray[Any]) -> Attribution:
        """Return logits, attention and contributions of words, (T,), in double precision."""
        arrays = self.logits, self.word_weights, self.sentence_weights, contributions
        return Attribution(*(array.astype(np.float64) for array in arrays))


def _chunks(
    word_ids: NDArray[np.int32], lengths: Lengths
) -> Iterator[tuple[NDArray[np.int32], Lengths]]:
    """Yield the words and lengths of consecutive sentences; without any, one empty chunk."""
    starts = to_offsets(lengths)
    for rows in chunk_slices(lengths, _MOST_WORDS) if len(lengths) else [slice(0, 0)]:
        yield word_ids[starts[rows.start] : starts[rows.stop]], lengths[rows]
