"""What a fit learns from: the user's data, checked and tokenized."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from sk_han.documents import (
    UNKNOWN_ID,
    DocumentArray,
    EncoderFingerprint,
    LabelledDocuments,
    SentenceArray,
)
from sk_han.documents.repeated import conflicting_rows, first_of_same_words, groups_of_copies
from sk_han.embeddings.initial import check_embedding_init
from sk_han.fitting.context import FitContext
from sk_han.fitting.settings import AUTO, Settings
from sk_han.fitting.state import FittedModel
from sk_han.parts import Pool
from sk_han.parts.ngrams.hashing import check_ngram_range
from sk_han.targets import Target, check_same_kind, learnt_target
from sk_han.tokenizer import HierarchicalTokenizer
from sk_han.training.builder import check_net_params, check_optimizer
from sk_han.utils.containers import rows_of
from sk_han.utils.messages import agreeing, counted, warn_user
from sk_han.validation.documents import (
    as_documents,
    check_documents,
    check_sentence_vectors,
    check_unlabelled,
    check_validation,
    check_word_ids,
    holds_word_ids,
    vocabulary_size_of,
    warn_of_features,
    within_vocabulary,
)
from sk_han.validation.labels import (
    check_groups,
    warn_of_conflicts,
    warn_of_early_stopping,
    warn_of_order,
)


@dataclass(frozen=True)
class FitData:
    """What a fit learns from: the documents and labels of the user, checked."""

    tokenizer: HierarchicalTokenizer | None
    vocabulary_size: int
    documents: DocumentArray  # X, those of weight 0 too
    labels: NDArray[Any]  # y
    target: Target
    labelled: LabelledDocuments  # those of positive weight, D documents
    training: NDArray[np.int64]  # rows of `labelled` that the network learns from
    held_out: NDArray[np.int64] | None  # the other rows, if there are any
    given_validation: LabelledDocuments | None  # by the user
    unlabelled: DocumentArray | None
    encoder: EncoderFingerprint | None  # of the sentence vectors, of this fit or of those before
    n_conflicting: int  # of `labelled`, with the words of a document of another class

    @property
    def n_classes(self) -> int:
        """Number of classes or labels."""
        return self.target.n_scores

    @property
    def sentences(self) -> SentenceArray | None:
        """The labelled documents if they have sentence vectors."""
        documents = self.labelled.documents
        return documents if isinstance(documents, SentenceArray) else None

    @property
    def reads_words_beside_vectors(self) -> bool:
        """Whether the documents have sentence vectors, and words that are known."""
        return self.sentences is not None and bool((self.sentences.word_ids != UNKNOWN_ID).any())

    def of_words(self) -> FitData:
        """Return the data without sentence vectors."""
        given = self.given_validation
        return replace(
            self,
            labelled=_of_words(self.labelled),
            given_validation=None if given is None else _of_words(given),
        )

    @cached_property
    def training_data(self) -> LabelledDocuments:
        """Documents that the network learns from."""
        return self.labelled[self.training]

    @cached_property
    def validation(self) -> LabelledDocuments | None:
        """Documents that the network does not learn from."""
        return self.given_validation if self.held_out is None else self.labelled[self.held_out]

    @cached_property
    def text(self) -> tuple[DocumentArray, NDArray[np.float64]]:
        """All documents to learn words from, labelled ones first, and their weights."""
        documents, weights = _words(self.labelled.documents), self.labelled.weights
        if self.unlabelled is None:
            return documents, weights
        others = _words(self.unlabelled)[:]
        others.spelling = None  # of raw texts it is not kept, for it takes memory
        return (
            DocumentArray.concatenate([documents, others]),
            np.append(weights, np.full(len(self.unlabelled), weights.mean())),
        )

    def model(self, pool: Pool, history: list[dict[str, float]], **others: Any) -> FittedModel:
        """Return the model of a pool fitted to these data; `others` are its other fields."""
        return FittedModel(
            pool=pool,
            tokenizer=self.tokenizer,
            vocabulary_size=self.vocabulary_size,
            encoder=self.encoder,
            history=history,
            n_iter=len(history),
            **others,
        )


class Given(NamedTuple):
    """The user's data, as of `HANClassifier.fit` and `HANClassifier.partial_fit`."""

    X: Any
    y: Any
    sample_weight: Any = None
    X_unlabelled: Any = None
    X_val: Any = None
    y_val: Any = None
    classes: Any = None
    groups: Any = None


