"""The Hierarchical Attention Network of Yang et al. (2016), over real words only."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from sk_han.nn.attention import AttentionPooling
from sk_han.nn.dropout import dropout, word_dropout
from sk_han.nn.initialization import normal_, xavier_uniform_
from sk_han.nn.layout import packed_layout
from sk_han.nn.recurrent import BidirectionalGRU

__all__ = ["HANOutput", "HierarchicalAttentionNetwork"]


class HANOutput(NamedTuple):
    """What `HierarchicalAttentionNetwork.attend` gives.

    Attributes
    ----------
    logits : Tensor, shape (D, C)
    word_attention : Tensor, shape (T,)
        Sums to 1 over the words of each sentence.
    sentence_attention : Tensor, shape (N,)
        Sums to 1 over the sentences of each document.
    """

    logits: Tensor
    word_attention: Tensor
    sentence_attention: Tensor


class HierarchicalAttentionNetwork(nn.Module):
    """Words are encoded and pooled into sentences, sentences into a document, that into logits.

    Documents come as flat arrays of their real words, so there is no padding to mask: a
    document's result depends on nothing but the document.

    Parameters
    ----------
    vocabulary_size : int
        Number of word ids, those of padding (0) and of the unknown word (1) included.
    n_classes : int
        Number of logits C.
    embedding_dim : int
        Size E of a word vector.
    word_hidden, sentence_hidden : int
        Size of the GRU state of one direction at each level.
    attention_dim : int
        Size A of the attention's hidden layer at each level.
    dropout : float
        Share of the entries of sentence and document vectors that training sets to zero.
    word_dropout : float
        Share of the words that training replaces by the unknown word, which so learns a vector.
    unknown_id : int
        Id of the unknown word.
    max_words : int
        Number of words that the word level encodes at once: it bounds the memory of long
        documents and of large batches and changes no result.
    freeze_embedding : bool
        Whether the word vectors stay as they are.
    sparse : bool
        Whether the gradient of the word vectors holds only the rows of the words that occurred.
    generator : torch.Generator on the CPU, optional
        Source of the initial weights and of dropout; by default PyTorch's global one.

    References
    ----------
    Yang, Yang, Dyer, He, Smola, Hovy (2016). Hierarchical Attention Networks for Document
    Classification. NAACL.

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
        embedding_dim: int = 200,
        word_hidden: int = 50,
        sentence_hidden: int = 50,
        attention_dim: int = 100,
        dropout: float = 0.0,
        word_dropout: float = 0.0,
        unknown_id: int = 1,
        max_words: int = 131_072,
        freeze_embedding: bool = False,
        sparse: bool = False,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        if max_words < 1:
            raise ValueError(f"max_words must be at least 1; got {max_words}.")
        self._projected: Tensor | None = None
        self.register_load_state_dict_post_hook(_forget_table)
        self.dropout, self.word_dropout = dropout, word_dropout
        self.unknown_id, self.max_words, self.generator = unknown_id, max_words, generator
        self.embedding = nn.Embedding(
            vocabulary_size,
            embedding_dim,
            sparse=sparse,
            _weight=torch.empty(vocabulary_size, embedding_dim),
        )
        self.word_encoder = BidirectionalGRU(embedding_dim, word_hidden, generator)
        self.word_attention = AttentionPooling(2 * word_hidden, attention_dim, generator)
        self.sentence_encoder = BidirectionalGRU(2 * word_hidden, sentence_hidden, generator)
        self.sentence_attention = AttentionPooling(2 * sentence_hidden, attention_dim, generator)
        self.output = nn.Linear(2 * sentence_hidden, n_classes, device="meta")
        self.output.to_empty(device="cpu")
        normal_(self.embedding.weight, 0.1, generator)
        xavier_uniform_(self.output.weight, generator)
        nn.init.zeros_(self.output.bias)
        self.embedding.weight.requires_grad_(not freeze_embedding)

    def forward(
        self, word_ids: Tensor, words_per_sentence: Tensor, sentences_per_document: Tensor
    ) -> Tensor:
        """Score documents.

        Parameters
        ----------
        word_ids : Tensor of int64, shape (T,)
            Ids of all words of the batch in reading order.
        words_per_sentence : Tensor of int64 on the CPU, shape (N,)
        sentences_per_document : Tensor of int64 on the CPU, shape (D,)
            0 for an empty document, whose logits are those of the zero vector.

        Returns
        -------
        Tensor, shape (D, C)
            Logits: softmax is left to the loss.
        """
        return self.attend(word_ids, words_per_sentence, sentences_per_document).logits

    def attend(
        self, word_ids: Tensor, words_per_sentence: Tensor, sentences_per_document: Tensor
    ) -> HANOutput:
        """Score documents as `forward` does, and keep the attention weights of both levels."""
        if self.training:
            word_ids = word_dropout(word_ids, self.word_dropout, self.unknown_id, self.generator)
        sentences, word_attention = self._encode_in_parts(word_ids, words_per_sentence)  # (N, H)
        if self.training:
            sentences = dropout(sentences, self.dropout, self.generator)
        each = torch.arange(len(sentences), device=sentences.device)
        states = self.sentence_encoder(sentences, each, sentences_per_document)  # (N, H)
        documents, sentence_attention = self.sentence_attention.pool(
            states, sentences_per_document
        )  # (D, H)
        if self.training:
            documents = dropout(documents, self.dropout, self.generator)
        logits = self.output(documents)  # (D, C)
        return HANOutput(logits, word_attention, sentence_attention)

    def encode_sentences(
        self, word_ids: Tensor, words_per_sentence: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Encode and pool the words of each sentence.

        Returns
        -------
        sentences : Tensor, shape (N, H)
        word_attention : Tensor, shape (T,)
        """
        predicting = not torch.is_grad_enabled() and self.word_encoder.fuses
        if self._projected is not None and predicting:
            layout = packed_layout(words_per_sentence)
            states = self.word_encoder.recur(self._projected, word_ids, layout)  # (T, H)
        else:
            distinct, index = distinct_words(word_ids, self.embedding.num_embeddings)
            vectors = self.embedding(distinct)  # (U, E)
            states = self.word_encoder(vectors, index, words_per_sentence)  # (T, H)
        return self.word_attention.pool(states, words_per_sentence)

    def tabulate(self) -> None:
        """Project the whole vocabulary once, for many predictions on the CPU to look it up.

        Takes 24 * word_hidden bytes a word. Training, moving the module and loading a state forget
        the table; whoever changes weights in another way calls this again.
        """
        with torch.no_grad():
            self._projected = self.word_encoder.project(self.embedding.weight)  # (2, V, 3H/2)

    def train(self, mode: bool = True) -> HierarchicalAttentionNetwork:
        """Switch to training, which forgets the table of `tabulate`, or to evaluation."""
        if mode:
            self._projected = None
        return super().train(mode)

    def _apply(self, *args: Any, **kwargs: Any) -> HierarchicalAttentionNetwork:
        self._projected = None  # the module moves to another device or dtype
        return super()._apply(*args, **kwargs)

    def _encode_in_parts(
        self, word_ids: Tensor, words_per_sentence: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Encode sentences, at most `max_words` words at once (or one longer sentence)."""
        if len(word_ids) <= self.max_words:
            return self.encode_sentences(word_ids, words_per_sentence)
        encode = self.encode_sentences
        if torch.is_grad_enabled():
            # Each part forgets its states and computes them again for its backward.
            encode = partial(checkpoint, encode, use_reentrant=False, preserve_rng_state=False)
        parts = [
            encode(ids, lengths)
            for ids, lengths in _parts(word_ids, words_per_sentence, self.max_words)
        ]
        sentences, word_attention = zip(*parts, strict=True)
        return torch.cat(sentences), torch.cat(word_attention)


def _forget_table(network: HierarchicalAttentionNetwork, _: Any) -> None:
    network._projected = None


def distinct_words(word_ids: Tensor, vocabulary_size: int) -> tuple[Tensor, Tensor]:
    """Find the distinct ids of a batch, and where each word's id stands among them.

    A batch repeats its words four to seven times, and what depends on the word alone needs
    computing once. Marking a table of the vocabulary is cheaper than sorting the words.

    Returns
    -------
    distinct : Tensor of int64, shape (U,)
        Rising.
    index : Tensor of int64, shape (T,)
        ``distinct[index]`` are the words.
    """
    occurs = torch.zeros(vocabulary_size, dtype=torch.bool, device=word_ids.device)
    occurs[word_ids] = True
    distinct = occurs.nonzero().squeeze(1)
    position = torch.empty(vocabulary_size, dtype=torch.int64, device=word_ids.device)
    position[distinct] = torch.arange(len(distinct), device=word_ids.device)
    return distinct, position[word_ids]


def _parts(
    word_ids: Tensor, words_per_sentence: Tensor, max_words: int
) -> Iterator[tuple[Tensor, Tensor]]:
    """Cut a batch between sentences so that each part has at most `max_words` words."""
    ends = torch.cumsum(words_per_sentence, 0)
    sentence, word = 0, 0
    while sentence < len(ends):
        fitting = int(torch.searchsorted(ends, word + max_words, right=True))
        next_sentence = max(fitting, sentence + 1)
        next_word = int(ends[next_sentence - 1])
        yield word_ids[word:next_word], words_per_sentence[sentence:next_sentence]
        sentence, word = next_sentence, next_word
