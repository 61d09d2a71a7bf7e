"""HANClassifier: the Hierarchical Attention Network as a scikit-learn classifier."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from sk_han._compat import CallbackSupportMixin, HasMethods, Interval, StrOptions, fit_context
from sk_han.batching import LabelledDocuments
from sk_han.devices import available_devices, resolve_device
from sk_han.documents import UNKNOWN_ID, DocumentArray
from sk_han.embeddings import initial_vectors
from sk_han.epoch_tasks import EpochTasks
from sk_han.inputs import as_documents, check_documents, holds_word_ids, within_vocabulary
from sk_han.labels import as_labels, check_labels, document_weights, encode_labels
from sk_han.net import HANNet, probabilities
from sk_han.state import checked_state
from sk_han.tokenizer import HierarchicalTokenizer
from sk_han.training import (
    OPTIMIZERS,
    epochs_for,
    hold_out,
    new_net,
    plain_history,
    restored_net,
)

if TYPE_CHECKING:
    from sk_han.explanation import ExplanationList

__all__ = ["HANClassifier"]

# Version of the state in a pickle; it rises when an older release could not read it.
STATE_FORMAT = 1
_FITTED_STATE = (
    "_restoring_params",
    "_weights",
    "classes_",
    "device_",
    "history_",
    "n_iter_",
    "tokenizer_",
    "vocabulary_size_",
)


class HANClassifier(CallbackSupportMixin, ClassifierMixin, BaseEstimator):
    """Hierarchical Attention Network for document classification.

    Words are read by a bidirectional GRU and pooled by attention into sentences, sentences
    likewise into a document (Yang et al., 2016). X may be raw texts, or documents of word ids
    from a `HierarchicalTokenizer` in front of it in a `Pipeline`: both give the same numbers.

    Parameters
    ----------
    tokenizer : HierarchicalTokenizer, default=None
        Cloned and fitted when X is raw text; None takes ``HierarchicalTokenizer()``.
    embedding_dim : int, default=200
        Size of a word vector.
    word_hidden : int, default=50
        Size of the word GRU's state in each direction.
    sentence_hidden : int, default=50
        Size of the sentence GRU's state in each direction.
    attention_dim : int, default=100
        Size of the hidden layer of both attentions.
    dropout : float, default=0.3
        Share of the entries of sentence and document vectors dropped in training.
    word_dropout : float, default=0.2
        Share of the words replaced by the unknown word in training.
    pretrained_embedding : ndarray of shape (vocabulary_size, embedding_dim) or mapping of \