def read_data(given: Given, context: FitContext) -> FitData:
    """Check the user's data, tokenize it as the model before did, and hold out documents."""
    settings, before, is_whole = context.settings, context.before, not context.is_portion
    # Checks come before the texts are tokenized, which may take minutes.
    target, checked = _checked(given, settings, before)
    # Only ratios of weights matter; after this division their sums are finite.
    weights = checked.sample_weight / checked.sample_weight.max()
    rows = np.flatnonzero(weights > 0)
    texts = checked.X, given.X_unlabelled
    tokenizer, documents, unlabelled = _tokenized(settings, *texts, rows, before)
    vocabulary_size = (
        vocabulary_size_of(documents[rows], unlabelled, tokenizer, settings.embedding_init)
        if before is None
        else before.vocabulary_size
    )
    known = within_vocabulary(documents, vocabulary_size)
    labelled = LabelledDocuments(known, checked.y, weights, checked.groups)[rows]
    codes = target.codes(labelled.targets)
    first_of_same = first_of_same_words(_words(labelled.documents))
    conflicting = conflicting_rows(first_of_same, codes)
    given_groups = labelled.groups
    if given_groups is None:
        labelled = replace(labelled, groups=groups_of_copies(first_of_same, codes))
    validation, training, held_out = None, np.arange(len(labelled)), None
    if checked.X_val is not None:
        weights_val = target.weights_of_others(checked.y_val, checked.y, settings.class_weight)
        validation = _validation(
            checked.X_val, checked.y_val, weights_val, tokenizer, vocabulary_size
        )
    elif is_whole and settings.validation_fraction is not None:
        split = labelled.targets, settings.validation_fraction, context.rng, labelled.groups
        training, held_out = target.hold_out(*split)
    if is_whole:
        target.warn_of_rare(labelled.targets, given=validation is not None)
        n_words = labelled.documents.words_per_document[conflicting]
        warn_of_conflicts(n_words, len(labelled))
        if validation is None and held_out is None:
            _warn_of_none_held_out(labelled, target, settings, given_groups)
    return FitData(
        tokenizer=tokenizer,
        vocabulary_size=vocabulary_size,
        documents=documents,
        labels=target.decode(checked.y),
        target=target,
        labelled=labelled,
        training=training,
        held_out=held_out,
        given_validation=validation,
        unlabelled=None if unlabelled is None else within_vocabulary(unlabelled, vocabulary_size),
        encoder=_encoder_of(documents, before),
        n_conflicting=len(conflicting),
    )


def _warn_of_none_held_out(
    labelled: LabelledDocuments,
    target: Target,
    settings: Settings,
    groups: NDArray[np.int64] | None,
) -> None:
    """Warn if groups are why no document is held out, or if training was to stop early by some."""
    fraction, patience = settings.validation_fraction, settings.n_iter_no_change
    why, repair = "validation_fraction is None", "Give X_val and y_val or more documents"
    if fraction is not None:
        n, share = len(labelled), f"validation_fraction={fraction:g}"
        why = (
            f"{counted(n)} of {counted(target.n_scores, 'class')} {agreeing(n, 'are')} too few to "
            f"hold out {share}"
        )
        split = labelled.targets, fraction, np.random.RandomState(0)
        if groups is not None and target.hold_out(*split, None)[1] is not None:
            n_groups = len(np.unique(groups))
            in_groups = f"{counted(n)} in {counted(n_groups, 'group')}, which stay whole,"
            why = f"{in_groups} are too few for {share}"
            repair = "Give X_val and y_val, more groups or a larger validation_fraction"
            if patience is None and n_groups > 1:
                warn_user(
                    f"No document is held out: {why}. The weights of the last epoch are kept, and "
                    f"scales are typical values. {repair}."
                )
    if patience is not None:
        warn_of_early_stopping(patience, "documents", why, repair)


def _encoder_of(documents: DocumentArray, before: FittedModel | None) -> EncoderFingerprint | None:
    """Return what made the vectors, which is known already if vectors before them told it."""
    if before is not None and before.encoder is not None:
        return before.encoder
    return documents.encoder if isinstance(documents, SentenceArray) else None


def _words(documents: DocumentArray) -> DocumentArray:
    return documents.words() if isinstance(documents, SentenceArray) else documents


def _of_words(labelled: LabelledDocuments) -> LabelledDocuments:
    return replace(labelled, documents=_words(labelled.documents))


