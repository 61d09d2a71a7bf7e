"""The sentence level of a Hierarchical Attention Network alone, over vectors of sentences."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from sk_han._options import MultiHopAttention, NetworkOptions
from sk_han.nn._encoders import dropout, recurrent_encoder, single, with_memory, xavier_uniform_
from sk_han.nn._han import HANAttribution, HANOutput, Score, SentenceLevel, gradient_of, pooling_of
from sk_han.nn._poolings import MeanPooling, hop_overlap


class SentenceNetwork(nn.Module):
    """Encode and pool the sentence vectors of documents, and score the documents.

    It is a `HierarchicalAttentionNetwork` without its word level, for vectors that another encoder
    has made of sentences. Beside the pooled states, the last layer reads the mean of the sentence
    vectors: topics need no more, and the order of sentences is what the recurrent states add.

    Parameters
    ----------
    input_size : int
        Size E of a sentence vector.
    n_classes : int
        Number of logits C.
    recurrent : bool
        Whether sentences are encoded by the recurrent network; without it attention pools the
        sentence vectors themselves.
    generator : torch.Generator on the CPU, optional
        Source of the initial weights and of dropout; by default PyTorch's global one.
    **options
        Options of `sk_han.nn.NetworkOptions`; those for words have no effect.

    Examples
    --------
    Two documents, of two sentences and of one.

    >>> import torch
    >>> from sk_han.sentence_vectors import SentenceNetwork
    >>> network = SentenceNetwork(input_size=4, n_classes=3)
    >>> network(torch.randn(3, 4), torch.tensor([5, 2, 3]), torch.tensor([2, 1])).shape
    torch.Size([2, 3])
    """

    center: Tensor
    scale: Tensor

    def __init__(
        self,
        input_size: int,
        n_classes: int,
        *,
        recurrent: bool = True,
        generator: torch.Generator | None = None,
        **options: Any,
    ) -> None:
        super().__init__()
        self.options = NetworkOptions(**options).copy()
        self.options.check()
        self.generator = generator
        self.embedding = None  # a `Net` asks for word vectors
        self.input_size, self.recurrent, size = input_size, recurrent, input_size
        if recurrent:
            kind, hidden = self.options.recurrent, self.options.sentence_hidden
            self.sentence_encoder = recurrent_encoder(kind, input_size, hidden, generator)
            size = self.sentence_encoder.output_size
        self.sentence_attention = pooling_of(self.options, size, generator)
        self.mean = MeanPooling(input_size)
        size = self.sentence_attention.output_size + input_size
        self.output = with_memory(nn.Linear(size, n_classes, device="meta"))
        self.register_buffer("center", torch.zeros(input_size, **single()))
        self.register_buffer("scale", torch.ones(input_size, **single()))
        xavier_uniform_(self.output.weight, generator)
        nn.init.zeros_(self.output.bias)

    def to_plain(self) -> dict[str, Any]:
        """Return the arguments for a network of this shape, as values that JSON can hold."""
        return {
            "input_size": self.input_size,
            "n_classes": self.output.out_features,
            "recurrent": self.recurrent,
            "options": self.options.to_plain(),
        }

    def start_from(self, center: Tensor, scale: Tensor) -> None:
        """Set what is subtracted from sentence vectors, and their factor, shapes (E,)."""
        with torch.no_grad():
            self.center.copy_(center)
            self.scale.copy_(scale)

    def start_mean_from(self, weight: Tensor, bias: Tensor) -> None:
        """Begin with logits that are linear, weight (C, E), in the mean of scaled sentences."""
        with torch.no_grad():
            self.output.weight.zero_()
            self.output.weight[:, -self.input_size :] = weight
            self.output.bias.copy_(bias)

    def forward(
        self, vectors: Tensor, words_per_sentence: Tensor, sentences_per_document: Tensor
    ) -> Tensor:
        """Score documents.

        Parameters
        ----------
        vectors : Tensor, shape (N, E)
            The sentence vectors of the batch, in order.
        words_per_sentence : Tensor of int64 on the CPU, shape (N,)
            Changes no logit: the attention to a word is an equal share of its sentence.
        sentences_per_document : Tensor of int64 on the CPU, shape (D,)

        Returns
        -------
        Tensor, shape (D, C)
        """
        return self.attend(vectors, words_per_sentence, sentences_per_document).logits

    def attend(
        self, vectors: Tensor, words_per_sentence: Tensor, sentences_per_document: Tensor
    ) -> HANOutput:
        """Score documents like `forward`, and return attention and document vectors too."""
        p = self.options.dropout if self.training else 0.0
        level = self.read_sentences(self.scaled(vectors), sentences_per_document, p)
        penalty = level.logits.new_zeros(len(level.logits))
        attention = self.options.attention
        if isinstance(attention, MultiHopAttention) and attention.hops > 1 and attention.penalty:
            penalty = attention.penalty * hop_overlap(level.weights, sentences_per_document)
        shares = shares_of_words(words_per_sentence).to(level.weights)
        return HANOutput(level.logits, shares, level.weights.mean(1), penalty, level.vectors)

    def scaled(self, vectors: Tensor) -> Tensor:
        """Return centred and scaled vectors, shape (N, E)."""
        return (vectors - self.center) * self.scale

    def read_sentences(
        self, sentences: Tensor, sentences_per_document: Tensor, dropped: float = 0.0
    ) -> SentenceLevel:
        """Encode and pool scaled sentence vectors (N, E), and score the documents."""
        states = dropout(sentences, dropped, self.generator)
        if self.recurrent:
            each = torch.arange(len(sentences), device=sentences.device)
            states = self.sentence_encoder(states, each, sentences_per_document)  # (N, H)
        pooled, weights = self.sentence_attention.pool(states, sentences_per_document)  # (D, H)
        mean, _ = self.mean.pool(sentences, sentences_per_document)  # (D, E)
        vectors = dropout(torch.cat([pooled, mean], dim=1), dropped, self.generator)  # (D, H + E)
        return SentenceLevel(self.output(vectors), weights, vectors)

    def gradient_attention(
        self,
        vectors: Tensor,
        words_per_sentence: Tensor,
        sentences_per_document: Tensor,
        score: Score,
    ) -> HANAttribution:
        """Multiply scaled vectors by the gradient of the score at them; words share it evenly."""
        with torch.enable_grad():
            sentences = self.scaled(vectors).detach().requires_grad_()  # (N, E)
            logits, weights, _ = self.read_sentences(sentences, sentences_per_document)
            gradient = gradient_of(logits, score(logits.detach()), sentences)
        sentences = sentences.detach()
        shares = shares_of_words(words_per_sentence).to(sentences)
        lengths = words_per_sentence.to(sentences.device)
        words = shares * torch.repeat_interleave((sentences * gradient).sum(1), lengths)
        return HANAttribution(logits.detach(), shares, weights.detach().mean(1), words)

    @property
    def has_kernels(self) -> bool:
        """Whether compiled kernels cover the layers that do most of the work."""
        covers = self.recurrent and self.sentence_encoder.has_kernels
        return covers and self.sentence_attention.has_kernels


def shares_of_words(words_per_sentence: Tensor) -> Tensor:
    """Return one over the number of words of its sentence for each word, shape (T,)."""
    return torch.repeat_interleave(1 / words_per_sentence, words_per_sentence)
