"""HANClassifier: the Hierarchical Attention Network as a scikit-learn classifier."""

from __future__ import annotations

from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from sk_han.fitting import fitted_attributes
from sk_han.linear.calibration import combined_logits
from sk_han.linear.ngrams import NgramChannel
from sk_han.tokenizer import HierarchicalTokenizer
from sk_han.training.builder import OPTIMIZERS, restored_net
from sk_han.training.devices import available_devices
from sk_han.training.net import HANNet
from sk_han.utils.compat import CallbackSupportMixin, HasMethods, Interval, StrOptions, fit_context
from sk_han.utils.softmax import softmax
from sk_han.utils.state import checked_state
from sk_han.validation.documents import as_documents, within_vocabulary
from sk_han.validation.labels import as_labels

if TYPE_CHECKING:
    from sk_han.explanation.collection import ExplanationList

__all__ = ["HANClassifier"]

# Version of the state in a pickle; it rises when an older release could not read it.
STATE_FORMAT = 1
_FITTED_STATE = (
    "_ngram_channel",
    "_restoring_params",
    "_weights",
    "classes_",
    "device_",
    "history_",
    "logit_scales_",
    "n_iter_",
    "tokenizer_",
    "vocabulary_size_",
)


class HANClassifier(CallbackSupportMixin, ClassifierMixin, BaseEstimator):
    """Hierarchical Attention Network for document classification.

    Words are read by a bidirectional GRU and pooled by attention into sentences, sentences
    likewise into a document (Yang et al., 2016); other members of the family are a parameter away.
    X may be raw texts, or documents of word ids
    from a `HierarchicalTokenizer` in front of it in a `Pipeline`: both give the same numbers.

    Parameters
    ----------
    tokenizer : HierarchicalTokenizer, default=None
        Cloned and fitted when X is raw text; None takes ``HierarchicalTokenizer()``.
    embedding_dim : int, default=200
        Size of a word vector.
    word_hidden : int, default=50
        Size of the recurrent state of words in each direction.
    sentence_hidden : int, default=50
        Size of the recurrent state of sentences in each direction.
    attention_dim : int, default=100
        Size of the hidden layer of both attentions.
    rnn : {"gru", "lstm", "rnn"}, default="gru"
        Recurrent network that reads words and sentences; "rnn" is the simple one with tanh.
        ``"gru"`` with one layer and both directions is by far the fastest on a CPU.
    num_layers : int, default=1
        Its layers.
    bidirectional : bool, default=True
        Whether it reads from right to left as well.
    pooling : {"attention", "mean", "max", "last"}, default="attention"
        How words become a sentence and sentences a document: HN-ATT, HN-AVE or HN-MAX of Yang et
        al. (2016), or the last state of each direction. Without attention, `explain` shows the
        share of a vector's entries that come from each word.
    attention : {"softmax", "sparsemax", "entmax15"}, default="softmax"
        How attention weighs at both levels. "sparsemax" (Martins and Astudillo, 2016) and, less
        strictly, "entmax15" (Peters et al., 2019) give many words the weight 0, so that what is
        left is short.
    attention_hops : int, default=1
        Number of attentions side by side at both levels (Lin et al., 2017); `explain` shows
        their mean.
    hop_penalty : float, default=1.0
        With several hops, factor in the loss of ``||A A^T - I||_F^2``, which keeps them from
        reading the same.
    diversity_penalty : float, default=0.0
        Only with attention: factor in the loss of the conicity of the states at both levels, the
        mean cosine between a state and the mean state of its sequence (Mohankumar et al., 2020).
        Where all states are alike, attention to one says nothing about it.
    context : {"forward", "bidirectional"}, default=None
        Whether the attention to words knows the sentences before, or before and after (CAHAN,
        Remy et al., 2019). Takes more time and memory.
    context_pooling : {"mean", "sum"}, default="mean"
        With context, how the other sentences become one vector.
    context_gated : bool, default=False
        With context, whether a gate weighs the word against the other sentences.
    dropout : float, default=0.3
        Share of the entries of sentence and document vectors dropped in training.
    word_dropout : float, default=0.2
        Share of the words replaced by the unknown word in training.
    embedding_dropout : float, default=0.0
        Share of the distinct words of a batch dropped in training, wherever they stand (Gal and
        Ghahramani, 2016).
    adversarial_noise : float, default=0.03
        Length of a noise on the word vectors, relative to theirs, in the direction that raises the
        loss most; half of the loss is that of the documents with noise (adversarial training,
        Miyato et al., 2017). An epoch takes about twice the time that it takes with 0. No effect
        in epochs in which the vectors are frozen.
    ngram_range : tuple of int, default=(1, 3)
        Smallest and largest number of words in the n-grams whose linear model stands beside the
        network (NB-SVM, Wang and Manning, 2012). Held-out documents say how much each counts.
        None leaves it out: the network alone.
    pretrained_embedding : ndarray of shape (vocabulary_size, embedding_dim), mapping of word to \
vector or "cooccurrence", default="cooccurrence"
        Initial word vectors; None draws them at random. "cooccurrence" learns them from how words
        stand together in the training documents (see `sk_han.embeddings.learn_embeddings`), where
        the paper took word2vec; `partial_fit` learns them from its first portion. Rows of an array
        follow the ids of the tokenizer, its first two rows are padding and unknown word; words that
        a mapping lacks start at random.
    freeze_embedding : bool or int, default=False
        Whether word vectors stay as they start; an integer keeps them for so many epochs of a fit.
    optimizer : {"adamw", "adam", "sgd"} or torch.optim.Optimizer class, default="adamw"
        "adamw" updates only the word vectors that a batch used (`RowwiseAdamW`).
    lr : float, default=0.003
        Learning rate; the peak of the one-cycle schedule.
    lr_schedule : {"one_cycle", "constant"}, default="one_cycle"
        "one_cycle" rises to `lr` over the first third of the steps and falls to almost zero
        (Smith and Topin, 2018).
    weight_decay : float, default=0.0001
        The optimizer's weight decay.
    clip_norm : float, default=1.0
        Largest norm of a step's gradient; None does not clip.
    label_smoothing : float, default=0.0
        Share of each document's label that the loss spreads evenly over the classes (Szegedy et
        al., 2016); train_loss and valid_loss are those of the smoothed labels.
    weight_averaging : float, default=None
        Decay of a running average of the weights, such as 0.999, that is validated and kept in
        their place; None keeps the weights themselves. The average starts anew with each `fit`.
    max_epochs : int or "auto", default="auto"
        Passes over the training documents. "auto" takes about 600 steps: 2 epochs for large
        collections, at most 20 for small ones.
    batch_size : int, default=64
        Documents a step.
    class_weight : dict or "balanced", default=None
        Weights of the classes in the loss; they multiply `sample_weight`.
    early_stopping : bool, default=True
        Whether to hold out a part of the training documents (or to take `X_val`), to stop when
        they are no longer predicted better, and to keep the weights of the best epoch: that of
        the highest accuracy, among equals that of the lowest loss. Where there are too few
        documents to hold one of each class out, all are trained on, without a warning.
    validation_fraction : float, default=0.1
        Share of the training documents held out, stratified by class.
    patience : int, default=10
        Epochs without a better one before training stops.
    warm_start : bool, default=False
        Whether `fit` goes on from the weights of the last fit; tokenizer and classes stay.
    random_state : int, RandomState instance or None, default=None
        Source of initial weights, dropout, held-out part and order. PyTorch's global generator is
        left alone, and NumPy's too unless this is None, which draws from it as in scikit-learn.
    device : str, default="auto"
        "auto" takes CUDA where there is one, else the CPU.
    callbacks : list, default=None
        skorch callbacks, copied in `fit`. Those of scikit-learn 1.9 and later, such as its
        ``ProgressBar``, go to ``set_callbacks``.
    net_params : dict, default=None
        Further parameters of the skorch net, for example ``{"module__max_words": 32_768}``.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Sorted labels.
    tokenizer_ : HierarchicalTokenizer or None
        The fitted tokenizer; None if X held word ids.
    net_ : HANNet
        The fitted skorch net; ``net_.module_`` is the PyTorch network.
    ngram_channel_ : NgramChannel or None
        The linear model on n-grams; None without `ngram_range`, where no n-gram occurs in two
        documents, where a class has no document (of a weight above 0) or there is only one, and
        where `partial_fit` began.
    logit_scales_ : ndarray of shape (2,) or (1,)
        Factors of the logits of the network and of the n-gram channel, fitted on the held-out
        documents, so that probabilities are calibrated (Guo et al., 2017). Where none were held
        out they are fixed; a fit that goes on keeps them, unless it is given `X_val`.
    history_ : list of dict
        For each epoch: epoch, dur (seconds), train_loss and, where documents were held out,
        valid_loss and valid_accuracy; and what callbacks recorded. `partial_fit` goes on with it.
    n_iter_ : int
        Number of epochs trained.
    device_ : str
        The device that computed.
    vocabulary_size_ : int
        Number of word ids, padding and the unknown word included. Larger ids are read as unknown.

    See Also
    --------
    HierarchicalTokenizer : Raw texts to documents of sentences of word ids.
    sk_han.nn.HierarchicalAttentionNetwork : The network, with the papers of its family.
    explain : What words and sentences did for a prediction, also for a Pipeline.

    References
    ----------
    Yang, Yang, Dyer, He, Smola, Hovy (2016). Hierarchical Attention Networks for Document
    Classification. NAACL.

    Szegedy, Vanhoucke, Ioffe, Shlens, Wojna (2016). Rethinking the Inception Architecture for
    Computer Vision. CVPR.

    Smith, Topin (2018). Super-Convergence: Very Fast Training of Neural Networks Using Large
    Learning Rates. arXiv:1708.07120.

    Examples
    --------
    >>> from sk_han import HANClassifier
    >>> from sk_han.datasets import make_reviews
    >>> texts, labels = make_reviews(40, random_state=0)
    >>> classifier = HANClassifier(embedding_dim=8, word_hidden=4, max_epochs=1, random_state=0)
    >>> classifier.fit(texts, labels).predict_proba(texts[:3]).shape
    (3, 2)
    """

    classes_: NDArray[Any]
    tokenizer_: HierarchicalTokenizer | None
    net_: HANNet
    ngram_channel_: NgramChannel | None
    logit_scales_: NDArray[np.float64]
    history_: list[dict[str, float]]
    n_iter_: int
    device_: str
    vocabulary_size_: int

    _parameter_constraints = {  # noqa: RUF012  (scikit-learn's protocol)
        "tokenizer": [HierarchicalTokenizer, None],
        "embedding_dim": [Interval(Integral, 1, None, closed="left")],
        "word_hidden": [Interval(Integral, 1, None, closed="left")],
        "sentence_hidden": [Interval(Integral, 1, None, closed="left")],
        "attention_dim": [Interval(Integral, 1, None, closed="left")],
        "rnn": [StrOptions({"gru", "lstm", "rnn"})],
        "num_layers": [Interval(Integral, 1, None, closed="left")],
        "bidirectional": ["boolean"],
        "pooling": [StrOptions({"attention", "mean", "max", "last"})],
        "attention": [StrOptions({"softmax", "sparsemax", "entmax15"})],
        "attention_hops": [Interval(Integral, 1, None, closed="left")],
        "hop_penalty": [Interval(Real, 0, None, closed="left")],
        "diversity_penalty": [Interval(Real, 0, None, closed="left")],
        "context": [StrOptions({"forward", "bidirectional"}), None],
        "context_pooling": [StrOptions({"mean", "sum"})],
        "context_gated": ["boolean"],
        "dropout": [Interval(Real, 0, 1, closed="left")],
        "word_dropout": [Interval(Real, 0, 1, closed="left")],
        "embedding_dropout": [Interval(Real, 0, 1, closed="left")],
        "adversarial_noise": [Interval(Real, 0, None, closed="left")],
        "ngram_range": [tuple, None],
        # HasMethods takes strings too: check_pretrained refuses all but "cooccurrence".
        "pretrained_embedding": [np.ndarray, HasMethods("__getitem__"), None],
        "freeze_embedding": ["boolean", Interval(Integral, 0, None, closed="left")],
        "optimizer": [StrOptions(set(OPTIMIZERS)), type],
        # A larger one leaves the range of PyTorch's single precision in the optimizer's products.
        "lr": [Interval(Real, 0, 1e36, closed="right")],
        "lr_schedule": [StrOptions({"one_cycle", "constant"})],
        "weight_decay": [Interval(Real, 0, None, closed="left")],
        "clip_norm": [Interval(Real, 0, None, closed="neither"), None],
        "label_smoothing": [Interval(Real, 0, 1, closed="left")],
        "weight_averaging": [Interval(Real, 0, 1, closed="neither"), None],
        "max_epochs": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "patience": [Interval(Integral, 1, None, closed="left")],
        "warm_start": ["boolean"],
        "random_state": ["random_state"],
        "device": [str],
        "callbacks": [list, None],
        "net_params": [dict, None],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        *,
        tokenizer: HierarchicalTokenizer | None = None,
        embedding_dim: int = 200,
        word_hidden: int = 50,
        sentence_hidden: int = 50,
        attention_dim: int = 100,
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
        dropout: float = 0.3,
        word_dropout: float = 0.2,
        embedding_dropout: float = 0.0,
        adversarial_noise: float = 0.03,
        ngram_range: tuple[int, int] | None = (1, 3),
        pretrained_embedding: Any = "cooccurrence",
        freeze_embedding: bool | int = False,
        optimizer: str | type[torch.optim.Optimizer] = "adamw",
        lr: float = 0.003,
        lr_schedule: str = "one_cycle",
        weight_decay: float = 0.0001,
        clip_norm: float | None = 1.0,
        label_smoothing: float = 0.0,
        weight_averaging: float | None = None,
        max_epochs: int | str = "auto",
        batch_size: int = 64,
        class_weight: Any = None,
        early_stopping: bool = True,
        validation_fraction: float = 0.1,
        patience: int = 10,
        warm_start: bool = False,
        random_state: Any = None,
        device: str = "auto",
        callbacks: list[Any] | None = None,
        net_params: dict[str, Any] | None = None,
        verbose: int = 0,
    ) -> None:
        self.tokenizer = tokenizer
        self.embedding_dim = embedding_dim
        self.word_hidden = word_hidden
        self.sentence_hidden = sentence_hidden
        self.attention_dim = attention_dim
        self.rnn = rnn
        self.num_layers = num_layers
        self.bidirectional = bidirectional
        self.pooling = pooling
        self.attention = attention
        self.attention_hops = attention_hops
        self.hop_penalty = hop_penalty
        self.diversity_penalty = diversity_penalty
        self.context = context
        self.context_pooling = context_pooling
        self.context_gated = context_gated
        self.dropout = dropout
        self.word_dropout = word_dropout
        self.embedding_dropout = embedding_dropout
        self.adversarial_noise = adversarial_noise
        self.ngram_range = ngram_range
        self.pretrained_embedding = pretrained_embedding
        self.freeze_embedding = freeze_embedding
        self.optimizer = optimizer
        self.lr = lr
        self.lr_schedule = lr_schedule
        self.weight_decay = weight_decay
        self.clip_norm = clip_norm
        self.label_smoothing = label_smoothing
        self.weight_averaging = weight_averaging
        self.max_epochs = max_epochs
        self.batch_size = batch_size
        self.class_weight = class_weight
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.warm_start = warm_start
        self.random_state = random_state
        self.device = device
        self.callbacks = callbacks
        self.net_params = net_params
        self.verbose = verbose

    # Not skipped: the tokenizer is a user's, with parameters of its own to be checked.
    @fit_context(prefer_skip_nested_validation=False)
    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        X_val: Any = None,
        y_val: ArrayLike | None = None,
    ) -> HANClassifier:
        """Learn from labelled documents.

        Parameters
        ----------
        X : n_documents raw texts, DocumentArray, or ndarray of int of shape (D, S, W) or (D, W)
            Integers are word ids padded with 0.
        y : array-like of shape (n_documents,)
            Labels: strings, integers or booleans.
        sample_weight : array-like of shape (n_documents,), default=None
            Weights >= 0 in the loss and in the counts that word vectors are learnt from; a
            document of weight 0 is left out.
        X_val, y_val : as X and y, default=None
            Documents for early stopping, and for the scales of network and n-grams, in place of
            a part of X. A
            ``Pipeline(..., transform_input=["X_val"])`` hands them over tokenized.

        Returns
        -------
        HANClassifier
            Itself. Whatever goes wrong in between, an earlier fitted state stays as it was.

        Raises
        ------
        TypeError, ValueError
            If documents, labels, weights or parameters are not as described.
        FloatingPointError
            If the loss is no longer a finite number.
        """
        goes_on = self.warm_start and hasattr(self, "net_")
        return self._learn(
            X, y, sample_weight=sample_weight, X_val=X_val, y_val=y_val, goes_on=goes_on
        )

    @fit_context(prefer_skip_nested_validation=False)
    def partial_fit(
        self,
        X: Any,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> HANClassifier:
        """Learn from one more portion of documents: one epoch at the constant rate `lr`.

        Parameters
        ----------
        X, y, sample_weight
            As of `fit`. The first call fits the tokenizer and learns the initial word vectors: it
            should see many typical texts.
        classes : array-like of shape (n_classes,), default=None
            All labels that will ever come; needed in the first call.

        Returns
        -------
        HANClassifier
            Itself.

        Raises
        ------
        ValueError
            If the first call names no classes, or a label is none of them.
        """
        if self.class_weight == "balanced":
            raise ValueError(
                "class_weight='balanced' needs to see all labels, and partial_fit sees a portion. "
                "Compute the weights beforehand with sklearn.utils.class_weight."
                "compute_class_weight and pass them as a dict."
            )
        goes_on = hasattr(self, "net_")
        if classes is not None:
            classes = np.unique(as_labels(classes, "classes"))
        elif not goes_on:
            raise ValueError("classes must be passed on the first call to partial_fit.")
        if goes_on and classes is not None and not np.array_equal(classes, self.classes_):
            raise ValueError(
                f"classes={classes.tolist()} is not the same as on the first call to "
                f"partial_fit, {self.classes_.tolist()}."
            )
        return self._learn(
            X, y, sample_weight=sample_weight, classes=classes, goes_on=goes_on, one_epoch=True
        )

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the most probable label of each document.

        Parameters
        ----------
        X : n_documents raw texts, DocumentArray, or ndarray of int
            As in `fit`.

        Returns
        -------
        ndarray of shape (n_documents,)
        """
        logits = self._logits(X)
        return self.classes_[logits.argmax(axis=1)]

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict the probability of each class.

        Parameters
        ----------
        X : n_documents raw texts, DocumentArray, or ndarray of int
            As in `fit`. An empty document, or one of unknown words only, has a probability too.

        Returns
        -------
        ndarray of shape (n_documents, n_classes)
            Columns in the order of `classes_`; rows sum to 1.
        """
        return softmax(self._logits(X))

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Score each document before the softmax.

        Parameters
        ----------
        X : n_documents raw texts, DocumentArray, or ndarray of int
            As in `fit`.

        Returns
        -------
        ndarray of shape (n_documents,) for two classes, else (n_documents, n_classes)
            Two classes: log-odds of ``classes_[1]``; more: the logits.
        """
        logits = self._logits(X)
        return logits[:, 1] - logits[:, 0] if len(self.classes_) == 2 else logits

    def explain(
        self,
        X: Any,
        *,
        target: Any = None,
        method: str = "gradient_attention",
        combine: str = "product",
        batch_size: int | None = None,
        steps: int = 32,
        spread: float = 0.25,
        random_state: Any = None,
    ) -> ExplanationList:
        """Show what each word and sentence brings to the log-odds of a class.

        Parameters
        ----------
        X : n_documents raw texts, DocumentArray, or ndarray of int
            As in `fit`.
        target : label or array-like of n_documents labels, default=None
            The class that is explained; None for the predicted one.
        method : {"gradient_attention", "gradient_input", "integrated_gradients", "occlusion", \
                "attention", "random"}, default="gradient_attention"
            How contributions are found; see `sk_han.explain`.
        combine : {"product", "sqrt"}, default="product"
            How the attention of a word and of its sentence become one number.
        batch_size : int, default=None
            Documents that are read at once; None for as many as in prediction.
        steps : int, default=32
            Points of "integrated_gradients".
        spread : float, default=0.25
            Of "gradient_attention", the share of a sentence's part that its words get evenly.
        random_state : int, RandomState, Generator or None, default=None
            Source of "random".

        Returns
        -------
        ExplanationList of n_documents DocumentExplanation

        See Also
        --------
        sk_han.explain : The same, also for a Pipeline that ends in a HANClassifier.
        """
        from sk_han.explainers import explain

        return explain(
            self,
            X,
            target=target,
            method=method,
            combine=combine,
            batch_size=batch_size,
            steps=steps,
            spread=spread,
            random_state=random_state,
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags

    def __getstate__(self) -> dict[str, Any]:
        """Give arrays and plain types in place of the live net, so that any device can load it."""
        state: dict[str, Any] = {**super().__getstate__(), "_state_format": STATE_FORMAT}
        if "net_" in state:
            net = state.pop("net_")
            state["_restoring_params"] = net.restoring_params
            state["_weights"] = net.weights
            channel = state.pop("ngram_channel_")
            state["_ngram_channel"] = channel and {
                "ngram_range": channel.ngram_range,
                **channel.arrays,
            }
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = checked_state(state, self, newest=STATE_FORMAT, fitted=_FITTED_STATE)
        weights, params = state.pop("_weights", None), state.pop("_restoring_params", None)
        super().__setstate__(state)
        if weights is not None:
            if self.device_ not in available_devices():
                self.device_ = "cpu"
            self.net_ = restored_net(params, weights, self.device_)
            channel = self.__dict__.pop("_ngram_channel")
            self.ngram_channel_ = channel and NgramChannel(**channel)

    def _learn(self, X: Any, y: Any, **kwargs: Any) -> HANClassifier:
        """Fit, and commit at the very end: a fit that fails leaves the former state whole."""
        self.__dict__.update(fitted_attributes(self, X, y, **kwargs))
        return self

    def _logits(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self)
        documents = as_documents(X, self.tokenizer_)
        documents = within_vocabulary(documents, self.vocabulary_size_)
        return combined_logits(
            self.net_.logits(documents), documents, self.ngram_channel_, self.logit_scales_
        )
