"""SequenceTagger, the estimator that labels the tokens of sentences by a recurrent network."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from sk_han._fitting.single_network import SingleNetworkEstimator, network_schema
from sk_han._kernels.engine import ENGINES
from sk_han._options import Choice, Range
from sk_han._storage.schema import Field, ListOf, Sizes, labels
from sk_han._text.vocabulary import words
from sk_han._utils.compat import (
    FRACTION,
    LEARNING_RATE,
    NOT_NEGATIVE,
    POSITIVE,
    HasMethods,
    StrOptions,
    check_sample_weight,
    fit_context,
    to_sklearn,
)
from sk_han.inspection._training import TrainingSummary
from sk_han.tagging._fit import (
    N_FROM_WORD,
    TaggingNet,
    encode_sentences,
    fit_tagger,
    n_values,
    token_kinds,
)
from sk_han.tagging._network import TaggingOptions
from sk_han.tagging._tags import as_sentences, as_tags, iob2_chunks

_OPTIONS = {name: to_sklearn(c) for name, c in TaggingOptions.constraints().items()}


def _values(value: Any, where: str, sizes: Sizes) -> None:
    """Check the ids of an attribute's values: a kind of a schema."""
    # The vocabulary of an attribute is empty if no value occurs in two words.
    if value != {}:
        words(value, where, sizes)
        if max(value.values()) >= n_values(value):
            raise ValueError(f"its {where} of {len(value)} values has an id beyond them")


def _check_attributes(state: Mapping[str, Any], where: str, sizes: Sizes) -> None:
    expected = N_FROM_WORD - 1 + state["n_columns"]
    if len(state["vocabularies"]) != expected:
        raise ValueError(f"its vocabularies must be a list of {expected}, one for each attribute")


# K labels.
TAGGER = network_schema(
    Field("classes", labels),
    Field("n_columns", Range(Integral, 1)),
    Field("vocabularies", ListOf(_values)),
    Field("scheme", Choice(("iob2", None))),
    options=TaggingOptions,
    rules=(_check_attributes,),
)


