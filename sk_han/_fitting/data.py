"""The data of a fit: check them, encode labels, tokenize texts, and hold out documents."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state

from sk_han._documents import (
    DocumentArray,
    EncoderIdentity,
    LabelledDocuments,
    SentenceArray,
)
from sk_han._documents.repeated import (
    TextHashes,
    conflicting_rows,
    copy_groups,
    first_of_same_words,
)
from sk_han._model.class_mix import check_priors
from sk_han._model.fitted_model import FittedModel
from sk_han._options import NetworkOptions
from sk_han._parts import Pool
from sk_han._parts.columns import ColumnEncoder, ReadTable, is_table
from sk_han._parts.ngrams import check_ngram_range
from sk_han._parts.pool import VECTORS
from sk_han._targets import Number, Target, check_same_kind, fit_target
from sk_han._targets.splits import hold_out
from sk_han._text.sentence_encoder import SentenceEncoder, SentenceReader, sentence_texts
from sk_han._tokenizer import HierarchicalTokenizer
from sk_han._training.builder import check_net_params, check_optimizer
from sk_han._training.net import resolve_device
from sk_han._utils.containers import Floats, Integers, take_rows
from sk_han._utils.messages import a_kind, agreeing, in_one_line, plural, warn_user
from sk_han._utils.progress import Stages, tell
from sk_han._validation.cells import doubt_about
from sk_han._validation.documents import (
    as_documents,
    check_documents,
    check_sentence_vectors,
    check_texts,
    check_unlabelled,
    check_validation,
    check_word_ids,
    count_word_ids,
    holds_word_ids,
    replace_unknown_ids,
    row_names,
    warn_of_features,
    warn_of_missing,
    warn_of_no_words,
)
from sk_han._validation.labels import (
    check_groups,
    warn_of_conflicts,
    warn_of_early_stopping,
    warn_of_order,
)
from sk_han.embeddings._cooccurrence import check_embedding_init

# Short texts may be equal by chance, so a few shared documents, or a small share, are no warning.
_MANY_SHARED, _MOST_SHARED = 20, 0.1
# Characters of documents without labels that are read in a second of a time limit: reading them,
# latent spaces and word vectors take up to a third of it. Their mean size is that of so many, and
# each counts as so many characters at least, since directions are found by document.
_READ_PER_SECOND, _MEASURED, _SHORTEST = 100_000, 1_000, 500


class FitInput(NamedTuple):
    """The arguments of `HANClassifier.fit` or `HANClassifier.partial_fit`, unchecked."""

    X: Any
    y: Any
    sample_weight: Any = None
    X_unlabelled: Any = None
    X_val: Any = None
    y_val: Any = None
    classes: Any = None
    groups: Any = None


class Tables(NamedTuple):
    """The documents of `FitInput`, in which tables are split into texts and encoded columns."""

    encoder: ColumnEncoder | None  # None without a table
    X: ReadTable
    X_val: ReadTable
    X_unlabelled: Any


class CheckedData(NamedTuple):
    """Checked data, with labels encoded and texts not yet tokenized; letters as for `Target`."""

    target: Target
    tables: Tables
    X: Any
    targets: NDArray[Any]  # encoded labels of D documents
    weights: Floats  # (D,) times class weights, scaled to at most 1 so that sums are finite
    groups: Integers | None  # (D,)
    validation: tuple[Any, NDArray[Any], Floats] | None  # as X, targets and weights

    @property
    def rows(self) -> Integers:
        """Rows of the documents of positive weight."""
        return np.flatnonzero(self.weights > 0)


@dataclass
class FitState:
    """State shared by the steps of one call to `fit`."""

    params: Any  # the parameters of the estimator, as attributes
    network_options: NetworkOptions
    warm_start_from: FittedModel | None
    is_partial: bool  # whether this is `partial_fit`
    device: str
    rng: np.random.RandomState
    stages: Stages
    tokenizer: HierarchicalTokenizer | None
    sentence_encoder: SentenceEncoder | None
    vocabulary_size: int
    documents: DocumentArray  # X, including documents of weight 0
    target: Target
    labelled: LabelledDocuments  # D documents of positive weight
    training: NDArray[np.int64]  # rows of `labelled` that the network learns from
    held_out: NDArray[np.int64] | None  # the other rows, if any
    user_validation: LabelledDocuments | None  # X_val and y_val
    unlabelled: DocumentArray | None
    column_encoder: ColumnEncoder | None  # None without a table
    column_descriptions: dict[str, str] | None
    n_conflicting: int  # labelled documents that equal a document of another class

    @property
    def n_classes(self) -> int:
        """Number of classes or labels."""
        return self.target.n_scores

    @property
    def has_own_loss(self) -> bool:
        """Whether the user's own loss is minimized, whose outputs may not be probabilities."""
        return "criterion" in (self.params.net_params or {})

    @property
    def earlier_history(self) -> list[dict[str, float]]:
        """The history of earlier calls to `partial_fit`, which this call continues."""
        if self.warm_start_from is None or not self.is_partial:
            return []
        return self.warm_start_from.history

    @property
    def sentences(self) -> SentenceArray | None:
        """The labelled documents if they have sentence vectors."""
        documents = self.labelled.documents
        return documents if isinstance(documents, SentenceArray) else None

    @property
    def encoder(self) -> EncoderIdentity | None:
        """The identity of the sentence encoder, of the fit that is continued or of this one."""
        earlier = None if self.warm_start_from is None else self.warm_start_from.encoder
        return earlier or getattr(self.documents, "encoder", None)

    @cached_property
    def training_data(self) -> LabelledDocuments:
        """Documents that the network learns from, as words."""
        return _as_words(self.labelled[self.training])

    @cached_property
    def validation(self) -> LabelledDocuments | None:
        """Held-out or validation documents, which the network does not learn from, as words."""
        if self.held_out is not None:
            return _as_words(self.labelled[self.held_out])
        return None if self.user_validation is None else _as_words(self.user_validation)

    @cached_property
    def text(self) -> tuple[DocumentArray, NDArray[np.float64]]:
        """All documents that words are learnt from, labelled ones first, and their weights."""
        documents, weights = self.labelled.documents.words(), self.labelled.weights
        if self.unlabelled is None:
            return documents, weights
        others = self.unlabelled.words()[:]
        # The tokenizer drops the spelling of unlabelled texts; word ids of the user may have one.
        others.spelling = None
        return (
            DocumentArray.concatenate([documents, others]),
            np.append(weights, np.full(len(self.unlabelled), weights.mean())),
        )

    def model(self, pool: Pool, history: list[dict[str, float]], **others: Any) -> FittedModel:
        """Create the fitted model for a pool; `others` are further fields of `FittedModel`."""
        return FittedModel(
            pool=pool,
            tokenizer=self.tokenizer,
            vocabulary_size=self.vocabulary_size,
            encoder=self.encoder,
            sentence_encoder=self.sentence_encoder,
            device=self.device,
            history=history,
            **others,
        )


