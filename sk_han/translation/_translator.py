"""AttentionTranslator, the estimator that translates short texts by recurrence with attention."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from sk_han._fitting.single_network import SingleNetworkEstimator, network_schema
from sk_han._options import Choice, InstanceOf
from sk_han._storage.schema import Array, Field, ListOf, Sizes
from sk_han._text.vocabulary import FittedTokenizer
from sk_han._tokenizer import HierarchicalTokenizer
from sk_han._training.net import computing
from sk_han._utils.compat import (
    FRACTION,
    LEARNING_RATE,
    POSITIVE,
    Interval,
    fit_context,
    to_sklearn,
)
from sk_han._utils.messages import import_optional
from sk_han._validation.documents import check_texts
from sk_han.inspection._training import TrainingSummary
from sk_han.translation._alignment import Alignment, detokenize
from sk_han.translation._fit import TranslationNet, as_sequences, check_pairs, fit_translator
from sk_han.translation._network import TranslationOptions

_OPTIONS = {name: to_sklearn(c) for name, c in TranslationOptions.constraints().items()}

# V is the number of word ids of sources, and T that of translations.
TRANSLATOR = network_schema(
    Field("source_tokenizer", FittedTokenizer("V")),
    Field("target_tokenizer", FittedTokenizer("T")),
    Field("forms", ListOf(InstanceOf(str), length="T")),
    Field("glued", Array("int64", "T", 0, 3)),
    Field("capitals", Choice((False, True))),
    options=TranslationOptions,
)


class AttentionTranslator(SingleNetworkEstimator):
    """Translate short texts, word by word, with attention to the words of the source.

    A bidirectional GRU encodes the source, and another GRU generates the target. At each word, it
    attends to the source (Bahdanau et al., 2015) with its current state, and gets the result as an
    additional input at the next word (Luong et al., 2015). So the attention of a word shows from
    which source words it comes.

    Parameters
    ----------
    source_tokenizer, target_tokenizer : HierarchicalTokenizer, default=None
        Cloned, and fitted to the training texts of their side. None splits into lowercase words and
        single signs; from 1,000 training pairs on, words of a single text are unknown words.
    embedding_dim : int, default=256
        Size of a word vector of both sides. The vectors of target words are the output weights too.
    hidden_size : int, default=256
        Size of the recurrent state of the encoder in each direction, and of the decoder.
    attention_size : int, default=128
        Size of the attention's hidden layer.
    dropout : float, default=0.3
        Share of the entries of word vectors, states and output vectors dropped in training.
    label_smoothing : float, default=0.1
        Share of each target that is spread over all words in the loss (Szegedy et al., 2016).
    lr : float, default=0.002
        Peak of the one-cycle schedule.
    max_epochs : int, default=10
        Passes over the training pairs.
    batch_size : int, default=64
        Pairs a step, of similar length.
    validation_fraction : float, default=0.03
        Share of the pairs held out if `fit` gets none. The weights of the epoch with the largest
        share of correct words on them are kept. None keeps the last weights.
    n_iter_no_change : int, default=None
        Number of epochs without improvement on the held-out pairs after which training stops; None
        for no stop.
    beam_size : int, default=5
        Number of partial translations that `predict` keeps; 1 is greedy search.
    length_penalty : float, default=1.0
        The score of a translation is its log-probability divided by its number of words to this
        power (Wu et al., 2016).
    max_words : int, default=200
        Limit for the words of a text that are read, and of a translation. A translation has at most
        twice as many words as its source, plus ten. Longer training pairs are left out.
    random_state : int, RandomState instance or None, default=None
        Source of initial weights, dropout, held-out pairs and order.
    device : str, default="auto"
        "auto" takes CUDA if there is one, else the CPU.
    callbacks : list, default=None
        skorch callbacks, copied in `fit`.
    n_threads : int, default=None
        See `HANClassifier`.
    verbose : int, default=0
        1 shows the stages, a line after each epoch, and then ``fit_summary_``.

    Attributes
    ----------
    source_tokenizer_, target_tokenizer_ : HierarchicalTokenizer
        Fitted.
    forms_ : list of str
        Written form of each target word within a sentence, by id.
    glued_ : ndarray of int64, shape (n_forms,)
        1 for no white space before a word, plus 2 for none after it.
    capitals_ : bool
        Whether sentences of the target start with a capital.
    net_ : TranslationNet
        The fitted skorch net; ``net_.module_`` is the PyTorch network.
    history_, best_epoch_, best_score_, n_iter_, device_
        See `HANClassifier`; losses and accuracies are of target words, given the correct previous
        words.
    fit_summary_ : TrainingSummary
        Summary of the fit; `repr` has the short form.

    Notes
    -----
    An unknown word of the target is replaced by the source word with the largest attention, so
    names and numbers are kept. Case and spaces of the output are those that a word had in most
    training texts.

    Examples
    --------
    >>> from sk_han import AttentionTranslator
    >>> X = ["Ein Hund rennt.", "Ein Kind schläft.", "Ein Hund schläft."] * 20
    >>> y = ["A dog runs.", "A child sleeps.", "A dog sleeps."] * 20
    >>> translator = AttentionTranslator(hidden_size=16, lr=0.02, batch_size=8, random_state=0)
    >>> translator.fit(X, y).predict(["Ein Kind schläft."])
    ['A child sleeps.']
    """

    _schema = TRANSLATOR
    _own_state = ("source_tokenizer", "target_tokenizer", "forms", "glued", "capitals")
    _options, _make_net = TranslationOptions, TranslationNet
    _shown_by = "Its attention(texts) gives the words that each word comes from."
    _parameter_constraints = {  # noqa: RUF012  (scikit-learn's protocol)
        "source_tokenizer": [HierarchicalTokenizer, None],
        "target_tokenizer": [HierarchicalTokenizer, None],
        **_OPTIONS,
        "label_smoothing": [Interval(Real, 0, 1, closed="left")],
        "lr": [LEARNING_RATE],
        "max_epochs": [POSITIVE],
        "batch_size": [POSITIVE],
        "validation_fraction": [FRACTION, None],
        "n_iter_no_change": [POSITIVE, None],
        "beam_size": [Interval(Integral, 1, 1000, closed="both")],
        "length_penalty": [Interval(Real, 0, 10, closed="both")],
        "max_words": [POSITIVE],
        "random_state": ["random_state"],
        "device": [str],
        "callbacks": [list, None],
        "n_threads": [POSITIVE, None],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        *,
        source_tokenizer: HierarchicalTokenizer | None = None,
        target_tokenizer: HierarchicalTokenizer | None = None,
        embedding_dim: int = 256,
        hidden_size: int = 256,
        attention_size: int = 128,
        dropout: float = 0.3,
        label_smoothing: float = 0.1,
        lr: float = 0.002,
        max_epochs: int = 10,
        batch_size: int = 64,
        validation_fraction: float | None = 0.03,
        n_iter_no_change: int | None = None,
        beam_size: int = 5,
        length_penalty: float = 1.0,
        max_words: int = 200,
        random_state: Any = None,
        device: str = "auto",
        callbacks: list[Any] | None = None,
        n_threads: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.source_tokenizer = source_tokenizer
        self.target_tokenizer = target_tokenizer
        self.embedding_dim = embedding_dim
        self.hidden_size = hidden_size
        self.attention_size = attention_size
        self.dropout = dropout
        self.label_smoothing = label_smoothing
        self.lr = lr
        self.max_epochs = max_epochs
        self.batch_size = batch_size
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.beam_size = beam_size
        self.length_penalty = length_penalty
        self.max_words = max_words
        self.random_state = random_state
        self.device = device
        self.callbacks = callbacks
        self.n_threads = n_threads
        self.verbose = verbose

    @property
    def fit_summary_(self) -> TrainingSummary | None:
        """Summary of the last fit."""
        numbers = self.model_["fit_summary_"]
        return numbers and TrainingSummary(**numbers)

    # Nested validation is not skipped, so that the parameters of the user's tokenizers are checked.
    @fit_context(prefer_skip_nested_validation=False)
    def fit(
        self,
        source_texts: Any,
        target_texts: Any,
        sample_weight: ArrayLike | None = None,
        X_val: Any = None,
        y_val: Any = None,
    ) -> AttentionTranslator:
        """Learn from texts and their translations.

        Parameters
        ----------
        source_texts, target_texts : iterable of str, shape (n_pairs,)
            Pairs with an empty side, or one of more than `max_words` words, are left out.
        sample_weight : array-like of shape (n_pairs,), default=None
            Weights >= 0 of the words of each pair; a pair of weight 0 is left out.
        X_val, y_val : as source_texts and target_texts, default=None
            Held-out pairs, instead of a part of the training pairs.

        Returns
        -------
        AttentionTranslator
            Itself. After an error, an earlier fitted state is unchanged.

        Raises
        ------
        TypeError, ValueError
            If texts, weights or parameters are invalid; the message names the pair.
        FloatingPointError
            If the loss is no longer a finite number.
        """
        data = source_texts, target_texts, sample_weight, X_val, y_val
        return self._learn(fit_translator, *data)

    def predict(self, source_texts: Any) -> list[str]:
        """Translate texts; one without words has an empty translation."""
        return [alignment.target_text for alignment in self.attention(source_texts)]

    def attention(self, source_texts: Any) -> list[Alignment]:
        """Translate texts, and return the attention of each word to the words of its source.

        Returns
        -------
        list of Alignment
            Their `target_text` is the result of `predict`.
        """
        check_is_fitted(self)
        # Parameters of the search may have been set after the fit.
        self._validate_params()
        model, texts = self.model_, check_texts(source_texts)
        documents, spans = model["source_tokenizer_"].locate(texts)
        longest = min(int(self.max_words), np.iinfo(np.int32).max)
        sources = as_sequences(documents, longest)
        lengths = sources.words_per_document
        most = np.where(lengths > 0, np.minimum(2 * lengths + 10, longest), 0)
        with self._computing():
            hypotheses = model["net_"].search(
                sources,
                beam_size=int(self.beam_size),
                length_penalty=float(self.length_penalty),
                max_words=most,
            )
        return [
            _alignment(
                model,
                text,
                list(zip(source.word_spans.tolist(), source.words, strict=True))[:length],
                hypothesis,
            )
            for text, source, length, hypothesis in zip(
                texts, spans, lengths.tolist(), hypotheses, strict=True
            )
        ]

    def score(self, source_texts: Any, target_texts: Any) -> float:
        """Compute the BLEU of the translations, from 0 to 100.

        It is computed by sacrebleu (``pip install "sk-han[translate]"``), with the signature
        ``nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp`` and its version.
        """
        sacrebleu = import_optional("sacrebleu", "translate", "AttentionTranslator.score")
        check_is_fitted(self)
        names = ("source_texts", "target_texts")
        sources, targets = check_pairs(source_texts, target_texts, names)
        return float(sacrebleu.corpus_bleu(self.predict(sources), [targets]).score)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        return tags

    def _network_sizes(self, state: Mapping[str, Any], sizes: Sizes) -> dict[str, Any]:
        return {"source_size": sizes["V"], "target_size": sizes["T"]}

    def _computing(self) -> AbstractContextManager[None]:
        """Compute with PyTorch: most of the work is matrix products, where kernels do not help."""
        return computing("torch", self.n_threads)


def _alignment(model: Mapping[str, Any], text: str, words: Any, hypothesis: Any) -> Alignment:
    """Create an alignment; unknown words become the source word of the largest weight."""
    source = [text[start:end] or word for (start, end), word in words]
    weights = hypothesis.attention.double().numpy(force=True)[:, : len(source)]
    forms = [
        (model["forms_"][number] or source[row.argmax()], int(model["glued_"][number]))
        for number, row in zip(hypothesis.word_ids.tolist(), weights, strict=True)
    ]
    target = [form for form, _ in forms]
    return Alignment(text, detokenize(forms, model["capitals_"]), source, target, weights)
