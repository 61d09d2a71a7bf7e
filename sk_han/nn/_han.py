"""The Hierarchical Attention Network of Yang et al. (2016) and its variants, without padding."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from sk_han._options import MultiHopAttention, NetworkOptions
from sk_han.nn._encoders import (
    BidirectionalGRU,
    distinct_words,
    dropout,
    normal_,
    parameter,
    recurrent_encoder,
    with_memory,
    word_dropout,
    xavier_uniform_,
)
from sk_han.nn._poolings import (
    AttentionPooling,
    LabelAttention,
    LastPooling,
    MaxPooling,
    MeanPooling,
    MultiHopPooling,
    Pooling,
    document_overlap,
)
from sk_han.nn._ragged import check_lengths

# Standard deviation of the entries of an initial word vector.
VECTOR_SCALE = 0.1

# Initial input weights are those of PyTorch times these factors. With PyTorch's own, a word changes
# the argument of a gate by about 0.1 and a sentence by less, so the encoders start as nearly linear
# functions, and interactions of words, such as negation, are learned late or never
# (docs/what_was_tried.md).
WORD_GAIN, SENTENCE_GAIN = 7.0, 3.0


class HANOutput(NamedTuple):
    """Result of `HierarchicalAttentionNetwork.attend`.

    Attributes
    ----------
    logits : Tensor, shape (D, C)
    word_attention : Tensor, shape (T,)
        Sums to 1 over the words of each sentence. With several hops or directions, their mean.
        Without attention, the share of the sentence vector's entries that come from each word.
    sentence_attention : Tensor, shape (N,)
        The same for the sentences of each document.
    penalty : Tensor, shape (D,)
        Added to the loss of each document in training. It is zero except with several hops.
    vectors : Tensor, shape (D, H)
        Document vectors, the input of the last layer.
    """

    logits: Tensor
    word_attention: Tensor
    sentence_attention: Tensor
    penalty: Tensor
    vectors: Tensor


class WordLevel(NamedTuple):
    """Result of `HierarchicalAttentionNetwork.sentence_vectors`."""

    vectors: Tensor  # (N, H), of sentences
    weights: Tensor  # (T, R), of words


class SentenceLevel(NamedTuple):
    """Result of `HierarchicalAttentionNetwork.read_sentences`."""

    logits: Tensor  # (D, C)
    weights: Tensor  # (N, R), of sentences
    vectors: Tensor  # (D, H), of documents


# A function of logits (D, C) that returns the factors (D, C) of the logits in each document's
# score.
Score = Callable[[Tensor], Tensor]


class HANAttribution(NamedTuple):
    """The logits and attention of a batch of documents, with the contribution of each word."""

    logits: Tensor  # (D, C)
    word_attention: Tensor  # (T,), as in `HANOutput`
    sentence_attention: Tensor  # (N,)
    words: Tensor  # (T,) contribution of each word to the score of its document


class HierarchicalAttentionNetwork(nn.Module):
    """Encode and pool words to sentences and sentences to documents, and score the documents.

    A batch is a flat array of words without padding, so nothing has to be masked, and the result of
    a document does not depend on the other documents. The defaults are the network of Yang et al.
    (2016). For documents of one sentence it is a bidirectional classifier with attention.

    Parameters
    ----------
    vocabulary_size : int
        Number of word ids, including padding (0) and the unknown word (1).
    n_classes : int
        Number of logits C.
    unknown_id : int
        Id of the unknown word.
    max_words : int
        Number of words that the word level encodes at once. It limits the memory of long documents
        and large batches; results do not depend on it.
    sparse : bool
        Whether the gradient of the word vectors is sparse, with rows of the batch's words only.
    generator : torch.Generator on the CPU, optional
        Source of the initial weights and of dropout; by default PyTorch's global one.
    **options
        Options of `sk_han.nn.NetworkOptions`: sizes, recurrent network, pooling, dropout.

    References
    ----------
    Yang, Yang, Dyer, He, Smola, Hovy (2016). Hierarchical Attention Networks for Document
    Classification. NAACL.

    Gal, Ghahramani (2016). A Theoretically Grounded Application of Dropout in Recurrent Neural
    Networks. NIPS.

    Examples
    --------
    Two documents: one of two sentences (3 and 2 words), one of a single sentence of one word.

    >>> import torch
    >>> from sk_han.nn import HierarchicalAttentionNetwork
    >>> network = HierarchicalAttentionNetwork(vocabulary_size=10, n_classes=2)
    >>> word_ids = torch.tensor([2, 3, 4, 5, 2, 6])
    >>> logits = network(word_ids, torch.tensor([3, 2, 1]), torch.tensor([2, 1]))
    >>> logits.shape
    torch.Size([2, 2])
    """

    def __init__(
        self,
        vocabulary_size: int,
        n_classes: int,
        *,
        unknown_id: int = 1,
        max_words: int = 131_072,
        sparse: bool = False,
        generator: torch.Generator | None = None,
        **options: Any,
    ) -> None:
        super().__init__()
        if max_words < 1:
            raise ValueError(f"max_words must be at least 1; got {max_words}.")
        self.options = NetworkOptions(**options).copy()
        self.options.check()
        self._projected: Tensor | None = None
        self.register_load_state_dict_post_hook(HierarchicalAttentionNetwork._forget_tables)
        self.unknown_id, self.max_words, self.generator = unknown_id, max_words, generator
        embedding_dim, rnn = self.options.embedding_dim, self.options.recurrent
        self.embedding = nn.Embedding(
            vocabulary_size,
            embedding_dim,
            sparse=sparse,
            _weight=parameter(vocabulary_size, embedding_dim),
        )
        self.word_encoder = recurrent_encoder(
            rnn, embedding_dim, self.options.word_hidden, generator
        )
        attention, size = self.options.attention, self.word_encoder.output_size
        self.word_attention = make_pooling(self.options, size, generator)
        self.sentence_encoder = recurrent_encoder(
            rnn, self.word_attention.output_size, self.options.sentence_hidden, generator
        )
        self.sentence_attention = make_pooling(
            self.options, self.sentence_encoder.output_size, generator
        )
        self._penalty = 0.0
        if isinstance(attention, MultiHopAttention) and attention.hops > 1:
            self._penalty = attention.penalty
        self.output = with_memory(
            nn.Linear(self.sentence_attention.output_size, n_classes, device="meta")
        )
        normal_(self.embedding.weight, VECTOR_SCALE, generator)
        _scale_inputs(self.word_encoder, WORD_GAIN)
        _scale_inputs(self.sentence_encoder, SENTENCE_GAIN)
        xavier_uniform_(self.output.weight, generator)
        nn.init.zeros_(self.output.bias)
        self.label_attention: LabelAttention | None = None
        if self.options.attends_per_label:
            self.label_attention = LabelAttention(size, n_classes, generator)

    def start_from(self, vectors: Tensor) -> None:
        """Set the word vectors of a network that has not been trained yet.

        Published vectors are usually longer than random ones. The input weights of the word encoder
        are then divided by the ratio, so that its gates start in their usual range.

        Parameters
        ----------
        vectors : Tensor, shape (vocabulary_size, E)
        """
        with torch.no_grad():
            self.embedding.weight.copy_(vectors)
        size = vectors.double().square().mean().sqrt().item()
        if VECTOR_SCALE < size < float("inf"):
            _scale_inputs(self.word_encoder, VECTOR_SCALE / size)

    def to_plain(self) -> dict[str, Any]:
        """Return the arguments that create a network of this shape, as JSON values."""
        return {
            "vocabulary_size": self.embedding.num_embeddings,
            "n_classes": self.output.out_features,
            "unknown_id": int(self.unknown_id),
            "max_words": int(self.max_words),
            "options": self.options.to_plain(),
        }

    def forward(
        self, word_ids: Tensor, words_per_sentence: Tensor, sentences_per_document: Tensor
    ) -> Tensor:
        """Score documents.

        Parameters
        ----------
        word_ids : Tensor of int64, shape (T,)
            Ids of all words of the batch, in order.
        words_per_sentence : Tensor of int64 on the CPU, shape (N,)
        sentences_per_document : Tensor of int64 on the CPU, shape (D,)
            0 for an empty document, whose logits are those of the zero vector.

        Returns
        -------
        Tensor, shape (D, C)
            Logits, before the softmax.
        """
        return self.attend(word_ids, words_per_sentence, sentences_per_document).logits

    def attend(
        self, word_ids: Tensor, words_per_sentence: Tensor, sentences_per_document: Tensor
    ) -> HANOutput:
        """Score documents like `forward`, and return attention and document vectors too."""
        kept, p = None, 0.0
        if self.training:
            options, table, p = self.options, self.embedding.weight, self.options.dropout
            word_ids = word_dropout(word_ids, options.word_dropout, self.unknown_id, self.generator)
            if options.embedding_dropout:
                ones = table.new_ones(len(table), 1)
                kept = dropout(ones, options.embedding_dropout, self.generator)
        sentences, word_weights = self.sentence_vectors(word_ids, words_per_sentence, kept=kept)
        logits, weights, vectors = self.read_sentences(sentences, sentences_per_document, p)
        penalty = logits.new_zeros(len(logits))
        if self._penalty:
            penalty = self._penalty * document_overlap(
                word_weights, words_per_sentence, weights, sentences_per_document
            )
        return HANOutput(logits, word_weights.mean(1), weights.mean(1), penalty, vectors)

    def sentence_vectors(
        self,
        word_ids: Tensor,
        words_per_sentence: Tensor,
        sentences_per_document: Tensor | None = None,
        kept: Tensor | None = None,
    ) -> WordLevel:
        """Encode the words of each sentence and pool them; see `encode_words`, `pool_words`.

        `sentences_per_document` is not used, since a sentence is encoded independently of its
        document, but `Net.compute` passes all tensors of a batch to each method.
        """

        def encode(ids: Tensor, lengths: Tensor) -> tuple[Tensor, ...]:
            return self.pool_words(self.encode_words(ids, lengths, kept), lengths)

        return WordLevel(*in_chunks(encode, word_ids, words_per_sentence, self.max_words))

    def encode_words(
        self, word_ids: Tensor, words_per_sentence: Tensor, kept: Tensor | None = None
    ) -> Tensor:
        """Encode the words of each sentence to states (T, H).

        `kept`, shape (vocabulary_size, 1), is the dropout factor of each word vector.
        """
        encoder, table = self.word_encoder, self._projected
        if table is not None and not torch.is_grad_enabled() and encoder.has_kernels:
            assert isinstance(encoder, BidirectionalGRU)
            return encoder.recur(table, word_ids, words_per_sentence)
        distinct, index = distinct_words(word_ids, self.embedding.num_embeddings)
        vectors = self.embedding(distinct)  # (U, E)
        if kept is not None:
            vectors = vectors * kept[distinct]
        states: Tensor = encoder(vectors, index, words_per_sentence)
        return states

    def pool_words(self, states: Tensor, words_per_sentence: Tensor) -> tuple[Tensor, Tensor]:
        """Pool states of words (T, H) to sentence vectors (N, H), by weights (T, R).

        With label attention, its sums (N, 2C) are appended to the vectors.
        """
        pooled, weights = self.word_attention.pool(states, words_per_sentence)
        if self.label_attention is not None:
            sums = self.label_attention.sums(states, words_per_sentence)
            pooled = torch.cat([pooled, sums], 1)
        return pooled, weights

    def read_sentences(
        self,
        sentences: Tensor,
        sentences_per_document: Tensor,
        dropped: float = 0.0,
        chosen: Tensor | None = None,
    ) -> SentenceLevel:
        """Encode sentence vectors (N, H), pool them to document vectors, and score these.

        `dropped` is the dropout rate of sentence and document vectors. `chosen` has the numbers of
        the sentences of all documents; None means each sentence once, in order.
        """
        if chosen is None:
            chosen = torch.arange(len(sentences), device=sentences.device)
        size = self.word_attention.output_size
        pooled = dropout(sentences[:, :size].contiguous(), dropped, self.generator)
        states = self.sentence_encoder(pooled, chosen, sentences_per_document)
        vectors, weights = self.sentence_attention.pool(states, sentences_per_document)  # (D, H)
        vectors = dropout(vectors, dropped, self.generator)
        logits = self.output(vectors)
        if self.label_attention is not None:
            sums = sentences[chosen, size:]
            logits = logits + self.label_attention.scores(sums, sentences_per_document)
        return SentenceLevel(logits, weights, vectors)

    def gradient_attention(
        self,
        word_ids: Tensor,
        words_per_sentence: Tensor,
        sentences_per_document: Tensor,
        score: Score,
    ) -> HANAttribution:
        """Multiply attention by the score's gradient with respect to it (Serrano and Smith, 2019).

        Since ``s_i = sum_t alpha_it h_it``, the contribution of a word is
        ``alpha_it h_it . d score / d s_i``, so only the sentence level needs a backward pass. For
        other poolings, the part of the pooled vector that comes from the state replaces
        ``alpha_it h_it``.
        """

        def encode(ids: Tensor, lengths: Tensor) -> tuple[Tensor]:
            return (self.encode_words(ids, lengths),)

        with torch.no_grad():
            (states,) = in_chunks(encode, word_ids, words_per_sentence, self.max_words)  # (T, H)
            sentences, weights = self.pool_words(states, words_per_sentence)
        with torch.enable_grad():
            sentences.requires_grad_()
            logits, sentence_weights, _ = self.read_sentences(sentences, sentences_per_document)
            gradient = score_gradient(logits, score(logits.detach()), sentences)  # (N, H)
        size = self.word_attention.output_size
        words = self.word_attention.attributions(
            states, weights, gradient[:, :size].contiguous(), words_per_sentence
        )
        if self.label_attention is not None:
            words = words + self.label_attention.attributions(
                states, gradient[:, size:], words_per_sentence
            )
        shares = sentence_weights.detach().mean(1)
        return HANAttribution(logits.detach(), weights.mean(1), shares, words)

    @property
    def has_kernels(self) -> bool:
        """Whether compiled kernels cover the layers that do most of the work."""
        words, sentences = self.word_encoder, self.sentence_encoder
        layers = words, self.word_attention, sentences, self.sentence_attention
        return all(layer.has_kernels for layer in layers)

    def tabulate(self) -> None:
        """Cache what predictions on the CPU need: projections of all words, and stacked weights.

        The projections take 24 * word_hidden bytes a word. They are computed only if kernels use
        them, and if they take at most eight times the memory of the word vectors. Training, moving
        the module and loading a state delete the cache; after other changes of weights, call this
        again.
        """
        for encoder in self.children():
            if isinstance(encoder, BidirectionalGRU):
                encoder.join_weights(True)
        word_encoder, size = self.word_encoder, self.embedding.embedding_dim
        if word_encoder.has_kernels and 3 * word_encoder.output_size <= 8 * size:
            assert isinstance(word_encoder, BidirectionalGRU)
            with torch.no_grad():
                self._projected = word_encoder.project(self.embedding.weight)  # (2, V, 3H/2)

    def train(self, mode: bool = True) -> HierarchicalAttentionNetwork:
        """Switch to training mode, which deletes the table of `tabulate`, or to evaluation mode."""
        if mode:
            self._forget_tables()
        return super().train(mode)

    def _apply(self, *args: Any, **kwargs: Any) -> HierarchicalAttentionNetwork:
        # PyTorch calls this when a module moves to another device or dtype.
        self._forget_tables()
        return super()._apply(*args, **kwargs)

    def _forget_tables(self, _: Any = None) -> None:
        self._projected = None
        for encoder in self.children():
            if isinstance(encoder, BidirectionalGRU):
                encoder.join_weights(False)


def make_pooling(
    options: NetworkOptions, input_size: int, generator: torch.Generator | None
) -> Pooling:
    """Create the pooling that the options name, for states of this size."""
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


def _scale_inputs(encoder: nn.Module, factor: float) -> None:
    """Multiply the weights of the inputs of an encoder's first layer."""
    with torch.no_grad():
        for name, weight in encoder.named_parameters():
            if "weight_ih_l0" in name:
                weight.mul_(factor)