def read_data(
    estimator: Any,
    data: FitInput,
    stages: Stages,
    warm_start_from: FittedModel | None,
    *,
    is_partial: bool,
) -> FitState:
    """Check the user's data, encode labels, convert texts to word ids, and hold out documents."""
    params = SimpleNamespace(**estimator._settings())
    device, rng = resolve_device(params.device), check_random_state(params.random_state)
    with stages("texts"):
        # Checks come before the texts are tokenized, which may take minutes.
        if is_partial:
            _check_portion(data, params, warm_start_from)
        tables = _read_tables(data, params)
        tables = tables._replace(X_unlabelled=_affordable(tables.X_unlabelled, stages))
        options = _check_parameters(params, warm_start_from)
        checked = _check_data(data, tables, params, warm_start_from)
        target = checked.target
        if warm_start_from is None:
            options = options.resolve_auto(target.attends_per_label)
        reader, vocabulary_size, documents, unlabelled = _tokenize(checked, params, warm_start_from)
        is_reader = isinstance(reader, SentenceReader)
        tokenizer = reader.tokenizer if is_reader else reader
        labelled, conflicting = _select_labelled(
            replace_unknown_ids(documents, vocabulary_size), checked
        )
        validation = _validation(checked, reader, vocabulary_size)
        training, held_out = np.arange(len(labelled)), None
        if validation is None and not is_partial and params.validation_fraction is not None:
            split = (
                target.strata(labelled.targets),
                params.validation_fraction,
                rng,
                labelled.groups,
            )
            training, held_out = hold_out(*split)
        descriptions = None if tables.encoder is None else tables.encoder.describe(tables.X)
        fit = FitState(
            params=params,
            network_options=options,
            warm_start_from=warm_start_from,
            is_partial=is_partial,
            device=device,
            rng=rng,
            stages=stages,
            tokenizer=tokenizer,
            sentence_encoder=reader.encoder if is_reader else None,
            vocabulary_size=vocabulary_size,
            documents=documents,
            target=target,
            labelled=labelled,
            training=training,
            held_out=held_out,
            user_validation=validation,
            unlabelled=unlabelled,
            column_encoder=tables.encoder,
            column_descriptions=descriptions,
            n_conflicting=len(conflicting),
        )
        if not is_partial:
            _warn_of_data(fit, checked, conflicting, row_names(data.X))
    tell(_data_line(fit), quiet=not stages.verbose)
    for name, description in (fit.column_descriptions or {}).items():
        tell(in_one_line(f"Column {name}: {description}"), quiet=not stages.verbose)
    return fit