def _checked(given: Given, settings: Settings, before: FittedModel | None) -> tuple[Target, Given]:
    """Check the user's data, and return it with encoded labels and the weights of documents."""
    options = settings.network_options
    options.check()
    check_ngram_range(settings.linear_ngrams)
    if settings.linear_chars != AUTO:
        check_ngram_range(settings.linear_chars, "linear_chars", "characters", "(2, 5)")
    check_embedding_init(settings.embedding_init)
    check_net_params(settings.net_params or {})
    check_optimizer(settings.optimizer)
    if before is not None:
        options = options.decided(before.pool.target.attends_per_label)
        options.check_same_structure(before.pool.network.options)
    X = check_documents(given.X)
    if before is None:
        warn_of_features(X)
    else:
        check_sentence_vectors(X, before.pool.network.dimension, before.encoder)
        if isinstance(X, SentenceArray) and before.pool.network.dimension is None:
            X = X.words()  # the network reads nothing else of them
    check_unlabelled(given.X_unlabelled, X)
    if before is None:
        target, targets = learnt_target(given.y, len(X), given.classes)
    else:
        target = before.pool.target
        check_same_kind(given.y, target)
        targets = target.encode(given.y, len(X))
    for name in ("y", "sample_weight", "groups"):
        warn_of_order(given.X, getattr(given, name), name)
    target.check_threshold(settings.threshold)
    target, weights = target.weigh(targets, given.sample_weight, settings.class_weight)
    has_ids = before is not None or getattr(settings.tokenizer, "vocabulary", None) is not None
    X_val, targets_val = check_validation(given.X_val, given.y_val, X, has_ids), None
    if X_val is not None:
        targets_val = target.encode(given.y_val, len(X_val), "y_val")
        warn_of_order(given.X_val, given.y_val, "y_val", "X_val")
    groups = None if given.groups is None else check_groups(given.groups, len(X))
    holds_out = X_val is None and settings.validation_fraction is not None
    if groups is not None and holds_out and len(np.unique(groups[weights > 0])) == 1:
        warn_user(
            "All documents are of one group, so none can be held out: the weights of the last "
            "epoch are kept, and scales are typical values."
        )
    return target, given._replace(
        X=X,
        y=targets,
        sample_weight=weights,
        X_val=X_val,
        y_val=targets_val,
        groups=groups,
    )


def _tokenized(
    settings: Settings,
    X: Any,
    X_unlabelled: Any,
    rows: NDArray[np.int64],
    before: FittedModel | None,
) -> tuple[HierarchicalTokenizer | None, DocumentArray, DocumentArray | None]:
    """Return the tokenizer, newly fitted or that of before, and the documents of both kinds.

    A new one is fitted to the rows that count, so that it knows no words of others.
    """
    fitted = None if before is None else before.tokenizer
    if holds_word_ids(X):
        unlabelled = None if X_unlabelled is None else as_documents(X_unlabelled, None)
        return fitted, as_documents(X, fitted), unlabelled
    if before is not None:
        documents = as_documents(X, fitted)  # raises an error if there is no tokenizer
        assert fitted is not None
        return fitted, documents, fitted.transform_unlabelled(X_unlabelled)
    tokenizer = HierarchicalTokenizer() if settings.tokenizer is None else clone(settings.tokenizer)
    counting = X if len(rows) == len(X) else rows_of(X, rows)
    documents, unlabelled = tokenizer.fit_transform_both(counting, X_unlabelled=X_unlabelled)
    return tokenizer, documents if counting is X else as_documents(X, tokenizer), unlabelled


def _validation(
    X_val: Any,
    targets: NDArray[np.int64],
    weights: NDArray[np.float64],
    tokenizer: HierarchicalTokenizer | None,
    vocabulary_size: int,
) -> LabelledDocuments:
    """Return the validation documents that the user gives, but for those of weight 0."""
    if tokenizer is None:
        check_word_ids(X_val, "X_val", "X_val=True, y_val=True")
    documents = within_vocabulary(as_documents(X_val, tokenizer), vocabulary_size)
    rows = np.flatnonzero(weights > 0)
    if not len(rows):
        raise ValueError(
            "class_weight is 0 for the classes of all documents in X_val; give others, or leave "
            "X_val and y_val out."
        )
    return LabelledDocuments(documents, targets, weights / weights.max())[rows]
