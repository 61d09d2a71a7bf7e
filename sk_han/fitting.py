"""One fit of a HANClassifier: from what the user hands over to the fitted attributes."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state

from sk_han.documents import UNKNOWN_ID, DocumentArray, LabelledDocuments
from sk_han.embeddings.initial import check_pretrained, initial_vectors
from sk_han.linear.calibration import fit_channel
from sk_han.linear.ngrams import check_ngram_range
from sk_han.nn.family import STRUCTURE, check_family, check_same_structure
from sk_han.tokenizer import HierarchicalTokenizer
from sk_han.training.builder import epochs_for, hold_out, new_net, plain_history
from sk_han.training.callbacks.fit_tasks import FitTasks
from sk_han.training.callbacks.freezing import epochs_frozen
from sk_han.training.devices import resolve_device
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


@torch.inference_mode(mode=False)  # the caller may be in it, or in no_grad, and learn still
def fitted_attributes(
    classifier: HANClassifier,
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    X_val: Any = None,
    y_val: Any = None,
    classes: Any = None,
    goes_on: bool,
    one_epoch: bool = False,
) -> dict[str, Any]:
    """Train a network and fit the n-gram channel; the classifier itself stays as it is.

    Parameters
    ----------
    classifier : HANClassifier
        Its parameters say how, and where the fit goes on, its fitted attributes from where.
    X, y, sample_weight, X_val, y_val, classes
        As of `HANClassifier.fit` and `HANClassifier.partial_fit`.
    goes_on : bool
        Whether to start from the fitted weights.
    one_epoch : bool
        Whether to train for an epoch at the constant rate, on all documents.

    Returns
    -------
    dict of str to object
        The fitted attributes.
    """
    device = resolve_device(classifier.device)
    rng = check_random_state(classifier.random_state)
    # Before the texts are read, which may take minutes.
    given = _checked(classifier, X, y, sample_weight, X_val, y_val, classes, goes_on)
    tokenizer, documents = _tokenized(classifier, given.X, goes_on)
    vocabulary_size = (
        classifier.vocabulary_size_
        if goes_on
        else vocabulary_size_of(documents, tokenizer, classifier.pretrained_embedding)
    )
    # Only ratios of weights matter, so that sums of any of them stay finite.
    weights = given.weights / given.weights.max()
    data = LabelledDocuments(within_vocabulary(documents, vocabulary_size), given.targets, weights)
    data = data[data.weights > 0]
    training, validation = data, None
    if given.X_val is not None:
        validation = _validation(given.X_val, given.targets_val, tokenizer, vocabulary_size)
    elif classifier.early_stopping and not one_epoch:
        training, validation = hold_out(data, classifier.validation_fraction, rng)

    keeps_channel = goes_on and one_epoch
    fitted: dict[str, Any] = {
        "classes_": given.classes,
        "tokenizer_": tokenizer,
        "ngram_channel_": classifier.ngram_channel_ if keeps_channel else None,
        "logit_scales_": classifier.logit_scales_ if keeps_channel else np.ones(1),
        "device_": device,
        "vocabulary_size_": vocabulary_size,
    }
    n_epochs = epochs_for(
        1 if one_epoch else classifier.max_epochs, len(training), classifier.batch_size
    )
    tasks = FitTasks(classifier, documents, given.labels, sample_weight, n_epochs, fitted)
    epochs_before = classifier.history_ if goes_on and one_epoch else []
    stops_early = classifier.early_stopping and validation is not None
    net = new_net(
        _module_params(classifier, vocabulary_size, len(given.classes)),
        n_documents=len(training),
        max_epochs=n_epochs,
        batch_size=classifier.batch_size,
        optimizer=classifier.optimizer,
        lr=classifier.lr,
        lr_schedule="constant" if one_epoch else classifier.lr_schedule,
        weight_decay=classifier.weight_decay,
        clip_norm=classifier.clip_norm,
        label_smoothing=float(classifier.label_smoothing),
        weight_averaging=classifier.weight_averaging,
        adversarial_noise=float(classifier.adversarial_noise),
        frozen_epochs=epochs_frozen(classifier.freeze_embedding) - len(epochs_before),
        patience=classifier.patience if stops_early else None,
        callbacks=classifier.callbacks,
        fit_tasks=tasks,
        net_params=classifier.net_params,
        verbose=classifier.verbose,
        device=device,
        random_state=rng,
    )
    if goes_on:
        net.continue_from(classifier.net_)
    elif classifier.pretrained_embedding is not None:
        net.set_embedding(
            initial_vectors(
                classifier.pretrained_embedding,
                data,
                None if tokenizer is None else tokenizer.vocabulary_,
                (vocabulary_size, classifier.embedding_dim),
                rng,
            )
        )
    net.fit_documents(training, validation)

    if not one_epoch:
        fitted["ngram_channel_"], fitted["logit_scales_"] = fit_channel(
            net.logits,
            len(given.classes),
            training,
            validation,
            data,
            classifier.ngram_range,
            kept_scales=classifier.logit_scales_ if goes_on and given.X_val is None else None,
        )
    history = epochs_before + plain_history(net, first_epoch=len(epochs_before) + 1)
    fitted |= {"net_": net, "history_": history, "n_iter_": len(history)}
    tasks.end(fitted)
    return fitted


class _Given(NamedTuple):
    """What the user handed over, checked; texts are texts still."""

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
    goes_on: bool,
) -> _Given:
    check_family(
        rnn=classifier.rnn,
        pooling=classifier.pooling,
        attention=classifier.attention,
        attention_hops=classifier.attention_hops,
        diversity_penalty=classifier.diversity_penalty,
        context=classifier.context,
        context_pooling=classifier.context_pooling,
    )
    check_ngram_range(classifier.ngram_range)
    check_pretrained(classifier.pretrained_embedding)
    if goes_on:
        check_same_structure(
            _module_params(classifier, classifier.vocabulary_size_, len(classifier.classes_)),
            classifier.net_.module_params,
        )
    X = check_documents(X)
    labels = check_labels(y, len(X))
    if goes_on:
        classes = classifier.classes_
    elif classes is None:
        classes = np.unique(labels)
    if len(classes) == 1:
        warnings.warn(
            f"y holds a single class, {classes.tolist()[0]!r}, which every document will get.",
            UserWarning,
            stacklevel=7,
        )
    targets = encode_labels(labels, classes, "y")
    weights = document_weights(sample_weight, classifier.class_weight, labels, classes)
    targets_val = None
    if (X_val is None) != (y_val is None):
        raise ValueError("X_val and y_val go together: give both or neither.")
    if X_val is not None:
        X_val = check_documents(X_val)
        targets_val = encode_labels(check_labels(y_val, len(X_val), "y_val"), classes, "y_val")
    return _Given(X, labels, targets, weights, classes, X_val, targets_val)


def _tokenized(
    classifier: HANClassifier, X: Any, goes_on: bool
) -> tuple[HierarchicalTokenizer | None, DocumentArray]:
    """Give the tokenizer, newly fitted unless the fit `goes_on`, and its documents."""
    if goes_on:
        return classifier.tokenizer_, as_documents(X, classifier.tokenizer_)
    if holds_word_ids(X):
        return None, as_documents(X, None)
    tokenizer = (
        HierarchicalTokenizer() if classifier.tokenizer is None else clone(classifier.tokenizer)
    )
    return tokenizer, as_documents(tokenizer.fit_transform(X), None)


def _module_params(
    classifier: HANClassifier, vocabulary_size: int, n_classes: int
) -> dict[str, Any]:
    sizes = {"vocabulary_size": vocabulary_size, "n_classes": n_classes}
    penalties = ("hop_penalty", "diversity_penalty")
    names = [*STRUCTURE, *penalties, "dropout", "word_dropout", "embedding_dropout"]
    given = {name: getattr(classifier, name) for name in names}
    # Searches hand over NumPy's numbers, which torch.nn refuses.
    plain = {n: v.item() if isinstance(v, np.generic) else v for n, v in given.items()}
    return sizes | plain | {"unknown_id": UNKNOWN_ID}


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