word to vector, default=None
        Initial word vectors. Rows of an array follow the ids of the tokenizer, its first two rows
        are padding and unknown word; words that a mapping lacks start at random.
    freeze_embedding : bool, default=False
        Whether word vectors stay as they start.
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
    max_epochs : int or "auto", default="auto"
        Passes over the training documents. "auto" takes about 600 steps: 3 epochs for large
        collections, at most 20 for small ones.
    batch_size : int, default=64
        Documents a step.
    class_weight : dict or "balanced", default=None
        Weights of the classes in the loss.
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
    explain : The attention behind a prediction, also for a Pipeline.

    References
    ----------
    Yang, Yang, Dyer, He, Smola, Hovy (2016). Hierarchical Attention Networks for Document
    Classification. NAACL.

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
        "dropout": [Interval(Real, 0, 1, closed="left")],
        "word_dropout": [Interval(Real, 0, 1, closed="left")],
        "pretrained_embedding": [np.ndarray, HasMethods("__getitem__"), None],
        "freeze_embedding": ["boolean"],
        "optimizer": [StrOptions(set(OPTIMIZERS)), type],
        # A larger one leaves the range of PyTorch's single precision in the optimizer's products.
        "lr": [Interval(Real, 0, 1e36, closed="right")],
        "lr_schedule": [StrOptions({"one_cycle", "constant"})],
        "weight_decay": [Interval(Real, 0, None, closed="left")],
        "clip_norm": [Interval(Real, 0, None, closed="neither"), None],
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
        dropout: float = 0.3,
        word_dropout: float = 0.2,
        pretrained_embedding: Any = None,
        freeze_embedding: bool = False,
        optimizer: str | type[torch.optim.Optimizer] = "adamw",
        lr: float = 0.003,
        lr_schedule: str = "one_cycle",
        weight_decay: float = 0.0001,
        clip_norm: float | None = 1.0,
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
        self.dropout = dropout
        self.word_dropout = word_dropout
        self.pretrained_embedding = pretrained_embedding
        self.freeze_embedding = freeze_embedding
        self.optimizer = optimizer
        self.lr = lr
        self.lr_schedule = lr_schedule
        self.weight_decay = weight_decay
        self.clip_norm = clip_norm
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
            Weights >= 0 in the loss; a document of weight 0 is left out.
        X_val, y_val : as X and y, default=None
            Documents for early stopping in place of a part of X. A
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
        return self._learn(X, y, sample_weight, X_val, y_val, goes_on=goes_on)

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
            As of `fit`. The first call fits the tokenizer: it should see typical texts.
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
        return self._learn(X, y, sample_weight, classes=classes, goes_on=goes_on, one_epoch=True)

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
        return probabilities(self._logits(X))

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

    def explain(self, X: Any) -> ExplanationList:
        """Show which words and sentences the network attended to.

        Parameters
        ----------
        X : n_documents raw texts, DocumentArray, or ndarray of int
            As in `fit`.

        Returns
        -------
        ExplanationList of n_documents DocumentExplanation

        See Also
        --------
        sk_han.explain : The same, also for a Pipeline that ends in a HANClassifier.
        """
        from sk_han.explainers import explain

        return explain(self, X)

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
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = checked_state(
            state,
            "HANClassifier",
            newest=STATE_FORMAT,
            params=self._parameter_constraints,
            fitted=_FITTED_STATE,
        )
        weights, params = state.pop("_weights", None), state.pop("_restoring_params", None)
        super().__setstate__(state)
        if weights is not None:
            if self.device_ not in available_devices():
                self.device_ = "cpu"
            self.net_ = restored_net(params, weights, self.device_)

    @torch.inference_mode(mode=False)  # the caller may be in it, or in no_grad, and learn still
    def _learn(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        X_val: Any = None,
        y_val: Any = None,
        *,
        classes: Any = None,
        goes_on: bool,
        one_epoch: bool = False,
    ) -> HANClassifier:
        """Train, from the fitted weights if it `goes_on`, and commit when all went well."""
        device = resolve_device(self.device)
        rng = check_random_state(self.random_state)
        # All that can be wrong is found before the texts are read, which may take minutes.
        X = check_documents(X)
        labels = check_labels(y, len(X))
        if goes_on:
            classes = self.classes_
        elif classes is None:
            classes = np.unique(labels)
        targets = encode_labels(labels, classes, "y")
        weights = document_weights(sample_weight, self.class_weight, labels, classes)
        if (X_val is None) != (y_val is None):
            raise ValueError("X_val and y_val go together: give both or neither.")
        if X_val is not None:
            X_val = check_documents(X_val)
            targets_val = encode_labels(check_labels(y_val, len(X_val), "y_val"), classes, "y_val")

        tokenizer, documents = self._tokenized(X, goes_on)
        vocabulary_size = self.vocabulary_size_ if goes_on else self._n_ids(documents, tokenizer)
        module_params = self._module_params(vocabulary_size, len(classes))
        if goes_on:
            self._check_sizes(module_params)
        if len(classes) == 1:
            warnings.warn(
                f"y holds a single class, {classes.tolist()[0]!r}, which every document will get.",
                UserWarning,
                stacklevel=5,
            )

        data = LabelledDocuments(within_vocabulary(documents, vocabulary_size), targets, weights)
        data = data[data.weights > 0]
        training, validation = data, None
        if X_val is not None:
            validation = self._validation(X_val, targets_val, tokenizer, vocabulary_size)
        elif self.early_stopping and not one_epoch:
            training, validation = hold_out(data, self.validation_fraction, rng)

        n_epochs = 1 if one_epoch else self._n_epochs(len(training))
        task = self._init_callback_context(max_subtasks=n_epochs)
        metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        told = {"estimator": self, "X": documents, "y": labels, "metadata": metadata}
        task.call_on_fit_task_begin(**told)
        fitted = {
            "classes_": classes,
            "tokenizer_": tokenizer,
            "device_": device,
            "vocabulary_size_": vocabulary_size,
        }
        net = new_net(
            module_params,
            n_documents=len(training),
            max_epochs=n_epochs,
            batch_size=self.batch_size,
            optimizer=self.optimizer,
            lr=self.lr,
            lr_schedule="constant" if one_epoch else self.lr_schedule,
            weight_decay=self.weight_decay,
            clip_norm=self.clip_norm,
            patience=self.patience if self.early_stopping and validation is not None else None,
            callbacks=self.callbacks,
            epoch_tasks=EpochTasks(task, told, fitted),
            net_params=self.net_params,
            verbose=self.verbose,
            device=device,
            random_state=rng,
        )
        if goes_on:
            net.continue_from(self.net_)
        elif self.pretrained_embedding is not None:
            shape = (vocabulary_size, self.embedding_dim)
            vocabulary = None if tokenizer is None else tokenizer.vocabulary_
            net.set_embedding(initial_vectors(self.pretrained_embedding, vocabulary, shape, rng))
        net.fit_documents(training, validation)

        epochs_before = self.history_ if goes_on and one_epoch else []
        history = epochs_before + plain_history(net, first_epoch=len(epochs_before) + 1)
        fitted |= {"net_": net, "history_": history, "n_iter_": len(history)}
        task.call_on_fit_task_end(**told, reconstruction_attributes=fitted)
        # One update at the very end: an interrupted or failed fit leaves the former state whole.
        self.__dict__.update(fitted)
        return self

    def _tokenized(
        self, X: Any, goes_on: bool
    ) -> tuple[HierarchicalTokenizer | None, DocumentArray]:
        """Give the tokenizer, newly fitted unless the fit `goes_on`, and its documents."""
        if goes_on:
            return self.tokenizer_, as_documents(X, self.tokenizer_)
        if holds_word_ids(X):
            return None, as_documents(X, None)
        tokenizer = HierarchicalTokenizer() if self.tokenizer is None else clone(self.tokenizer)
        return tokenizer, as_documents(tokenizer.fit_transform(X), None)

    def _n_ids(self, documents: DocumentArray, tokenizer: HierarchicalTokenizer | None) -> int:
        highest_id = int(documents.word_ids.max(initial=UNKNOWN_ID))
        if tokenizer is not None:
            highest_id = max(tokenizer.vocabulary_.values())
        elif isinstance(self.pretrained_embedding, np.ndarray):
            # Behind a tokenizer's own vocabulary, its last words may not occur in training.
            highest_id = max(highest_id, len(self.pretrained_embedding) - 1)
        return highest_id + 1

    def _module_params(self, vocabulary_size: int, n_classes: int) -> dict[str, Any]:
        return {
            "vocabulary_size": vocabulary_size,
            "n_classes": n_classes,
            # Searches hand over NumPy's integers, which torch.nn refuses.
            "embedding_dim": int(self.embedding_dim),
            "word_hidden": int(self.word_hidden),
            "sentence_hidden": int(self.sentence_hidden),
            "attention_dim": int(self.attention_dim),
            "dropout": float(self.dropout),
            "word_dropout": float(self.word_dropout),
            "unknown_id": UNKNOWN_ID,
            "freeze_embedding": self.freeze_embedding,
        }

    def _check_sizes(self, module_params: dict[str, Any]) -> None:
        """Refuse to go on with a network of other sizes than the fitted one."""
        fitted = self.net_.module_params
        for name in ("embedding_dim", "word_hidden", "sentence_hidden", "attention_dim"):
            if module_params[name] != fitted[name]:
                raise ValueError(
                    f"{name} is {module_params[name]} now, and {fitted[name]} in the fitted "
                    "network, which training cannot go on from. Set it back, or fit anew."
                )

    def _validation(
        self,
        X_val: Any,
        targets: NDArray[np.int64],
        tokenizer: HierarchicalTokenizer | None,
        vocabulary_size: int,
    ) -> LabelledDocuments:
        if tokenizer is None and not holds_word_ids(X_val):
            raise TypeError(
                f"X_val is a {type(X_val).__name__}, but X holds word ids. In a Pipeline, "
                "Pipeline(..., transform_input=['X_val']) has it tokenized, with metadata routing "
                "enabled and set_fit_request(X_val=True, y_val=True)."
            )
        documents = within_vocabulary(as_documents(X_val, tokenizer), vocabulary_size)
        return LabelledDocuments(documents, targets, np.ones(len(documents)))

    def _n_epochs(self, n_documents: int) -> int:
        if self.max_epochs == "auto":
            return epochs_for(n_documents, self.batch_size)
        return int(self.max_epochs)

    def _logits(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self)
        documents = as_documents(X, self.tokenizer_)
        documents = within_vocabulary(documents, self.vocabulary_size_)
        return self.net_.logits(documents).astype(np.float64)