def _read_tables(data: FitInput, params: Any) -> Tables:
    """Learn the encoding of columns from X, and read all tables; other documents pass through."""
    if params.text_column is None:
        if params.columns is not None:
            raise ValueError("columns needs text_column, the name of the column of the texts.")
        return Tables(None, ReadTable(data.X), ReadTable(data.X_val), data.X_unlabelled)
    names = params.text_column
    text_columns = (names,) if isinstance(names, str) else tuple(names)
    encoder = ColumnEncoder.from_table(data.X, data.y, text_columns, params.columns)
    X_val = ReadTable(None) if data.X_val is None else encoder.encode(data.X_val, "X_val")
    X_unlabelled = data.X_unlabelled
    if is_table(X_unlabelled):
        X_unlabelled = encoder.texts(X_unlabelled, "X_unlabelled")
    X = encoder.encode(data.X)
    kinds = params.columns if isinstance(params.columns, dict) else {}
    for (name, coding), values in zip(encoder.codings.items(), X.values, strict=True):
        is_guess = coding.kind == "category" and kinds.get(name) is None
        if is_guess and (doubt := doubt_about(values[values != ""].tolist())):
            warn_user(f"Column {name!r} is read as categories, and {doubt}.")
    return Tables(encoder, X, X_val, X_unlabelled)


def _affordable(X_unlabelled: Any, stages: Stages) -> Any:
    """Draw as many documents without labels as there is time for."""
    if X_unlabelled is None or stages.limit == math.inf:
        return X_unlabelled
    if not hasattr(X_unlabelled, "__len__"):
        raise ValueError(
            "With time_limit, documents are drawn from X_unlabelled, which is an iterator of "
            "unknown length. Give a list, or leave time_limit out."
        )
    n = len(X_unlabelled)
    drawn = np.random.RandomState(0).permutation(n)
    sample = take_rows(X_unlabelled, drawn[:_MEASURED])
    if holds_word_ids(sample):
        size = 6 * as_documents(sample, None).n_words
    else:
        size = sum(max(len(str(text)), _SHORTEST) for text in sample)
    n_read = int(_READ_PER_SECOND * stages.limit * min(n, _MEASURED) / max(size, 1))
    if n_read >= n:
        return X_unlabelled
    stages.cuts.append(f"{n - n_read:,} of {n:,} documents without labels")
    return take_rows(X_unlabelled, np.sort(drawn[:n_read])) if n_read else None


def _data_line(fit: FitState) -> str:
    """Return the line of progress about the data that were read."""
    documents = fit.labelled.documents
    kind = "class" if fit.target.has_one_label else "label"
    of = "" if fit.target.is_number else f" of {plural(fit.n_classes, kind)}"
    held_out = "" if fit.held_out is None else f"; {len(fit.held_out):,} are held out"
    return (
        f"Read {plural(len(documents))}{of}: "
        f"{plural(documents.n_words, 'word')} in {plural(documents.n_sentences, 'sentence')}"
        f"{held_out}"
    )