def in_chunks(
    encode: Callable[[Tensor, Tensor], tuple[Tensor, ...]],
    word_ids: Tensor,
    words_per_sentence: Tensor,
    max_words: int,
) -> tuple[Tensor, ...]:
    """Encode ids (T,) of sentences (N,) in chunks of up to `max_words` words, or one sentence."""
    if len(word_ids) <= max_words:
        return encode(word_ids, words_per_sentence)
    check_lengths(words_per_sentence, len(word_ids))
    if torch.is_grad_enabled():
        # With activation checkpointing, each chunk recomputes its states in its backward pass.
        encode = partial(checkpoint, encode, use_reentrant=False, preserve_rng_state=False)
    ends, encoded = torch.cumsum(words_per_sentence, 0), []
    sentence = word = 0
    while sentence < len(ends):
        fitting = int(torch.searchsorted(ends, word + max_words, right=True))
        next_sentence = max(fitting, sentence + 1)
        next_word = int(ends[next_sentence - 1])
        lengths = words_per_sentence[sentence:next_sentence]
        encoded.append(encode(word_ids[word:next_word], lengths))
        sentence, word = next_sentence, next_word
    return tuple(torch.cat(rows) for rows in zip(*encoded, strict=True))


def score_gradient(logits: Tensor, factors: Tensor, inputs: Tensor) -> Tensor:
    """Compute the gradient of ``sum(logits * factors)`` with respect to inputs, not to weights."""
    # Encoders build no graph if there is nothing to encode.
    if not logits.requires_grad:
        return torch.zeros_like(inputs)
    # The gradient of a sum needs no `grad_outputs`, for which PyTorch imports SymPy. That takes
    # half a second, and if memory runs out during the import, the process can explain nothing any
    # more.
    (gradient,) = torch.autograd.grad(
        (logits * factors).sum(), inputs, allow_unused=True, materialize_grads=True
    )
    return gradient
