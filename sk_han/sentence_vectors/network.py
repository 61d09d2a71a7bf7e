"""The sentence level of a Hierarchical Attention Network alone, over vectors of sentences."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, diags
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import TruncatedSVD
from sklearn.preprocessing import normalize
from sklearn.utils import check_random_state
from torch import Tensor, nn

from sk_han.documents import UNKNOWN_ID
from sk_han.embeddings.cooccurrence import cooccurrence_vectors
from sk_han.nn.encoders import dropout, recurrent_encoder, with_memory, xavier_uniform_
from sk_han.nn.han import Attribution, HANOutput, Score, SentenceLevel, gradient_of, pooling_of
from sk_han.nn.poolings import MeanPooling, hop_overlap
from sk_han.options import MultiHopAttention, NetworkOptions
from sk_han.tokenizer import HierarchicalTokenizer


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
        Of `sk_han.options.NetworkOptions`; those of words have no effect.

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
        self.register_buffer("center", torch.zeros(input_size, dtype=torch.float32, device="cpu"))
        self.register_buffer("scale", torch.ones(input_size, dtype=torch.float32, device="cpu"))
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
    ) -> Attribution:
        """Multiply scaled vectors by the gradient of the score at them; words share it evenly."""
        with torch.enable_grad():
            sentences = self.scaled(vectors).detach().requires_grad_()  # (N, E)
            logits, weights, _ = self.read_sentences(sentences, sentences_per_document)
            gradient = gradient_of(logits, score(logits.detach()), sentences)
        sentences = sentences.detach()
        shares = shares_of_words(words_per_sentence).to(sentences)
        lengths = words_per_sentence.to(sentences.device)
        words = shares * torch.repeat_interleave((sentences * gradient).sum(1), lengths)
        return Attribution(logits.detach(), shares, weights.detach().mean(1), words)

    @property
    def has_kernels(self) -> bool:
        """Whether compiled kernels cover the layers that do most of the work."""
        covers = self.recurrent and self.sentence_encoder.has_kernels
        return covers and self.sentence_attention.has_kernels


def shares_of_words(words_per_sentence: Tensor) -> Tensor:
    """Return one over the number of words of its sentence for each word, shape (T,)."""
    return torch.repeat_interleave(1 / words_per_sentence, words_per_sentence)


class PooledWordEncoder(TransformerMixin, BaseEstimator):
    """Sums of word vectors that are learnt in two ways, one half of the numbers each.

    By neighbours of words, which tell topics (`sk_han.embeddings.learn_embeddings`), and by latent
    semantic analysis (Deerwester et al., 1990), which tells "good" from "bad". On held-out folds
    one half alone was worse for IMDB or 20 newsgroups. Weighted by inverse document frequency.
    """

    def __init__(self, n_components: int = 400, random_state: Any = None) -> None:
        self.n_components = n_components
        self.random_state = random_state

    def fit(self, X: list[str], y: Any = None) -> PooledWordEncoder:
        """Learn the vectors of words from sentences."""
        self.tokenizer_ = HierarchicalTokenizer()
        sentences = self.tokenizer_.fit_transform(X)
        rng = check_random_state(self.random_state)
        n_words, half = len(self.tokenizer_.vocabulary_) + UNKNOWN_ID + 1, self.n_components // 2
        shape = n_words, self.n_components - half
        vectors, _ = cooccurrence_vectors(sentences, shape, random_state=rng)
        vectors[: UNKNOWN_ID + 1] = 0
        counts = _counts(sentences, n_words)
        n_sentences = np.diff(counts.tocsc().indptr)
        weights = np.log((len(X) + 1) / np.maximum(n_sentences, 1)).astype(np.float32)
        directions = np.zeros((n_words, half), dtype=np.float32)
        size = min(half, min(counts.shape) - 1)
        if size > 0:
            weighted = normalize(counts @ diags(weights))
            directions[:, :size] = TruncatedSVD(size, random_state=rng).fit(weighted).components_.T
        self.tables_ = [table * weights[:, None] for table in (vectors, directions)]
        return self

    def transform(self, X: list[str]) -> NDArray[np.float32]:
        """Return the vectors of sentences, shape (n_sentences, n_components)."""
        counts = _counts(self.tokenizer_.transform(X), len(self.tables_[0]))
        found = np.hstack([normalize(counts @ table) for table in self.tables_])
        return normalize(found, copy=False).astype(np.float32, copy=False)


def _counts(sentences: Any, n_words: int) -> csr_matrix:
    """Count the words of each sentence, shape (n_sentences, n_words)."""
    row = np.repeat(np.arange(len(sentences)), sentences.words_per_document)
    ones = np.ones(len(row), dtype=np.float32)
    return csr_matrix((ones, (row, sentences.word_ids)), (len(sentences), n_words))