def _warn_of_data(
    fit: FitState, checked: CheckedData, conflicting: Integers, row: Callable[[int], str]
) -> None:
    """Warn of likely mistakes in the data.

    `conflicting` are rows of labelled documents that equal a document with another label, and `row`
    names a row of the user's data.
    """
    labelled, validation = fit.labelled, fit.user_validation
    holds_out = validation is None and fit.params.validation_fraction is not None
    has_validation = validation is not None
    fit.target.warn_of_rare(labelled.targets, has_validation=has_validation, holds_out=holds_out)
    warn_of_missing(checked.X)
    is_blank = labelled.documents.sentences_per_document == 0
    warn_of_no_words([*map(row, checked.rows[is_blank].tolist())], len(fit.documents))
    warn_of_conflicts(labelled.documents.words_per_document[conflicting], len(labelled))
    if validation is not None:
        _warn_of_learnt_from(validation.documents, labelled.documents)
    elif fit.held_out is None:
        groups = None if checked.groups is None else checked.groups[checked.rows]
        _warn_of_none_held_out(labelled, fit.target, fit.params, groups)


def _warn_of_none_held_out(
    labelled: LabelledDocuments, target: Target, params: Any, groups: Integers | None
) -> None:
    """Warn if groups prevent holding out documents, or if early stopping needs held-out ones."""
    fraction, patience = params.validation_fraction, params.n_iter_no_change
    why, repair = "validation_fraction is None", "Give X_val and y_val or more documents"
    if fraction is not None:
        n, share = len(labelled), f"validation_fraction={fraction:g}"
        why = (
            f"{plural(n)} of {plural(target.n_scores, 'class')} {agreeing(n, 'are')} too few to "
            f"hold out {share}"
        )
        split = target.strata(labelled.targets), fraction, np.random.RandomState(0)
        if groups is not None and hold_out(*split, None)[1] is not None:
            n_groups = len(np.unique(groups))
            in_groups = f"{plural(n)} in {plural(n_groups, 'group')}, which stay whole,"
            why = f"{in_groups} are too few for {share}"
            repair = "Give X_val and y_val, more groups or a larger validation_fraction"
            if patience is None and n_groups > 1:
                warn_user(
                    f"No document is held out: {why}. The weights of the last epoch are kept, and "
                    f"scales are typical values. {repair}."
                )
    if patience is not None:
        warn_of_early_stopping(patience, "documents", why, repair)


def _warn_of_learnt_from(validation: DocumentArray, training: DocumentArray) -> None:
    """Warn if many validation documents have the words of training documents."""
    hashes = TextHashes.from_documents(training.words(), np.zeros(16, dtype=np.uint8))
    n, n_shared = len(validation), int(hashes.contain(validation.words()).sum())
    if n_shared >= _MANY_SHARED and n_shared > _MOST_SHARED * n:
        warn_user(
            f"{n_shared:,} of {n:,} validation documents are training documents, too, so accuracy "
            "on them is too high, and scales are too large. Leave them out of one of both."
        )


def _as_words(labelled: LabelledDocuments) -> LabelledDocuments:
    return replace(labelled, documents=labelled.documents.words())


def _check_portion(data: FitInput, params: Any, fitted: FittedModel | None) -> None:
    """Check what `partial_fit` requires in addition to `fit`."""
    if params.text_column is not None:
        raise ValueError(
            "partial_fit does not learn from columns. Fit to all documents by fit, or to texts "
            "alone with text_column=None."
        )
    has_vectors = fitted is not None and fitted.part(VECTORS) is not None
    if params.encoder is not None or isinstance(data.X, SentenceArray) or has_vectors:
        raise ValueError(
            "partial_fit does not learn from sentence vectors, whose weights need all documents at "
            "once. Fit to all documents by fit, or leave the encoder out."
        )
    if params.priors is not None:
        raise ValueError("partial_fit sees a portion, and priors need the mix of all documents.")
    if params.class_weight == "balanced":
        raise ValueError(
            "class_weight='balanced' needs to see all labels, and partial_fit sees a portion. Give "
            "a dict, such as from sklearn.utils.class_weight.compute_class_weight."
        )
    if fitted is None:
        if data.classes is None and not params.n_bins:
            raise ValueError("classes must be passed on the first call to partial_fit.")
        return
    target = fitted.pool.target
    if data.classes is not None:
        names = target.read_classes(data.classes)
        if not np.array_equal(names, target.names):
            raise ValueError(
                f"classes={names.tolist()} is not the same as on the first call to "
                f"partial_fit, {target.names.tolist()}."
            )
    if data.X_unlabelled is not None:
        raise ValueError(
            "X_unlabelled is for the first call to partial_fit, which learns the vocabulary from "
            "it. Fit again with all text without labels, or leave it out."
        )


