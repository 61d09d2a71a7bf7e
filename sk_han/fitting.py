"""One fit of a HANClassifier: from the user's data to the fitted attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state

from sk_han.documents import UNKNOWN_ID, DocumentArray, LabelledDocuments
from sk_han.embeddings.initial import check_embedding_init, initial_vectors
from sk_han.linear.calibration import USUAL_SCALES, fit_scales
from sk_han.linear.hashing import check_ngram_range
from sk_han.linear.ngram_fitting import fit_ngram_model, partial_fit_ngram_model
from sk_han.linear.ngrams import NgramModel
from sk_han.options import NetworkOptions
from sk_han.tokenizer import HierarchicalTokenizer
from sk_han.training.builder import (
    batch_size_for,
    check_net_params,
    check_optimizer,
    epochs_for,
    hold_out,
    new_net,
)
from sk_han.training.callbacks.early_stopping import EarlyStopping
from sk_han.training.callbacks.freezing import epochs_frozen
from sk_han.training.callbacks.sklearn_callbacks import FitTasks
from sk_han.training.devices import resolve_device
from sk_han.training.history import plain_history
from sk_han.training.net import Net
from sk_han.utils.warnings import warn_user
from sk_han.validation.documents import (
    as_documents,
    check_documents,
    holds_word_ids,
    vocabulary_size_of,
    within_vocabulary,
)
from sk_han.validation.labels import check_labels, document_weights, encode_labels

if TYPE_CHECKING:
    from sk_han.classifier import HANClassifier

__all__ = ["fitted_attributes"]


@torch.inference_mode(mode=False)  # training needs gradients even inside the caller's mode
def fitted_attributes(
    classifier: HANClassifier,
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    X_val: Any = None,
    y_val: Any = None,
    classes: Any = None,
    resume: bool,
    one_epoch: bool = False,
) -> dict[str, Any]:
    """Train a network and fit the linear model; the classifier itself does not change.

    Parameters
    ----------
    classifier : HANClassifier
        Its parameters are used, and, with `resume`, its fitted attributes.
    X, y, sample_weight, X_val, y_val, classes
        As of `HANClassifier.fit` and `HANClassifier.partial_fit`.
    resume : bool
        Whether to start from the fitted weights.
    one_epoch : bool
        Whether to train one epoch at the constant learning rate, on all documents.

    Returns
    -------
    dict of str to object
        The fitted attributes.
    """
    device = resolve_device(classifier.device)
    rng = check_random_state(classifier.random_state)
    # Checks come before the texts are tokenized, which may take minutes.
    checked = _checked(classifier, X, y, sample_weight, X_val, y_val, classes, resume)
    tokenizer, documents = _tokenized(classifier, checked.X, resume)
    vocabulary_size = (
        classifier.vocabulary_size_
        if resume
        else vocabulary_size_of(documents, tokenizer, classifier.embedding_init)
    )
    # Only ratios of weights matter; after this division their sums are finite.
    weights = checked.weights / checked.weights.max()
    data = LabelledDocuments(
        within_vocabulary(documents, vocabulary_size), checked.targets, weights
    )
    data = data[data.weights > 0]
    training, validation = data, None
    if checked.X_val is not None:
        validation = _validation(checked.X_val, checked.targets_val, tokenizer, vocabulary_size)
    elif classifier.validation_fraction is not None and not one_epoch:
        training, validation = hold_out(data, classifier.validation_fraction, rng)

    n_classes, partial = len(checked.classes), resume and one_epoch
    fitted: dict[str, Any] = {
        "classes_": checked.classes,
        "tokenizer_": tokenizer,
        "ngram_model_": classifier.ngram_model_ if partial else None,
        "network_scale_": classifier.network_scale_ if partial else 1.0,
        "ngram_scale_": classifier.ngram_scale_ if partial else 0.0,
        "device_": device,
        "vocabulary_size_": vocabulary_size,
    }
    batch_size = batch_size_for(classifier.batch_size, len(training))
    n_epochs = epochs_for(1 if one_epoch else classifier.max_epochs, len(training), batch_size)
    tasks = FitTasks(classifier, documents, checked.labels, sample_weight, n_epochs, fitted)
    epochs_before = classifier.history_ if partial else []
    network = _options(classifier).get_params(deep=False)
    del network["embedding_dropout"]  # net_params may have it
    network |= {"vocabulary_size": vocabulary_size, "n_classes": n_classes}
    net = new_net(
        network | {"unknown_id": UNKNOWN_ID},
        n_documents=len(training),
        max_epochs=n_epochs,
        batch_size=batch_size,
        optimizer=classifier.optimizer,
        lr=classifier.lr,
        lr_schedule="constant" if one_epoch else classifier.lr_schedule,
        weight_averaging=classifier.weight_averaging,
        noise=float(classifier.adversarial_noise),
        frozen_epochs=epochs_frozen(classifier.freeze_embedding) - len(epochs_before),
        keep_best=validation is not None,
        n_iter_no_change=classifier.n_iter_no_change,
        callbacks=classifier.callbacks,
        fit_tasks=tasks,
        net_params=classifier.net_params,
        verbose=classifier.verbose,
        device=device,
        random_state=rng,
    )
    if resume:
        net.continue_from(classifier.net_)
    else:
        vectors = initial_vectors(
            classifier.embedding_init,
            data,
            None if tokenizer is None else tokenizer.vocabulary_,
            (vocabulary_size, classifier.embedding_dim),
            rng,
        )
        if vectors is not None:
            net.set_embedding(vectors)
    net.train(training, validation)

    keep_scales = resume and checked.X_val is None
    if one_epoch:
        before = classifier.ngram_model_ if resume else None
        fitted |= _with_next_portion(classifier, before, data, n_classes, keep_scales)
    else:
        fitted |= _with_linear_model(
            classifier, net, training, validation, data, n_classes, keep_scales
        )
    history = epochs_before + plain_history(net, first_epoch=len(epochs_before) + 1)
    fitted |= {"net_": net, "history_": history, "n_iter_": len(history)}
    fitted |= _best(net)
    tasks.end(fitted)
    return fitted


def _with_linear_model(
    classifier: HANClassifier,
    net: Net,
    training: LabelledDocuments,
    validation: LabelledDocuments | None,
    data: LabelledDocuments,
    n_classes: int,
    keep_scales: bool,
) -> dict[str, Any]:
    """Fit the linear model, and the scales of network and linear model.

    The two are trained separately: the linear model separates its training documents, so a network
    trained together with it has little left to learn. Training on the residual of cross-fitted
    logits of the linear model was not better (docs/benchmarks.md).

    The scales are fitted on held-out documents; then the linear model is fitted on all documents.
    A resumed fit keeps its scales, since the network may have learnt from the held-out documents
    before.
    """
    ngrams = classifier.linear_ngrams
    fit_data = data if keep_scales else training
    model = fit_ngram_model(fit_data, n_classes, ngrams) if ngrams is not None else None
    scales = np.array(USUAL_SCALES if model is not None else [1.0])
    if keep_scales and (model is None) == (classifier.ngram_model_ is None):
        scales = np.array([classifier.network_scale_, classifier.ngram_scale_])
    elif not keep_scales and validation is not None and n_classes > 1:
        logits = [net.logits(validation.documents).astype(np.float64)]
        if model is not None:
            logits.append(model.logits(validation.documents))
        scales = fit_scales(logits, validation.targets, validation.weights, scales)
    if model is not None and len(data) > len(fit_data):
        model = fit_ngram_model(data, n_classes, model.ngram_range)
    return _linear(model, scales)


def _with_next_portion(
    classifier: HANClassifier,
    before: NgramModel | None,
    data: LabelledDocuments,
    n_classes: int,
    keep_scales: bool,
) -> dict[str, Any]:
    """Update the linear model by one more portion of documents."""
    ngrams = classifier.linear_ngrams if before is None else before.ngram_range
    # A model that begins beside a trained network would change what its scale was fitted to.
    if ngrams is None or (before is None and keep_scales):
        return {}
    if before is not None and before.counts is None:
        warn_user(
            "The linear model comes from a file of the first format, which has no counts, and does "
            "not learn on; the network does. Fit anew to train both."
        )
    model = partial_fit_ngram_model(before, data, n_classes, ngrams)
    if before is not None:
        return {"ngram_model_": model}
    return _linear(model, np.array(USUAL_SCALES if model is not None else [1.0]))


def _linear(model: NgramModel | None, scales: NDArray[np.float64]) -> dict[str, Any]:
    return {
        "ngram_model_": model,
        "network_scale_": float(scales[0]),
        "ngram_scale_": 0.0 if model is None else float(scales[1]),
    }


def _best(net: Net) -> dict[str, Any]:
    """Return the epoch of the kept weights, and its accuracy on the held-out documents."""
    for _, callback in net.callbacks_:
        if isinstance(callback, EarlyStopping) and callback.best_epoch_:
            epoch, score = callback.best_epoch_, float(callback.best_score_[0])
            return {"best_epoch_": epoch, "best_score_": score}
    return {"best_epoch_": None, "best_score_": None}


class _CheckedData(NamedTuple):
    """The user's data, checked but not tokenized."""

    X: Any
    labels: NDArray[Any]
    targets: NDArray[np.int64]
    weights: NDArray[np.float64]
    classes: NDArray[Any]
    X_val: Any
    targets_val: Any


