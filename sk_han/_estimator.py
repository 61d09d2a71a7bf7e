"""Base class of HANClassifier and HANRegressor, which combine a network and linear models."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.utils.validation import check_is_fitted

from sk_han._fitting.data import FitInput
from sk_han._fitting.fit import fit_model
from sk_han._kernels.engine import engine_in_use, using_engine
from sk_han._model.fitted_model import FittedModel
from sk_han._parts.pool import CHARACTERS, LATENT, LATENT_CHARACTERS, NETWORK, NGRAMS, VECTORS
from sk_han._parts.trained_network import TrainedNetwork
from sk_han._storage.description import COMMON
from sk_han._targets import Target
from sk_han._text.sentence_encoder import SharesEncoder, in_pickle
from sk_han._tokenizer import HierarchicalTokenizer
from sk_han._training.builder import OPTIMIZERS
from sk_han._training.fitted_state import getstate, restoring, setstate
from sk_han._training.net import available_devices, computing
from sk_han._utils.compat import (
    HasMethods,
    StrOptions,
    check_nested_params,
    fit_context,
    to_sklearn,
    validate_parameter_constraints,
)
from sk_han._utils.messages import suggesting_names, warn_user
from sk_han._utils.progress import Stages, tell
from sk_han.inspection._explanations import ExplainedModel
from sk_han.inspection._training import FitSummary

if TYPE_CHECKING:
    from sk_han.inspection._results.collection import ExplanationList


def fitted_attribute(read: Callable[[FittedModel], Any], doc: str) -> property:
    """Create a property that reads its value from `model_`."""
    return property(lambda self: read(self.model_), doc=doc)


class HANEstimator(SharesEncoder, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base class of `HANClassifier` and `HANRegressor`, which differ in their targets."""

    # Parameters of the other estimator that this one lacks, with the values that disable them.
    _without: ClassVar[dict[str, Any]] = {}

    encoder: Any
    encoder_memory: Any
    warm_start: bool
    engine: str
    n_threads: int | None
    verbose: int
    time_limit: float | None
    model_: FittedModel

    pool_ = fitted_attribute(lambda m: m.pool, "The parts, their scales and the target.")
    tokenizer_ = fitted_attribute(lambda m: m.tokenizer, "The fitted tokenizer.")
    vocabulary_size_ = fitted_attribute(lambda m: m.vocabulary_size, "Number of word ids.")
    encoder_ = fitted_attribute(lambda m: m.encoder and m.encoder.name, "The sentence encoder.")
    device_ = fitted_attribute(lambda m: m.device, "The device of the fit.")
    history_ = fitted_attribute(lambda m: m.history, "Losses and scores of each epoch.")
    n_iter_ = fitted_attribute(lambda m: m.n_iter, "Number of training epochs.")
    best_epoch_ = fitted_attribute(lambda m: m.best_epoch, "The epoch whose weights were kept.")
    best_score_ = fitted_attribute(lambda m: m.best_score, "Its accuracy on held-out documents.")
    fit_summary_ = fitted_attribute(
        lambda m: m.fit_summary and FitSummary(**m.fit_summary), "Summary of the fit."
    )
    text_hashes_ = fitted_attribute(lambda m: m.text_hashes, "Hashes of training documents.")
    net_ = fitted_attribute(lambda m: m.pool.network.net, "The fitted skorch net.")
    ngram_model_ = fitted_attribute(lambda m: m.part(NGRAMS), "The linear model of n-grams.")
    latent_model_ = fitted_attribute(lambda m: m.part(LATENT), "The latent model of words.")
    character_model_ = fitted_attribute(lambda m: m.part(CHARACTERS), "The model of characters.")
    latent_character_model_ = fitted_attribute(
        lambda m: m.part(LATENT_CHARACTERS), "The latent model of characters."
    )
    vector_model_ = fitted_attribute(lambda m: m.part(VECTORS), "The model of sentence vectors.")
    column_model_ = fitted_attribute(lambda m: m.pool.columns, "The model of columns.")
    network_scale_ = fitted_attribute(lambda m: m.scale(NETWORK), "Scale of the network.")
    ngram_scale_ = fitted_attribute(lambda m: m.scale(NGRAMS), "Scale of the n-gram model.")
    latent_scale_ = fitted_attribute(lambda m: m.scale(LATENT), "Scale of the latent model.")
    character_scale_ = fitted_attribute(lambda m: m.scale(CHARACTERS), "Scale of characters.")
    latent_character_scale_ = fitted_attribute(
        lambda m: m.scale(LATENT_CHARACTERS), "Scale of the latent model of characters."
    )
    vector_scale_ = fitted_attribute(lambda m: m.scale(VECTORS), "Scale of sentence vectors.")
    column_scale_ = fitted_attribute(lambda m: m.pool.columns_scale, "Scale of columns.")
    feature_names_in_ = fitted_attribute(
        lambda m: np.array(m.feature_names, dtype=object), "Names of the columns read."
    )
    n_features_in_ = fitted_attribute(lambda m: len(m.feature_names), "Number of columns read.")

    _newest_format = 4
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **{name: to_sklearn(constraint) for name, constraint in COMMON.items()},
        "tokenizer": [HierarchicalTokenizer, None],
        # SentenceEncoder checks the encoder.
        "encoder": "no_validation",
        "encoder_memory": [str, os.PathLike, HasMethods("cache"), None],
        # HasMethods accepts strings too; check_embedding_init checks the names.
        "embedding_init": [np.ndarray, HasMethods("__getitem__")],
        "optimizer": [StrOptions(set(OPTIMIZERS)), type],
        "random_state": ["random_state"],
    }

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
    ) -> Self:
        """Fit the network and the linear models to documents, labelled and perhaps unlabelled.

        Parameters
        ----------
        X : n_documents raw texts, DocumentArray, or ndarray of int of shape (D, S, W) or (D, W)
            Integers are word ids padded with 0. A `SentenceArray` is a DocumentArray. With
            `text_column`, X is a table, as are `X_val` and `X_unlabelled`.
        y : array-like of shape (n_documents,) or indicator of shape (n_documents, n_labels)
            Labels: strings, integers or booleans. An indicator gives a document several labels: an
            array, sparse matrix or DataFrame of 0 and 1, with a column for each label. A
            `HANRegressor` takes finite numbers, (n_documents,).
        sample_weight : array-like of shape (n_documents,), default=None
            Weights >= 0 in the loss and in the counts for word vectors; documents of weight 0 are
            left out.
        X_val, y_val : as X and y, default=None
            Validation documents that choose the epoch and fit the scales, instead of a part of X. A
            ``Pipeline(..., transform_input=["X_val"])`` tokenizes them.
        X_unlabelled : as X, or iterator of raw texts, default=None
            Documents of the same kind without labels, the more the better. The vocabulary, the word
            vectors and the latent models learn from them; from 5,000 documents on they also
            pre-train a new network (see the user guide). Leave out the texts that you will test on.
            An iterator is read 10,000 texts at a time. With None, a warm start keeps latent models.
        groups : array-like of shape (n_documents,), default=None
            Group of each document, such as its author. Documents of a group are held out together,
            so that scales and scores hold for new groups.

        Returns
        -------
        HANClassifier or HANRegressor
            The estimator itself. A failed fit leaves an earlier fitted state unchanged.

        Raises
        ------
        TypeError, ValueError
            If documents, labels, weights or parameters are invalid.
        FloatingPointError
            If the loss diverges to infinity or NaN.
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
    ) -> Self:
        """Train on one more portion of documents, for one epoch at the constant rate `lr`.

        No documents are held out, so the scales have default values, or those of an earlier `fit`.
        Only relative weights within one call matter. If the first call (or an earlier `fit`) fitted
        no linear models, later calls add none. The optimizer's moments are not copied with a
        classifier.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`. The first call fits the tokenizer and learns the initial word vectors, so
            it should have many typical texts.
        classes : array-like of shape (n_classes,) or int, default=None
            All labels of all portions; required in the first call. With several labels per
            document, the names of all columns in their order, or their number. A `HANRegressor` has
            no classes, and keeps the knots of its first portion.
        X_unlabelled : as X, or iterator of raw texts, default=None
            As in `fit`, but only in the first call and without pre-training. Later calls update the
            latent model, which exists only if the first portion has documents of every class.

        Returns
        -------
        HANClassifier or HANRegressor
            The estimator itself.

        Raises
        ------
        ValueError
            If the first call lacks classes, a later call has `X_unlabelled`, or a label is unknown.
        """
        # scikit-learn's `_fit_context` checks parameters only in the first call of partial_fit.
        validate_parameter_constraints(
            self._parameter_constraints, self.get_params(deep=False), type(self).__name__
        )
        data = FitInput(X, y, sample_weight, X_unlabelled, classes=classes)
        return self._fit(data, continues=True, is_partial=True)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class, the labels or the number of each document.

        Parameters
        ----------
        X : as in `fit`

        Returns
        -------
        ndarray of shape (n_documents,)
            The most probable class, or the expected number of a `HANRegressor`. With `ordered`, the
            first class whose cumulative probability reaches a half. With several labels per
            document, an indicator of int64, (n_documents, n_labels): 1 where the probability is at
            least the `threshold`.
        """
        check_is_fitted(self)
        target, logits = self._score(X)
        return target.decode(target.decide(logits))

    def transform(self, X: Any) -> NDArray[np.float32]:
        """Compute document vectors, the input of the network's output layer.

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
        # The network reads words alone, so no sentence needs to be encoded.
        model = self.model_.without_vectors()
        with self._computing():
            vectors: NDArray[np.float32] = model.pool.network.vectors(model.read(X))
        return vectors

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Fit, then compute the vectors of the training documents, with a warning of overfitting.

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

    def set_params(self, **params: Any) -> Self:
        """Set parameters, including nested ones of the tokenizer, `rnn` and `pooling`.

        Parameters
        ----------
        **params
            Parameters by name; ``pooling__size`` is the size of an `Attention`.

        Returns
        -------
        HANClassifier or HANRegressor
            The estimator itself.

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

    def _settings(self) -> dict[str, Any]:
        """Return all parameters, including disabled ones of the other estimator."""
        return {**self._without, **self.get_params(deep=False)}

    def explain(self, X: Any, **options: Any) -> ExplanationList:
        """Compute the contribution of each word and sentence to the log-odds of a class.

        Parameters
        ----------
        X, **options
            As in `sk_han.explain`, which also explains a Pipeline.
        """
        check_is_fitted(self)
        return self._explained_model().explain(X, **options)

    def to_state(self) -> dict[str, Any]:
        """Return the fitted state: arrays, plain values and fitted tokenizers.

        Pickles and files of `save` hold this state and the parameters. Arrays are not copied.
        """
        check_is_fitted(self)
        return self.model_.to_state()

    def from_state(self, state: Mapping[str, Any]) -> Self:
        """Restore a state from `to_state`; raise a ModelFormatError if an entry is invalid."""
        with self._computing(), restoring(type(self).__name__):
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
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return "model_" in vars(self)

    @property
    def engine_(self) -> str:
        """The backend in use, "numba" or "torch"; always "torch" on a GPU."""
        check_is_fitted(self)
        with using_engine(self.engine):
            return engine_in_use() if self.device_ == "cpu" else "torch"

    @property
    def _n_features_out(self) -> int:
        """Number of features that `transform` returns, for `get_feature_names_out`."""
        return int(self.net_.module_.output.in_features)

    def _fit(self, data: FitInput, *, continues: bool, is_partial: bool = False) -> Self:
        """Fit a model, and store it only once it is complete, so that an error changes nothing."""
        earlier = self._reading() if continues and "model_" in vars(self) else None
        stages = Stages(self.verbose, self.time_limit)
        # The caller may be inside of torch.inference_mode(), which has no gradients.
        gradients = torch.inference_mode(mode=False)
        with self._computing(), gradients:
            model = fit_model(self, data, stages, earlier, is_partial=is_partial)
        # A single assignment is atomic: another thread sees either the earlier fit or this one.
        self.model_ = model
        tell(self.fit_summary_, quiet=not self.verbose)
        return self

    def _computing(self) -> AbstractContextManager[None]:
        """Return a context that computes with the `engine` and `n_threads` of the parameters."""
        return computing(self.engine, self.n_threads)

    def _reading(self) -> FittedModel:
        """Return the fitted model with the encoder of the parameters, which may have been set."""
        fitted = self.model_
        # An encoder that is given by name is created with the number of threads of this context.
        with self._computing():
            model = fitted.read_with(self.encoder, self.encoder_memory, quiet=not self.verbose)
        # The second condition keeps a fit that another thread has finished meanwhile.
        if model is not fitted and self.model_ is fitted:
            self.model_ = model
        return model

    def _explained_model(self) -> ExplainedModel:
        """Return the fitted model in the form that explanations need, with its way to compute."""
        return ExplainedModel(self._reading(), computing=self._computing, quiet=not self.verbose)

    def _score(self, X: Any) -> tuple[Target, NDArray[np.float64]]:
        """Return the target and the logits of the ensemble, (D, K), both from the same fit."""
        model = self._reading()
        with self._computing():
            return model.target, model.logits(X)