def _check_parameters(params: Any, warm_start_from: FittedModel | None) -> NetworkOptions:
    """Check parameters, also against the fit that is continued; return the network's options."""
    names = NetworkOptions.constraints().keys() & vars(params).keys()
    options = NetworkOptions(**{name: getattr(params, name) for name in names}).copy()
    options.check()
    check_ngram_range(params.linear_ngrams)
    if params.linear_chars != "auto":
        check_ngram_range(params.linear_chars, "linear_chars", "characters", "(2, 5)")
    check_embedding_init(params.embedding_init)
    check_net_params(params.net_params or {})
    check_optimizer(params.optimizer)
    if warm_start_from is not None:
        options = options.resolve_auto(warm_start_from.pool.target.attends_per_label)
        options.check_same_structure(warm_start_from.pool.network.options)
    return options


def _check_data(
    data: FitInput, tables: Tables, params: Any, warm_start_from: FittedModel | None
) -> CheckedData:
    """Check the user's data, encode labels, and compute the weights of documents."""
    X = check_documents(tables.X.texts)
    if warm_start_from is None:
        warn_of_features(X)
    elif isinstance(X, SentenceArray) and warm_start_from.part(VECTORS) is None:
        # No part of the fit that is continued reads sentence vectors.
        X = X.words()
    if params.encoder is not None:
        _check_encoder(X, params.encoder, warm_start_from)
    check_unlabelled(tables.X_unlabelled, X)
    if warm_start_from is None:
        labels, kind = (data.y, len(X), data.classes), Number if params.n_bins else None
        target, targets = fit_target(*labels, kind=kind, ordered=params.ordered)
    else:
        target = warm_start_from.pool.target
        if isinstance(target, Number) and params.scale != target.scale:
            raise ValueError(
                f"scale={params.scale!r} was set after the first fit, whose knots are on a "
                f"{target.scale} scale. Fit anew with warm_start=False."
            )
        check_same_kind(data.y, target, ordered=params.ordered)
        targets = target.encode(data.y, len(X))
    for name in ("y", "sample_weight", "groups"):
        warn_of_order(data.X, getattr(data, name), name)
    target.check_threshold(params.threshold)
    if params.priors is not None:
        check_priors(params.priors, target)
    target, weights = target.weigh(targets, data.sample_weight, params.class_weight)
    if isinstance(target, Number) and warm_start_from is None:
        target = target.with_knots(targets, weights, params.n_bins, params.scale)
    has_ids = (
        warm_start_from is not None or getattr(params.tokenizer, "vocabulary", None) is not None
    )
    X_val, validation = check_validation(tables.X_val.texts, data.y_val, X, has_ids), None
    if X_val is not None:
        targets_val = target.encode(data.y_val, len(X_val), "y_val")
        warn_of_order(data.X_val, data.y_val, "y_val", "X_val")
        weights_val = target.weights_of_others(targets_val, targets, params.class_weight)
        validation = X_val, targets_val, weights_val
    groups = None if data.groups is None else check_groups(data.groups, len(X))
    holds_out = X_val is None and params.validation_fraction is not None
    if groups is not None and holds_out and len(np.unique(groups[weights > 0])) == 1:
        warn_user(
            "All documents are of one group, so none can be held out: the weights of the last "
            "epoch are kept, and scales are typical values."
        )
    # Only ratios of weights matter, and sums of scaled ones are finite.
    weights = weights / weights.max()
    return CheckedData(target, tables, X, targets, weights, groups, validation)