def _checked(
    classifier: HANClassifier,
    X: Any,
    y: Any,
    sample_weight: Any,
    X_val: Any,
    y_val: Any,
    classes: Any,
    resume: bool,
) -> _CheckedData:
    options = _options(classifier)
    options.check()
    check_ngram_range(classifier.linear_ngrams)
    check_embedding_init(classifier.embedding_init)
    check_net_params(classifier.net_params or {})
    check_optimizer(classifier.optimizer)
    if resume:
        options.check_same_structure(classifier.net_.module_.options)
    X = check_documents(X)
    labels = check_labels(y, len(X))
    if resume:
        classes = classifier.classes_
    elif classes is None:
        classes = np.unique(labels)
    if len(classes) == 1:
        warn_user(
            f"y holds a single class, {classes.tolist()[0]!r}, which every document will get."
        )
    targets = encode_labels(labels, classes, "y")
    weights = document_weights(sample_weight, classifier.class_weight, labels, classes)
    targets_val = None
    if (X_val is None) != (y_val is None):
        raise ValueError("X_val and y_val go together: give both or neither.")
    if X_val is not None:
        X_val = check_documents(X_val)
        targets_val = encode_labels(check_labels(y_val, len(X_val), "y_val"), classes, "y_val")
    return _CheckedData(X, labels, targets, weights, classes, X_val, targets_val)


def _tokenized(
    classifier: HANClassifier, X: Any, resume: bool
) -> tuple[HierarchicalTokenizer | None, DocumentArray]:
    """Return the tokenizer, newly fitted unless `resume`, and the documents."""
    if resume:
        return classifier.tokenizer_, as_documents(X, classifier.tokenizer_)
    if holds_word_ids(X):
        return None, as_documents(X, None)
    tokenizer = (
        HierarchicalTokenizer() if classifier.tokenizer is None else clone(classifier.tokenizer)
    )
    return tokenizer, as_documents(tokenizer.fit_transform(X), None)


def _options(classifier: HANClassifier) -> NetworkOptions:
    """Return the options of the network that are parameters of the classifier."""
    params = classifier.get_params(deep=False)
    options = {name: params[name] for name in NetworkOptions.constraints() if name in params}
    return NetworkOptions(**options).copy()


def _validation(
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