class SequenceTagger(SingleNetworkEstimator):
    """Label the tokens of sentences: parts of speech, phrases, names.

    A bidirectional GRU reads each sentence, and a conditional random field chooses the labels of
    all its tokens jointly (Huang, Xu, Yu, 2015). A word is represented by its vector and by those
    of its prefixes, suffixes and shape (capitals, digits, signs), which also represent unknown
    words.

    Parameters
    ----------
    embedding_dim : int, default=50
        Size of a word vector.
    embedding_init : {"cooccurrence", "random"}, ndarray of shape (n_words, embedding_dim) or \
mapping of word to vector, default="random"
        Initial word vectors, as in `HANClassifier`. Words are in lower case. Words that only the
        mapping has are known words too.
    attribute_dim : int, default=20
        Size of the vectors of prefixes, suffixes, shapes and further columns.
    hidden_size : int, default=100
        Size of the recurrent state in each direction.
    crf : bool, default=True
        Whether a conditional random field connects the labels of neighbouring tokens. Without it,
        tokens are labelled independently.
    scheme : {"iob2"} or None, default=None
        "iob2" requires, in training and prediction, that ``I-x`` follows ``B-x`` or ``I-x``.
    dropout : float, default=0.5
        Share of the entries of inputs and of states dropped in training.
    word_dropout : float, default=0.05
        Share of words replaced by the unknown word in training.
    adversarial_noise : float, default=0.3
        Length of noise on the word vectors, relative to that of the vectors, in every other step,
        as in `HANClassifier`.
    lr : float, default=0.006
        Learning rate; the peak of the one-cycle schedule.
    max_epochs : int or "auto", default="auto"
        Passes over the training sentences. "auto" takes as many as make 2,000 steps, but at least
        10 and at most 50.
    batch_size : int, default=32
        Sentences a step.
    class_weight : dict of label to weight above 0, or "balanced", default=None
        Weights of labels; a weight of 2 acts as if there were twice as many tokens of the label.
        "balanced" weights are inversely proportional to the number of tokens, which increases the
        recall of rare labels and lowers their precision. Weights act by logit adjustment (Menon et
        al., 2021), which suits a random field.
    validation_fraction : float, default=None
        Share of the sentences held out. The weights of the epoch with the best token accuracy on
        them are kept. None trains on all sentences and keeps the last weights.
    n_iter_no_change : int, default=None
        Number of epochs without improvement on the held-out sentences after which training stops;
        None for no stop.
    random_state : int, RandomState instance or None, default=None
        Source of initial weights, dropout, held-out sentences and order.
    device : str, default="auto"
        "auto" takes CUDA if there is one, else the CPU.
    callbacks : list, default=None
        skorch callbacks, copied in `fit`.
    engine : {"auto", "numba", "torch"}, default="auto"
        See `HANClassifier`.
    n_threads : int, default=None
        See `HANClassifier`.
    verbose : int, default=0
        1 shows the stages, a line after each epoch, and then ``fit_summary_``.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        Sorted labels.
    vocabularies_ : list of dict of str to int
        Ids of the values of each attribute: word, further columns, prefixes of 1 to 3 letters,
        suffixes of 1 to 4, shape.
    n_columns_ : int
        Number of strings of a token, 1 if it is only a word.
    net_ : Net
        The fitted skorch net; ``net_.module_`` is the PyTorch network.
    history_, best_epoch_, best_score_, n_iter_, device_
        See `HANClassifier`; losses and accuracies are of tokens.
    fit_summary_ : TrainingSummary
        Summary of the fit; `repr` has the short form.

    References
    ----------
    Huang, Xu, Yu (2015). Bidirectional LSTM-CRF Models for Sequence Tagging. arXiv 1508.01991.

    Menon, Jayasumana, Rawat, Jain, Veit, Kumar (2021). Long-Tail Learning via Logit Adjustment.
    ICLR.

    Examples
    --------
    >>> from sk_han import SequenceTagger
    >>> X = [["Anna", "sees", "Rome"], ["Rome", "sleeps"]] * 20
    >>> y = [["NAME", "VERB", "NAME"], ["NAME", "VERB"]] * 20
    >>> tagger = SequenceTagger(hidden_size=8, random_state=0).fit(X, y)
    >>> tagger.predict([["Anna", "sleeps"]])
    [['NAME', 'VERB']]
    """

    _schema, _own_state = TAGGER, ("classes", "vocabularies", "n_columns")
    _options, _make_net = TaggingOptions, TaggingNet
    _shown_by = "sk_han.tagging.tagged_text and tagged_html draw its tags."
    _parameter_constraints = {  # noqa: RUF012  (scikit-learn's protocol)
        "embedding_dim": _OPTIONS["embedding_dim"],
        "embedding_init": [np.ndarray, HasMethods("__getitem__")],
        "attribute_dim": _OPTIONS["attribute_dim"],
        "hidden_size": _OPTIONS["hidden_size"],
        "crf": ["boolean"],
        "scheme": [StrOptions({"iob2"}), None],
        "dropout": _OPTIONS["dropout"],
        "word_dropout": _OPTIONS["word_dropout"],
        "adversarial_noise": [NOT_NEGATIVE],
        "lr": [LEARNING_RATE],
        "max_epochs": [POSITIVE, StrOptions({"auto"})],
        "batch_size": [POSITIVE],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "validation_fraction": [FRACTION, None],
        "n_iter_no_change": [POSITIVE, None],
        "random_state": ["random_state"],
        "device": [str],
        "callbacks": [list, None],
        "engine": [StrOptions(set(ENGINES))],
        "n_threads": [POSITIVE, None],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        *,
        embedding_dim: int = 50,
        embedding_init: Any = "random",
        attribute_dim: int = 20,
        hidden_size: int = 100,
        crf: bool = True,
        scheme: str | None = None,
        dropout: float = 0.5,
        word_dropout: float = 0.05,
        adversarial_noise: float = 0.3,
        lr: float = 0.006,
        max_epochs: int | str = "auto",
        batch_size: int = 32,
        class_weight: dict[Any, float] | str | None = None,
        validation_fraction: float | None = None,
        n_iter_no_change: int | None = None,
        random_state: Any = None,
        device: str = "auto",
        callbacks: list[Any] | None = None,
        engine: str = "auto",
        n_threads: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.embedding_dim = embedding_dim
        self.embedding_init = embedding_init
        self.attribute_dim = attribute_dim
        self.hidden_size = hidden_size
        self.crf = crf
        self.scheme = scheme
        self.dropout = dropout
        self.word_dropout = word_dropout
        self.adversarial_noise = adversarial_noise
        self.lr = lr
        self.max_epochs = max_epochs
        self.batch_size = batch_size
        self.class_weight = class_weight
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.random_state = random_state
        self.device = device
        self.callbacks = callbacks
        self.engine = engine
        self.n_threads = n_threads
        self.verbose = verbose

    @property
    def fit_summary_(self) -> TrainingSummary | None:
        """Summary of the last fit."""
        numbers = self.model_["fit_summary_"]
        return numbers and TrainingSummary(**numbers)

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SequenceTagger:
        """Learn from labelled sentences.

        Parameters
        ----------
        X : sequence of sequences of tokens
            A token is a string, or a tuple of strings: the word, then further columns such as a
            given part of speech.
        y : sequence of sequences of labels
            A string, integer or boolean for each token.
        sample_weight : array-like of shape (n_sentences,), default=None
            Weights >= 0 of the tokens of each sentence; a sentence of weight 0 is left out.

        Returns
        -------
        SequenceTagger
            Itself. After an error, an earlier fitted state is unchanged.

        Raises
        ------
        TypeError, ValueError
            If sentences, labels, weights or parameters are invalid, with sentence and token.
        FloatingPointError
            If the loss is no longer a finite number.
        """
        return self._learn(fit_tagger, X, y, sample_weight)

    def predict(self, X: Any) -> list[list[Any]]:
        """Predict the labels of each sentence: with `crf`, the most probable sequence.

        Parameters
        ----------
        X : as in `fit`
            Empty sentences have no labels.

        Returns
        -------
        list of list of labels
            scikit-learn's `cross_val_predict` concatenates arrays, and cannot handle these lists.
        """
        check_is_fitted(self)
        model = self.model_
        return [model["classes_"][row].tolist() for row in self._of_tokens(model, X, "decode")]

    def predict_proba(self, X: Any) -> list[NDArray[np.float64]]:
        """Predict the probability of each label at each token.

        With `crf` it is the marginal probability over all label sequences of the sentence.

        Parameters
        ----------
        X : as in `fit`

        Returns
        -------
        list of ndarray of shape (n_tokens, n_labels)
            Columns in the order of `classes_`; rows sum to 1.
        """
        check_is_fitted(self)
        return self._of_tokens(self.model_, X, "probabilities")

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Compute the share of tokens whose label is correct.

        Parameters
        ----------
        X, y : as in `fit`
        sample_weight : array-like of shape (n_sentences,), default=None
            Weight of the tokens of each sentence.
        """
        classes, sentences = self.classes_, self.predict(X)
        lengths = [len(labels) for labels in sentences]
        labels = as_tags(y, lengths)
        weights = np.zeros(0)
        if len(labels):
            of_sentences = check_sample_weight(
                sample_weight, lengths, dtype=np.float64, ensure_non_negative=True
            )
            weights = np.repeat(of_sentences, lengths)
        if not weights.any():
            raise ValueError("X has no token with a weight: there is nothing to score.")
        of_y, own = (type(values[:1].tolist()[0]) for values in (labels, classes))
        if of_y is not own:
            raise ValueError(
                f"y holds labels of type {of_y.__name__}, and those of training are of type "
                f"{own.__name__}. Convert them, for example with {own.__name__}(label)."
            )
        predicted = np.array([label for sentence in sentences for label in sentence])
        return float(np.average(labels == predicted, weights=weights))

    def _state(self, model: Mapping[str, Any]) -> dict[str, Any]:
        scheme = "iob2" if model["net_"].module_.has_rules else None
        return {**super()._state(model), "scheme": scheme}

    def _network_sizes(self, state: Mapping[str, Any], sizes: Sizes) -> dict[str, Any]:
        classes = state["classes"]
        return {
            "sizes": [n_values(vocabulary) for vocabulary in state["vocabularies"]],
            "n_classes": len(classes),
            "chunks": torch.from_numpy(iob2_chunks(classes)) if state["scheme"] else None,
        }

    def _of_tokens(self, model: Mapping[str, Any], X: Any, name: str) -> list[NDArray[Any]]:
        """Return the result of a method of the network for all tokens, split by sentence."""
        kinds = token_kinds(as_sentences(X, model["n_columns_"]))
        with self._computing():
            sentences = encode_sentences(kinds, model["vocabularies_"])
            values = model["net_"].in_batches(sentences, name)
        return np.split(values, np.cumsum(kinds.lengths)[:-1]) if len(kinds.lengths) else []