def _tokenize(
    checked: CheckedData, params: Any, warm_start_from: FittedModel | None
) -> tuple[Any, int, DocumentArray, DocumentArray | None]:
    """Return the reader of texts, the vocabulary size, and labelled and unlabelled documents.

    The reader is a tokenizer, a `SentenceReader` or None. A new tokenizer, and an encoder that must
    be fitted, see only the rows of positive weight. Texts without labels get no sentence vectors.
    """
    X, X_unlabelled, rows = checked.X, checked.tables.X_unlabelled, checked.rows
    columns = checked.tables.X.rows
    tokenizer = reader = unlabelled = None
    if warm_start_from is not None or holds_word_ids(X):
        if warm_start_from is not None:
            tokenizer, reader = warm_start_from.tokenizer, warm_start_from.reader
        # Texts without a tokenizer raise an error here.
        documents = as_documents(X, reader, columns)
        if warm_start_from is not None:
            documents = warm_start_from.prepare(documents)
        if X_unlabelled is not None and holds_word_ids(X):
            unlabelled = as_documents(X_unlabelled, None)
        elif X_unlabelled is not None:
            assert tokenizer is not None
            unlabelled = tokenizer.transform_ragged(X_unlabelled, "X_unlabelled")
    else:
        unfitted = params.tokenizer
        tokenizer = HierarchicalTokenizer() if unfitted is None else clone(unfitted)
        counting = X if len(rows) == len(X) else take_rows(X, rows)
        documents, unlabelled = tokenizer.fit_transform_both(counting, X_unlabelled=X_unlabelled)
        reader = tokenizer
        if params.encoder is not None:
            reader = SentenceReader(tokenizer, _fit_encoder(params, tokenizer, counting))
        if reader is not tokenizer or counting is not X:
            documents = as_documents(X, reader)
        documents.columns = columns
    if warm_start_from is not None:
        size = warm_start_from.vocabulary_size
    else:
        size = count_word_ids(documents[rows], unlabelled, tokenizer, params.embedding_init)
    if unlabelled is not None:
        unlabelled = replace_unknown_ids(unlabelled, size)
    return reader, size, documents, unlabelled


def _check_encoder(X: Any, encoder: Any, warm_start_from: FittedModel | None) -> None:
    """Check an encoder by itself, against X, and against the fit that is continued."""
    SentenceEncoder.check(encoder)
    if holds_word_ids(X):
        raise ValueError(
            f"encoder= reads raw texts, and X is {a_kind(X)}. Give texts, or leave encoder= out "
            "and put a SentenceEmbedder with the encoder before the classifier."
        )
    if warm_start_from is not None and warm_start_from.encoder is None:
        raise ValueError(
            "encoder= was set after the first fit, and a warm start adds no part. Fit again with "
            "warm_start=False."
        )


def _fit_encoder(params: Any, tokenizer: HierarchicalTokenizer, X: Any) -> SentenceEncoder:
    """Create the encoder of a new fit; a transformer is fitted to the distinct sentences."""

    def sentences() -> list[str]:
        texts = check_texts(X)
        return list(dict.fromkeys(sentence_texts(texts, tokenizer.spans(texts))))

    quiet = not params.verbose
    return SentenceEncoder.from_parameter(
        params.encoder, params.encoder_memory, quiet=quiet, learn_from=sentences
    )


def _select_labelled(
    documents: DocumentArray, checked: CheckedData
) -> tuple[LabelledDocuments, Integers]:
    """Return the documents of positive weight, and the rows of those with conflicting labels.

    Conflicting documents have the same words and other labels, unless columns may tell them apart.
    Without groups of the user, copies of a document form a group, so that they are held out
    together.
    """
    labels = checked.targets, checked.weights, checked.groups
    labelled = LabelledDocuments(documents, *labels)[checked.rows]
    codes = checked.target.codes(labelled.targets)
    if checked.target.is_number:
        codes = np.unique(labelled.targets, return_inverse=True)[1]
    first_of_same = first_of_same_words(labelled.documents.words())
    if labelled.groups is None:
        labelled = replace(labelled, groups=copy_groups(first_of_same, codes))
    conflicting = conflicting_rows(first_of_same, codes)
    may_differ = documents.columns is not None or checked.target.is_number
    return labelled, conflicting[:0] if may_differ else conflicting


def _validation(
    checked: CheckedData, reader: Any, vocabulary_size: int
) -> LabelledDocuments | None:
    """Convert the user's validation documents, if any, without those of weight 0."""
    if checked.validation is None:
        return None
    X_val, targets, weights = checked.validation
    if reader is None:
        check_word_ids(X_val, "X_val", "X_val=True, y_val=True")
    columns = checked.tables.X_val.rows
    documents = replace_unknown_ids(as_documents(X_val, reader, columns), vocabulary_size)
    if isinstance(reader, SentenceReader):
        identity = reader.encoder.identity
        check_sentence_vectors(documents, identity.probes.shape[1], identity, "X_val")
    rows = np.flatnonzero(weights > 0)
    if not len(rows):
        raise ValueError(
            "class_weight is 0 for the classes of all documents in X_val; give others, or leave "
            "X_val and y_val out."
        )
    return LabelledDocuments(documents, targets, weights / weights.max())[rows]
