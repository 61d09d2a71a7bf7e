"""What a fit learns from: the user's data, checked and tokenized."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from sk_han.documents import DocumentArray, LabelledDocuments, SentenceArray
from sk_han.embeddings.initial import check_embedding_init
from sk_han.options import NetworkOptions
from sk_han.parts.ngrams.hashing import check_ngram_range
from sk_han.tokenizer import HierarchicalTokenizer
from sk_han.training.builder import check_net_params, check_optimizer, hold_out
from sk_han.utils.caching import cached_property
from sk_han.utils.warnings import warn_user
from sk_han.validation.documents import (
    as_documents,
    check_documents,
    check_sentence_vectors,
    holds_word_ids,
    vocabulary_size_of,
    within_vocabulary,
)
from sk_han.validation.doubtful import (
    conflicting_documents,
    warn_of_conflicts,
    warn_of_early_stopping,
    warn_of_rare_classes,
)
from sk_han.validation.features import why_no_documents
from sk_han.validation.labels import check_labels, document_weights, encode_labels
from sk_han.validation.texts import check_texts_without_labels

if TYPE_CHECKING:
    from sk_han.classifier import HANClassifier

__all__ = ["FitData", "fit_data", "network_options"]


@dataclass(frozen=True)
class FitData:
    """What a fit learns from.

    Attributes
    ----------
    tokenizer : HierarchicalTokenizer or None
    vocabulary_size : int
    documents : DocumentArray
        X, those of weight 0 too.
    labels : ndarray of shape (n_documents,)
        y.
    classes : ndarray of shape (C,)
    data : LabelledDocuments of D documents
        Those of positive weight.
    training : ndarray of int64
        Rows of `data` that the network learns from.
    held_out : ndarray of int64 or None
        The other rows, if there are any.
    given_validation : LabelledDocuments or None
        The validation documents that the user gives.
    unlabelled : DocumentArray or None
    n_conflicting : int
        Documents of `data` with the words of one of another class.
    """

    tokenizer: HierarchicalTokenizer | None
    vocabulary_size: int
    documents: DocumentArray
    labels: NDArray[Any]
    classes: NDArray[Any]
    data: LabelledDocuments
    training: NDArray[np.int64]
    held_out: NDArray[np.int64] | None
    given_validation: LabelledDocuments | None
    unlabelled: DocumentArray | None
    n_conflicting: int

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)

    @property
    def sentences(self) -> SentenceArray | None:
        """The documents of `data` if they have sentence vectors."""
        documents = self.data.documents
        return documents if isinstance(documents, SentenceArray) else None

    @property
    def encoder(self) -> Any:
        """What made the sentence vectors; None for documents of word ids."""
        return None if self.sentences is None else self.sentences.encoder

    @cached_property
    def training_data(self) -> LabelledDocuments:
        """Documents that the network learns from."""
        return self.data[self.training]

    @cached_property
    def validation(self) -> LabelledDocuments | None:
        """Documents that the network does not learn from."""
        return self.given_validation if self.held_out is None else self.data[self.held_out]

    @cached_property
    def text(self) -> tuple[DocumentArray, NDArray[np.float64]]:
        """All documents to learn words from, those of `data` first, and their weights.

        A document without a label weighs as much as one with a label on average.
        """
        documents, weights = _words(self.data.documents), self.data.weights
        if self.unlabelled is None:
            return documents, weights
        return (
            DocumentArray.concatenate([documents, _words(self.unlabelled)]),
            np.append(weights, np.full(len(self.unlabelled), weights.mean())),
        )


def fit_data(
    classifier: HANClassifier,
    X: Any,
    y: Any,
    *,
    sample_weight: Any,
    X_val: Any,
    y_val: Any,
    X_unlabelled: Any,
    classes: Any,
    resume: bool,
    holds_out: bool,
    random_state: np.random.RandomState,
) -> FitData:
    """Check the user's data, and tokenize it.

    Parameters
    ----------
    classifier : HANClassifier
    X, y, sample_weight, X_val, y_val, X_unlabelled, classes
        As of `HANClassifier.fit` and `HANClassifier.partial_fit`.
    resume : bool
        Whether the fitted tokenizer and classes are used.
    holds_out : bool
        Whether documents may be held out.
    random_state : RandomState

    Returns
    -------
    FitData

    Raises
    ------
    TypeError, ValueError
        If documents, labels, weights or parameters are invalid.
    """
    # Checks come before the texts are tokenized, which may take minutes.
    checked = _checked(classifier, X, y, sample_weight, X_val, y_val, X_unlabelled, classes, resume)
    tokenizer, documents, unlabelled = _tokenized(classifier, checked.X, X_unlabelled, resume)
    vocabulary_size = (
        classifier.vocabulary_size_
        if resume
        else vocabulary_size_of(documents, unlabelled, tokenizer, classifier.embedding_init)
    )
    # Only ratios of weights matter; after this division their sums are finite.
    weights = checked.weights / checked.weights.max()
    data = LabelledDocuments(
        within_vocabulary(documents, vocabulary_size), checked.targets, weights
    )
    counts = np.flatnonzero(data.weights > 0)
    data = data[counts]
    conflicting = conflicting_documents(data.documents, data.targets)
    validation, training, held_out = None, np.arange(len(data)), None
    if checked.X_val is not None:
        validation = _validation(checked.X_val, checked.targets_val, tokenizer, vocabulary_size)
    elif holds_out and classifier.validation_fraction is not None:
        fraction = classifier.validation_fraction
        training, held_out = hold_out(data.targets, fraction, random_state)
    if holds_out:
        _warn_of_single_documents(data.targets, checked.classes, given=validation is not None)
        warn_of_rare_classes(data.targets, checked.classes)
        n_words = data.documents.words_per_document[conflicting]
        warn_of_conflicts(counts[conflicting], n_words, len(data))
        if validation is None and held_out is None and classifier.n_iter_no_change is not None:
            why = (
                "validation_fraction is None"
                if classifier.validation_fraction is None
                else f"{len(data)} documents of {len(checked.classes)} classes are too few to hold "
                f"out validation_fraction={classifier.validation_fraction:g}"
            )
            repair = "Give X_val and y_val or more documents"
            warn_of_early_stopping(classifier.n_iter_no_change, "documents", why, repair)
    return FitData(
        tokenizer,
        vocabulary_size,
        documents,
        checked.labels,
        checked.classes,
        data,
        training,
        held_out,
        validation,
        None if unlabelled is None else within_vocabulary(unlabelled, vocabulary_size),
        len(conflicting),
    )


def _words(documents: DocumentArray) -> DocumentArray:
    return documents.words() if isinstance(documents, SentenceArray) else documents


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
    X_unlabelled: Any,
    classes: Any,
    resume: bool,
) -> _CheckedData:
    options = network_options(classifier)
    options.check()
    check_ngram_range(classifier.linear_ngrams)
    check_embedding_init(classifier.embedding_init)
    check_net_params(classifier.net_params or {})
    check_optimizer(classifier.optimizer)
    if resume:
        options.check_same_structure(classifier.net_.module_.options)
    X = check_documents(X)
    if resume:
        check_sentence_vectors(X, classifier.net_.dimension, classifier.encoder_)
    else:
        _warn_of_features(X)
    _check_without_labels(X_unlabelled, X)
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
        if isinstance(X, SentenceArray):
            check_sentence_vectors(X_val, X.dimension, X.encoder, "X_val")
        targets_val = encode_labels(check_labels(y_val, len(X_val), "y_val"), classes, "y_val")
    return _CheckedData(X, labels, targets, weights, classes, X_val, targets_val)


def _tokenized(
    classifier: HANClassifier, X: Any, X_unlabelled: Any, resume: bool
) -> tuple[HierarchicalTokenizer | None, DocumentArray, DocumentArray | None]:
    """Return the tokenizer, newly fitted unless `resume`, and the documents of both kinds."""
    if holds_word_ids(X):
        tokenizer = classifier.tokenizer_ if resume else None
        unlabelled = None if X_unlabelled is None else as_documents(X_unlabelled, None)
        return tokenizer, as_documents(X, tokenizer), unlabelled
    if resume:
        tokenizer = classifier.tokenizer_
        documents = as_documents(X, tokenizer)  # raises an error if there is no tokenizer
        assert tokenizer is not None
        return tokenizer, documents, tokenizer.transform_unlabelled(X_unlabelled)
    tokenizer = (
        HierarchicalTokenizer() if classifier.tokenizer is None else clone(classifier.tokenizer)
    )
    return tokenizer, *tokenizer.fit_transform_both(X, X_unlabelled=X_unlabelled)


def network_options(classifier: HANClassifier) -> NetworkOptions:
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
    """Return the validation documents that the user gives."""
    if tokenizer is None and not holds_word_ids(X_val):
        raise TypeError(
            f"X_val is a {type(X_val).__name__}, but X holds word ids. In a Pipeline, "
            "Pipeline(..., transform_input=['X_val']) has it tokenized, with metadata routing "
            "enabled and set_fit_request(X_val=True, y_val=True)."
        )
    documents = within_vocabulary(as_documents(X_val, tokenizer), vocabulary_size)
    return LabelledDocuments(documents, targets, np.ones(len(documents)))


def _warn_of_features(X: Any) -> None:
    if isinstance(X, (DocumentArray, list)):
        return
    sign = why_no_documents(X)
    if sign is not None:
        warn_user(
            f"X of shape {X.shape} is read as documents of word ids, but looks like a table of "
            f"features: {sign}. To HANClassifier a number is the name of a word, and its size "
            "means nothing: use another classifier for tables. If these are word ids, "
            "DocumentArray.from_padded(X) says so."
        )


def _warn_of_single_documents(
    targets: NDArray[np.int64], classes: NDArray[Any], *, given: bool
) -> None:
    """Warn of classes of one document; with `given` documents, held-out ones are not needed."""
    single = classes[np.bincount(targets, minlength=len(classes)) == 1].tolist()
    if not single or len(classes) == 1:
        return
    named = ", ".join(map(repr, single[:5]))
    more = f" and {len(single) - 5:,} more" if len(single) > 5 else ""
    not_held_out = (
        "It is trained on and not held out, so nothing tells how well such a class is recognized. "
    )
    warn_user(
        f"{len(single):,} of {len(classes):,} classes have a single document: {named}{more}. "
        f"{'' if given else not_held_out}Give more documents of these classes, merge them, or "
        "leave them out."
    )


def _check_without_labels(X_unlabelled: Any, X: Any) -> None:
    """Check what can be checked without reading an iterator."""
    if X_unlabelled is None:
        return
    if holds_word_ids(X_unlabelled) and not holds_word_ids(X):
        raise TypeError(
            f"X_unlabelled is a {type(X_unlabelled).__name__} of word ids, but X holds texts. Give "
            "texts without labels as texts too."
        )
    if holds_word_ids(X) and not holds_word_ids(X_unlabelled):
        raise TypeError(
            f"X_unlabelled is a {type(X_unlabelled).__name__}, but X holds word ids. In a "
            "Pipeline, Pipeline(..., transform_input=['X_unlabelled']) has it tokenized, with "
            "metadata routing enabled and set_fit_request(X_unlabelled=True)."
        )
    if not hasattr(X_unlabelled, "__len__"):
        return
    if len(X_unlabelled) == 0:
        raise ValueError("X_unlabelled has no documents; leave it out if there are none.")
    if not holds_word_ids(X_unlabelled):
        deque(check_texts_without_labels(X_unlabelled), maxlen=0)  # raises the errors of texts
