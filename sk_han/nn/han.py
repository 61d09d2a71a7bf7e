"""The Hierarchical Attention Network of Yang et al. (2016) and its family, over real words only."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from sk_han.nn.diversity import conicity, document_conicity
from sk_han.nn.dropout import dropout, row_dropout, word_dropout
from sk_han.nn.encoders.gru import BidirectionalGRU, recurrent_encoder
from sk_han.nn.encoders.packed import PackedRNN
from sk_han.nn.family import check_family
from sk_han.nn.initialization import normal_, xavier_uniform_
from sk_han.nn.pooling.context import ContextPooling
from sk_han.nn.pooling.multi_hop import document_overlap
from sk_han.nn.pooling.unweighted import Pooling, pooling_of
from sk_han.nn.ragged.layout import packed_layout
from sk_han.nn.ragged.words import distinct_words, in_parts

__all__ = ["HANOutput", "HierarchicalAttentionNetwork"]


class HANOutput(NamedTuple):
    """What `HierarchicalAttentionNetwork.attend` gives.

    Attributes
    ----------
    logits : Tensor, shape (D, C)
    word_attention : Tensor, shape (T,)
        Sums to 1 over the words of each sentence. Of several hops or directions the mean; without
        attention the share of the sentence vector's entries that come from each word.
    sentence_attention : Tensor, shape (N,)
        The same for the sentences of each document.
    penalty : Tensor, shape (D,)
        What training adds to the loss of each document: zero, but for several hops and for a
        `diversity_penalty`, which is computed in training mode alone.
    """

    logits: Tensor
    word_attention: Tensor
    sentence_attention: Tensor
    penalty: Tensor


class HierarchicalAttentionNetwork(nn.Module):
    """Words are encoded and pooled into sentences, sentences into a document, that into logits.

    Documents come as flat arrays of their real words, so there is no padding to mask: a
    document's result depends on nothing but the document. The defaults are the network of Yang et
    al. (2016); documents of one sentence make it a bidirectional classifier with attention.

    Parameters
    ----------
    vocabulary_size : int
        Number of word ids, those of padding (0) and of the unknown word (1) included.
    n_classes : int
        Number of logits C.
    embedding_dim : int
        Size E of a word vector.
    word_hidden, sentence_hidden : int
        Size of the recurrent state of one direction at each level.
    attention_dim : int
        Size A of the attention's hidden layer at each level.
    dropout : float
        Share of the entries of sentence and document vectors that training sets to zero.
    word_dropout : float
        Share of the words that training replaces by the unknown word, which so learns a vector.
    embedding_dropout : float
        Share of the distinct words of a batch whose vectors training sets to zero wherever they
        stand, scaling the others by ``1 / (1 - embedding_dropout)`` (Gal and Ghahramani, 2016).
    rnn : {"gru", "lstm", "rnn"}
        Recurrent network at both levels: equations in `PackedRNN`.
    num_layers : int
        Its layers.
    bidirectional : bool
        Whether it reads from the right as well; H below is twice the state size then.
    pooling : {"attention", "mean", "max", "last"}
        How states become one vector at both levels: by attention (HN-ATT), as their mean
        (HN-AVE), as the largest number of each entry (HN-MAX), or as the last state of each
        direction (the plain encoder).
    attention : {"softmax", "sparsemax", "entmax15"}
        How scores become weights at both levels: all above 0, or many exactly 0 by sparsemax
        (Martins and Astudillo, 2016) or, less strictly, by 1.5-entmax (Peters et al., 2019).
    attention_hops : int
        Number R of attentions at each level, whose results stand side by side: (N, R * H)
        (Lin et al., 2017; equations in `MultiHopAttention`).
    hop_penalty : float
        Several hops only: factor of ``||A A^T - I||_F^2``, R x R, in `HANOutput.penalty`: that of
        the document's sentences, plus the mean of that of the words over its sentences.
    diversity_penalty : float
        Attention only: factor in `HANOutput.penalty` of the conicity of the states, the mean
        cosine between a state and the mean state of its sequence (Mohankumar et al., 2020): that
        of the document's sentences, plus the mean over its sentences of that of their words. A
        sequence of one state is left out. Only where states differ can attention tell which of
        them counts.
    context : {"forward", "bidirectional"} or None
        Whether the word attention knows the sentences before, or before and after
        (CAHAN of Remy et al., 2019; equations in `ContextPooling`). Sentences wait for each
        other then, and the word states of a whole batch stay in memory whatever `max_words`.
    context_pooling : {"mean", "sum"}
        Context only: how earlier sentence vectors become one. Sums grow with the document.
    context_gated : bool
        Context only: whether a gate weighs word against context.
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

    Lin, Feng, dos Santos, Yu, Xiang, Zhou, Bengio (2017). A Structured Self-attentive Sentence
    Embedding. ICLR.

    Remy, Tixier, Vazirgiannis (2019). Bidirectional Context-Aware Hierarchical Attention Network
    for Document Understanding. arXiv:1908.06006.

    Martins, Astudillo (2016). From Softmax to Sparsemax: A Sparse Model of Attention and
    Multi-Label Classification. ICML.

    Peters, Niculae, Martins (2019). Sparse Sequence-to-Sequence Models. ACL.

    Mohankumar, Nema, Narasimhan, Khapra, Srinivasan, Ravindran (2020). Towards Transparent and
    Explainable Attention Models. ACL.

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
        embedding_dim: int = 200,
        word_hidden: int = 50,
        sentence_hidden: int = 50,
        attention_dim: int = 100,
        dropout: float = 0.0,
        word_dropout: float = 0.0,
        embedding_dropout: float = 0.0,
        rnn: str = "gru",
        num_layers: int = 1,
        bidirectional: bool = True,
        pooling: str = "attention",
        attention: str = "softmax",
        attention_hops: int = 1,
        hop_penalty: float = 1.0,
        diversity_penalty: float = 0.0,
        context: str | None = None,
        context_pooling: str = "mean",
        context_gated: bool = False,
        unknown_id: int = 1,
        max_words: int = 131_072,
        freeze_embedding: bool = False,
        sparse: bool = False,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        if max_words < 1:
            raise ValueError(f"max_words must be at least 1; got {max_words}.")
        check_family(
            rnn=rnn,
            pooling=pooling,
            attention=attention,
            attention_hops=attention_hops,
            diversity_penalty=diversity_penalty,
            context=context,
            context_pooling=context_pooling,
        )
        self._projected: Tensor | None = None
        self.register_load_state_dict_post_hook(_forget_table)
        self.dropout, self.word_dropout = dropout, word_dropout
        self.embedding_dropout = embedding_dropout
        self.hop_penalty, self.diversity_penalty = hop_penalty, diversity_penalty
        self.unknown_id, self.max_words, self.generator = unknown_id, max_words, generator
        self.embedding = nn.Embedding(
            vocabulary_size,
            embedding_dim,
            sparse=sparse,
            _weight=torch.empty(vocabulary_size, embedding_dim),
        )
        encoder = partial(
            recurrent_encoder,
            rnn,
            num_layers=num_layers,
            bidirectional=bidirectional,
            generator=generator,
        )
        pooled = partial(
            pooling_of,
            pooling,
            attention_dim=attention_dim,
            attention=attention,
            hops=attention_hops,
            bidirectional=bidirectional,
            generator=generator,
        )
        self.word_encoder: BidirectionalGRU | PackedRNN = encoder(embedding_dim, word_hidden)
        word_size = self.word_encoder.output_size
        self.word_attention: Pooling | ContextPooling = (
            pooled(word_size)
            if context is None
            else ContextPooling(
                word_size,
                attention_dim,
                bidirectional=context == "bidirectional",
                pooling=context_pooling,
                gated=context_gated,
                attention=attention,
                generator=generator,
            )
        )
        self.sentence_encoder = encoder(self.word_attention.output_size, sentence_hidden)
        self.sentence_attention = pooled(self.sentence_encoder.output_size)
        self.output = nn.Linear(self.sentence_attention.output_size, n_classes, device="meta")
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
        kept = None
        if self.training:
            word_ids = word_dropout(word_ids, self.word_dropout, self.unknown_id, self.generator)
            table = self.embedding.weight
            kept = row_dropout(len(table), self.embedding_dropout, self.generator, table)
        sentences, word_attention, word_conicity = self._sentences(
            word_ids, words_per_sentence, sentences_per_document, kept
        )  # (N, H)
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
        penalty = logits.new_zeros(len(logits))
        if word_attention.dim() == 2:  # a column for each hop
            penalty = self.hop_penalty * document_overlap(
                word_attention, words_per_sentence, sentence_attention, sentences_per_document
            )
            word_attention, sentence_attention = word_attention.mean(1), sentence_attention.mean(1)
        if self._punishes_likeness:
            penalty = penalty + self.diversity_penalty * document_conicity(
                word_conicity, words_per_sentence, states, sentences_per_document
            )
        return HANOutput(logits, word_attention, sentence_attention, penalty)

    def _sentences(
        self,
        word_ids: Tensor,
        words_per_sentence: Tensor,
        sentences_per_document: Tensor,
        kept: Tensor | None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Encode and pool the words of each sentence.

        Gives vectors (N, H), weights (T,) or (T, R), and the conicity (N,) of the word states, or
        zeros where nobody asks for it.
        """
        pooling = self.word_attention

        def conicity_of(states: Tensor, lengths: Tensor) -> Tensor:
            if self._punishes_likeness:
                return conicity(states, lengths)
            return states.new_zeros(len(lengths))

        if isinstance(pooling, ContextPooling):

            def states_of(ids: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
                states = self.word_states(ids, lengths, kept)
                return states, conicity_of(states, lengths)

            states, likeness = in_parts(states_of, word_ids, words_per_sentence, self.max_words)
            return *pooling.pool(states, words_per_sentence, sentences_per_document), likeness

        def sentences_of(ids: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor, Tensor]:
            states = self.word_states(ids, lengths, kept)
            return *pooling.pool(states, lengths), conicity_of(states, lengths)

        sentences, weights, likeness = in_parts(
            sentences_of, word_ids, words_per_sentence, self.max_words
        )
        return sentences, weights, likeness

    @property
    def _punishes_likeness(self) -> bool:
        return self.training and self.diversity_penalty > 0

    def word_states(
        self, word_ids: Tensor, words_per_sentence: Tensor, kept: Tensor | None = None
    ) -> Tensor:
        """Encode the words of each sentence.

        Parameters
        ----------
        word_ids, words_per_sentence : Tensor
            As of `forward`.
        kept : Tensor, shape (vocabulary_size, 1), optional
            Factor of each word vector, of dropout.

        Returns
        -------
        Tensor, shape (T, H)
        """
        encoder, table = self.word_encoder, self._projected
        if (
            isinstance(encoder, BidirectionalGRU)
            and encoder.fuses
            and table is not None
            and not torch.is_grad_enabled()
        ):
            return encoder.recur(table, word_ids, packed_layout(words_per_sentence))
        distinct, index = distinct_words(word_ids, self.embedding.num_embeddings)
        vectors = self.embedding(distinct)  # (U, E)
        if kept is not None:
            vectors = vectors * kept[distinct]
        states: Tensor = encoder(vectors, index, words_per_sentence)
        return states

    def tabulate(self) -> None:
        """Project the whole vocabulary once, for many predictions on the CPU to look it up.

        Takes 24 * word_hidden bytes a word; where the vectors are so short that the table would be
        more than eight times their size, there is none. Training, moving the module and loading a
        state forget the table; whoever changes weights in another way calls this again.
        `PackedRNN` has none.
        """
        encoder = self.word_encoder
        if (
            isinstance(encoder, BidirectionalGRU)
            and 3 * encoder.output_size <= 8 * self.embedding.embedding_dim
        ):
            with torch.no_grad():
                self._projected = encoder.project(self.embedding.weight)  # (2, V, 3H/2)

    def train(self, mode: bool = True) -> HierarchicalAttentionNetwork:
        """Switch to training, which forgets the table of `tabulate`, or to evaluation."""
        if mode:
            self._projected = None
        return super().train(mode)

    def _apply(self, *args: Any, **kwargs: Any) -> HierarchicalAttentionNetwork:
        self._projected = None  # the module moves to another device or dtype
        return super()._apply(*args, **kwargs)


def _forget_table(network: HierarchicalAttentionNetwork, _: Any) -> None:
    network._projected = None
