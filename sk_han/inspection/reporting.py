"""Evaluate a fitted model on held-out documents: `report`."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from itertools import compress
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold
from sklearn.pipeline import Pipeline, make_pipeline

from sk_han.documents.repeated import first_of_same_text, groups_of_copies, groups_of_same, text_key
from sk_han.inspection.auditing import may_be_chance, suspected_labels
from sk_han.inspection.estimators import (
    ReadDocuments,
    n_documents_of,
    opened,
    own_results,
    probability_array,
    read,
    reader_of,
    refuse_label_lists,
    seen_in_training,
    words_of,
)
from sk_han.inspection.explaining import explain
from sk_han.inspection.explanations import ExplainedModel, listed_documents
from sk_han.inspection.results.collection import ExplanationList
from sk_han.inspection.results.label_audit import ENOUGH_RIGHT
from sk_han.inspection.results.report import Report
from sk_han.rendering.blocks import percent
from sk_han.targets import AnyOfLabels
from sk_han.targets.any_of_labels import best_thresholds
from sk_han.targets.splits import deal_out
from sk_han.utils.containers import document_ids, document_name, listed, rows_of
from sk_han.utils.messages import agreeing, check_choice, check_count, counted, taking_many_classes
from sk_han.utils.metrics import effective_groups, padded
from sk_han.validation.documents import check_texts
from sk_han.validation.labels import (
    check_indicator,
    check_labels,
    check_several_groups,
    class_numbers,
    is_indicator,
    refuse_collections,
    said_of_unknown,
    warn_of_order,
    with_unknown,
)

FOLDS = 5
WORD = r"\w+"
FEWEST_DOCUMENTS = 20
TRIED, FEWEST_TRIED = 2_000, 100  # documents to choose between words and characters
LEAST_GAIN = 0.02  # in accuracy, for characters, which take ten times as long
LEFT_OUT_FROM = 1000  # training documents: with more, words of a single document are left out
_FEW = 30  # documents or groups
_FEW_COPIES = 0.8  # share of distinct documents: below, intervals are up to 12 % too narrow


def note_on_units(
    groups: NDArray[np.int64] | None, same: Sequence[Sequence[int]], n_documents: int
) -> Iterator[str]:
    """Yield notes on what the intervals are over; `same` are rows of copies."""
    n, units = float(n_documents), "documents"
    if groups is not None:
        n, units = int(groups.max()) + 1, "groups"
        yield (
            f"Intervals are over {n:,} groups, since documents of one group are alike. It is not "
            "known whether the model was fitted to these groups."
        )
    else:
        first = np.arange(n_documents)
        for rows in same:
            first[rows] = rows[0]
        n = effective_groups(first)
        if n < _FEW_COPIES * n_documents:
            yield (
                "Many documents have the same words as another one. They are worth about "
                f"{round(n):,} different documents, so the intervals, which count each document, "
                "are too narrow. To correct them, pass groups, with a number for each text."
            )
    if n < _FEW:
        yield f"With so few {units}, scores are uncertain: see the intervals."


def note_on_suspects(is_right: NDArray[np.bool_], targets: NDArray[np.int64]) -> Iterator[str]:
    """Yield a note if the documents that look mislabelled cannot be trusted."""
    share = float(is_right.mean())
    if may_be_chance(is_right, targets):
        yield (
            "The model may be no better than always predicting the most frequent label, so it "
            "cannot find wrong labels: ignore those listed."
        )
    elif share < ENOUGH_RIGHT:
        yield (
            f"The model is right on only {percent(share)} of the documents, so many of the labels "
            "listed as possibly wrong may be right."
        )


def note_on_missing(counts: NDArray[np.int64], labels: list[Any]) -> Iterator[str]:
    """Yield a note that names the labels without documents."""
    missing = np.flatnonzero(counts == 0).tolist()
    if missing:
        label, it_is = ("the label", "it is") if len(missing) == 1 else ("the labels", "they are")
        yield (
            f"No document has {label} {listed([labels[i] for i in missing])}, so the report cannot "
            f"show how well {it_is} recognized."
        )


def documents_have(n: int) -> str:
    """Return the beginning of a sentence: "1 document has", "2 documents have"."""
    return f"{counted(n)} {agreeing(n, 'have')}"


def report(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    X_train: Any = None,
    y_train: Any = None,
    baseline: str | None = "tfidf",
    n_mistakes: int = 10,
    groups: Any = None,
    ids: Any = None,
) -> Report:
    """Evaluate a fitted model on held-out documents.

    Parameters
    ----------
    estimator : classifier
        Fitted, with `classes_` and ``predict_proba``. Mistakes are explained if `explain` takes
        it: a `HANClassifier`, a Pipeline that ends in one, or a search or a calibration of these.
    X : n_documents raw texts, DocumentArray, or ndarray of int
        Held-out documents, as for ``predict``.
    y : array-like of shape (n_documents,), or indicator of shape (n_documents, n_labels)
        True labels. A label that the model does not know counts as a mistake. For a model of
        several labels per document an indicator, as for `HANClassifier.fit`.
    X_train, y_train : as X and y, default=None
        Training data of the model. The baseline is fitted to the same documents, and held-out
        documents that occur among them are found. Without them, the baseline is cross-validated
        within X.
    baseline : {"tfidf", None}, default="tfidf"
        What to compare the model with: TF-IDF of words and pairs of words with logistic
        regression (with several labels per document, one for each label), or nothing. With one
        label per document, character n-grams replace words if they are better in a trial on up to
        2,000 documents.
    n_mistakes : int, default=10
        Number of mistakes to explain, the most confident first.
    groups : array-like of shape (n_documents,), default=None
        Numbers or names of groups of similar documents, such as those by one author. Intervals are
        then over groups, and a cross-validated baseline is not fitted to documents of the group
        that it predicts.
    ids : sequence of length n_documents, default=None
        Ids by which the page and tables name documents, in place of their rows; by default an index
        of pandas that is not 0, 1, 2, ...

    Returns
    -------
    Report
        ``to_html(path)`` writes the page.

    Raises
    ------
    TypeError
        If the estimator does not predict probabilities, or labels are not strings, numbers or
        booleans.
    ValueError
        If X, y and groups differ in length, a group is missing, all documents belong to one group,
        none of the labels is a class of the model, or another parameter is invalid.
    sklearn.exceptions.NotFittedError
        If the estimator is not fitted.

    See Also
    --------
    explain : Explain documents one by one.
    audit_labels : Find wrong labels in training data.

    Notes
    -----
    Apart from predicting X, a report tokenizes it once more (for each model of a calibration),
    explains mistakes and fits the baseline: once to `X_train` (six times if the model has
    thresholds for several labels), or five times to four fifths of X. A document looks mislabelled
    if its prediction is wrong and `audit_labels` estimates that its label is more likely wrong than
    right.

    Examples
    --------
    >>> from sk_han import HANClassifier, report
    >>> from sk_han.datasets import make_reviews
    >>> texts, labels = make_reviews(120, random_state=0)
    >>> classifier = HANClassifier(embedding_dim=8, word_hidden=4, max_epochs=1, random_state=0)
    >>> classifier = classifier.fit(texts[:80], labels[:80])
    >>> found = report(classifier, texts[80:], labels[80:], baseline=None)
    >>> found.n_documents, found.confusion.shape
    (40, (2, 2))
    """
    check_count("n_mistakes", n_mistakes)
    if baseline is not None:
        check_choice("baseline", baseline, ("tfidf",))
    if (X_train is None) != (y_train is None):
        raise ValueError("Pass X_train and y_train together, or neither.")
    classes = classes_of(estimator)
    model, predicts_alone = reader_of(estimator)
    warn_of_order(X, y, "y")
    warn_of_order(X, groups, "groups")
    warn_of_order(X_train, y_train, "y_train", "X_train")
    X, X_train = with_length(X), None if X_train is None else with_length(X_train)
    n, ids = n_documents_of(X), document_ids(X, ids)
    if groups is not None:
        groups = check_several_groups(groups, n, "intervals need several")
    t_train = None
    if takes_indicator(y, model):
        classes = names_of_columns(y, X, classes, model)
        t, unknown = label_indicator(y, X, classes, "y")
        if X_train is not None:
            t_train, _ = label_indicator(y_train, X_train, classes, "y_train")
            t_train = padded(t_train[:, : len(classes)], t.shape[1])
        target: Any = model.fitted.target if model and predicts_alone else None
        evaluation = _evaluate_labels(estimator, X, t, classes, unknown, target, n_mistakes)
    else:
        y = check_labels(y, n)
        if X_train is not None:
            y_train = check_labels(y_train, n_documents_of(X_train), "y_train")
        labels = all_labels(classes, y, y_train)
        t = class_numbers(y, labels)
        t_train = None if y_train is None else class_numbers(y_train, labels)
        evaluation = _evaluate_classes(estimator, predicts_alone, X, t, classes, labels, n_mistakes)

    held_out = read(model, X)
    words_train = None if X_train is None else words_of(model, X_train, "X_train")
    compared: dict[str, Any] = {
        "baseline": None,
        "baseline_note": "There is no baseline.",
    }
    if baseline is not None:
        compared = _baseline(held_out.words, t, words_train, t_train, evaluation.fields, groups)
    explanations, unexplained = _explained(estimator, predicts_alone, held_out, X, evaluation)
    seen = held_out.learnt_from
    if model and not predicts_alone:
        seen = seen_in_training(estimator, X)
    keys = [] if held_out.words is None else list(map(text_key, held_out.words))
    same = groups_of_same(keys)
    n_not_compared = 0 if seen is None or words_train is not None else held_out.n_not_compared
    notes = list(note_on_units(groups, same, n))
    if names := [document_name(row, ids) for row, key in enumerate(keys) if not key]:
        notes.append(f"{documents_have(len(names))} no words: {listed(names, 10, str)}.")
    if n_not_compared:
        notes.append(
            f"{documents_have(n_not_compared)} too few known words to be compared with the "
            "training documents."
        )
    return Report(
        **evaluation.fields,
        **compared,
        estimator=type(_last(estimator)).__name__,
        targets=t,
        n_words=held_out.n_words,
        texts=held_out.texts,
        mistakes=explanations,
        mistake_rows=evaluation.worst,
        duplicates=tuple(map(tuple, same)),
        trained_on=_in_training(keys, words_train, seen),
        notes=(*evaluation.notes, *notes, *unexplained),
        groups=groups,
        ids=ids,
    )


class _Evaluation(NamedTuple):
    """Predictions of a model, and its most confident mistakes."""

    fields: dict[str, Any]  # of the report
    worst: NDArray[np.int64]  # documents of the most confident mistakes
    explained: NDArray[Any]  # the label to explain for each of them
    notes: list[str]


def _evaluate_classes(
    estimator: Any,
    predicts_alone: bool,
    X: Any,
    targets: Any,
    classes: NDArray[Any],
    labels: list[Any],
    n_mistakes: int,
) -> _Evaluation:
    """Evaluate a model of one class per document; targets are positions in `labels`, (D,)."""
    probabilities, predicted = predictions(estimator, predicts_alone, X, labels)
    decided = predicted if (predicted != probabilities.argmax(axis=1)).any() else None
    wrong = predicted != targets
    known = np.flatnonzero(targets < len(classes))
    suspects = known[suspected_labels(probabilities[known], targets[known])]
    suspects = suspects[wrong[suspects]]
    worst = known[wrong[known]]
    order = np.argsort(-probabilities[worst, predicted[worst]], kind="stable")
    worst = worst[order[:n_mistakes]]
    counts = np.bincount(targets, minlength=len(labels))
    fields = {
        "labels": tuple(labels),
        "probabilities": probabilities,
        "predicted": decided,
        "suspects": suspects,
    }
    notes = list(note_on_suspects(~wrong[known], targets[known])) if len(suspects) else []
    if decided is not None:
        n = int((decided != probabilities.argmax(axis=1)).sum())
        notes.append(
            f"For {n:,} of {counted(len(decided))} the predicted class is not the most probable "
            "one, for example because of a tuned threshold. Accuracy, calibration, the confusion "
            "matrix and mistakes refer to the predicted class."
        )
    unknown = [i for i in np.flatnonzero(counts).tolist() if i >= len(classes)]
    if unknown:
        notes.append(
            said_of_unknown(int(counts[unknown].sum()), [labels[i] for i in unknown])
            + " The log loss leaves them out."
        )
    notes += note_on_missing(counts[: len(classes)], labels)
    return _Evaluation(fields, worst, classes[predicted[worst]], notes)


def predictions(
    estimator: Any, predicts_alone: bool, X: Any, labels: list[Any]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return probabilities (D, K), and the positions in `labels` of the predicted classes (D,)."""
    probabilities = probability_array(estimator, X)
    if predicts_alone:
        return probabilities, probabilities.argmax(axis=1)
    # A threshold may decide, as that of TunedThresholdClassifierCV.
    return probabilities, class_numbers(np.asarray(estimator.predict(X)), labels)


def _evaluate_labels(
    estimator: Any,
    X: Any,
    t: Any,
    labels: NDArray[Any],
    unknown: list[Any],
    target: AnyOfLabels | None,
    n_mistakes: int,
) -> _Evaluation:
    """Find mistakes of a model of several labels a document; t is (D, L + U)."""
    everything, t = t, t[:, : len(labels)]
    probabilities = probability_array(estimator, X)
    predicted = estimator.predict(X)
    predicted = np.asarray(predicted.toarray() if hasattr(predicted, "toarray") else predicted)
    if probabilities.shape != t.shape or predicted.shape != t.shape:
        raise ValueError(
            f"y is an indicator of shape {t.shape}, but the model predicts labels of shape "
            f"{predicted.shape} and probabilities of shape {probabilities.shape}; all of them need "
            "one column per label."
        )
    predicted = predicted.astype(bool)
    errors = np.where(predicted != t, np.abs(probabilities - t), -1.0)  # (D, L)
    most_wrong = errors.argmax(axis=1)
    wrong = np.flatnonzero((predicted != t).any(axis=1))
    worst = wrong[np.argsort(-errors.max(axis=1)[wrong], kind="stable")[:n_mistakes]]
    n_without = int((~everything.any(axis=1)).sum())
    suspects = _suspects(probabilities, t, predicted)
    weak = [
        labels.tolist()[label]
        for label in np.unique(suspects[:, 1]).tolist()
        if may_be_chance(predicted[:, label] == t[:, label], t[:, label])
    ]
    fields = {
        "labels": (*labels.tolist(), *unknown),
        "predicted": padded(predicted, everything.shape[1]),
        "probabilities": probabilities,
        "mistake_labels": most_wrong[worst],
        "suspects": suspects,
        "thresholds": None if target is None else target.thresholds,
    }
    notes = [f"{documents_have(n_without)} no label."] if n_without else []
    if n_with := int(everything[:, len(labels) :].any(axis=1).sum()):
        notes.append(f"{said_of_unknown(n_with, unknown)} The log loss leaves them out.")
    if target is not None and (advice := target.note_on_recall(predicted, t)):
        notes.append(advice)
    if weak:
        notes.append(
            "For these labels the model may be no better than always giving the more frequent "
            f"answer, so it cannot find where they are wrong or missing: {listed(weak)}."
        )
    notes += note_on_missing(t.sum(axis=0), labels.tolist())
    return _Evaluation(fields, worst, labels[most_wrong[worst]], notes)


def takes_indicator(y: Any, model: ExplainedModel | None) -> bool:
    """Return whether y is an indicator, and check that the model predicts the same kind."""
    refuse_collections(y, "y")
    is_several = is_indicator(y)
    if model is None or isinstance(model.fitted.target, AnyOfLabels) == is_several:
        return is_several
    if is_several:
        raise ValueError(
            "y is an indicator of several labels per document, but this model predicts one class. "
            "Pass one label per document."
        )
    raise ValueError(
        "This model predicts several labels per document, so y must be an indicator of shape "
        f"(n_documents, {len(model.fitted.target.names)}): 1 if the document has the label of the "
        "column, else 0."
    )


def names_of_columns(
    y: Any, X: Any, classes: NDArray[Any], model: ExplainedModel | None
) -> NDArray[Any]:
    """Return the names of labels, from y if another classifier only numbers them."""
    columns = None if model else check_indicator(y, n_documents_of(X), "y")[1]
    are_numbers = columns is not None and np.array_equal(classes, np.arange(len(columns)))
    return columns if columns is not None and are_numbers else classes


def label_indicator(
    y: Any, X: Any, classes: NDArray[Any], name: str
) -> tuple[NDArray[Any], list[Any]]:
    """Check an indicator, and put its columns in the order of the labels, unknown ones last."""
    return with_unknown(*check_indicator(y, n_documents_of(X), name), classes, name)


def _suspects(
    probabilities: NDArray[np.float64], t: NDArray[np.bool_], predicted: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Return documents and labels (S, 2) that look wrong, each label on its own."""
    pairs = []
    for label, (p, has) in enumerate(zip(probabilities.T, t.T, strict=True)):
        rows = suspected_labels(np.column_stack([1 - p, p]), has.astype(np.int64))
        rows = rows[predicted[rows, label] != has[rows]]
        pairs.append(np.column_stack([rows, np.full(len(rows), label)]))
    suspects = np.concatenate(pairs)
    errors = np.abs(probabilities - t)[suspects[:, 0], suspects[:, 1]]
    return suspects[np.argsort(-errors, kind="stable")]


def classes_of(estimator: Any, by: str = "report") -> NDArray[Any]:
    """Return the classes of a fitted classifier; `by` is the function that errors name."""
    opened(estimator)  # raises the errors of what is not fitted
    model = _last(getattr(estimator, "best_estimator_", estimator))
    repair = own_results(model)
    if getattr(model, "voting", None) == "hard":
        repair = (
            " A hard vote has no probabilities: call set_params(voting='soft') on the fitted "
            f"{type(model).__name__}; no new fit is needed."
        )
    if repair or not hasattr(estimator, "predict_proba") or not hasattr(estimator, "classes_"):
        raise TypeError(
            f"{by} needs a fitted classifier of documents with classes_ and predict_proba; got "
            f"{type(estimator).__name__}.{repair}"
        )
    refuse_label_lists(estimator)
    return np.asarray(estimator.classes_)


def _last(estimator: Any) -> Any:
    return _last(estimator.steps[-1][1]) if isinstance(estimator, Pipeline) else estimator


def with_length(X: Any) -> Any:
    """Return at least one document, in a form that can be read twice."""
    X = listed_documents(X)
    return X if n_documents_of(X) else check_texts(())


def all_labels(classes: NDArray[Any], y: NDArray[Any], y_train: NDArray[Any] | None) -> list[Any]:
    """Return the classes of the model, then the other labels of the user's data."""
    labels = classes.tolist()
    others = y[class_numbers(y, labels) < 0]
    if len(others) == len(y):
        raise ValueError(
            "None of the labels is a class of the model. They are "
            f"{listed(np.unique(y).tolist())}; the classes are {listed(labels)}. Do they have "
            "another type, or belong to another task?"
        )
    if y_train is not None:
        others = np.concatenate([others, y_train[class_numbers(y_train, labels) < 0]])
    return [*labels, *dict.fromkeys(np.unique(others).tolist())]


def _baseline(
    words: tuple[str, ...] | None,
    t: Any,
    words_train: Sequence[str] | None,
    t_train: Any,
    fields_of_model: dict[str, Any],
    groups: NDArray[np.int64] | None,
) -> dict[str, Any]:
    """Return the report's fields on the baseline: probabilities, if it can be fitted, and a note.

    `fields_of_model` are the fields on the model.
    """
    none = "There is no baseline"
    if words is None:
        return {"baseline": None, "baseline_note": f"{none}: the documents are not texts."}
    n_labels, thresholds = len(fields_of_model["labels"]), fields_of_model.get("thresholds")
    left_out = ""
    if words_train is not None:
        scored = {*map(text_key, words)} - {""}
        kept = np.array([text_key(text) not in scored for text in words_train])
        if not kept.all():
            n_scored = int(np.count_nonzero(~kept))
            left_out = f", without the {n_scored:,} that {agreeing(n_scored, 'are')} scored here"
            words_train, t_train = list(compress(words_train, kept)), t_train[kept]
    try:
        if words_train is None:
            p = cross_validated(words, t, n_labels, groups)
            note = (
                "No training documents were given, so the baseline was cross-validated on the "
                f"held-out documents (up to {FOLDS} folds). If the model was fitted to far more "
                "documents, the comparison is unfair to the baseline."
            )
        else:
            p = baseline_probabilities(words, words_train, t_train, n_labels)
            n_train = counted(len(words_train), "training document")
            note = f"The baseline learnt from the {n_train} given{left_out}."
    except ValueError as error:
        return {"baseline": None, "baseline_note": f"{none}: {str(error).rstrip('.')}."}
    fields: dict[str, Any] = {"baseline": p}
    if thresholds is not None and (thresholds != 0.5).any():
        try:
            fields["baseline_predicted"] = labels_by_f1(p, t, groups, words_train, t_train)
            note += (
                " Like the model, it has a threshold for each label: that of the highest F1, found "
                "by cross-validation."
            )
        except ValueError:  # they cannot be cross-validated
            note += (
                " Its threshold is 0.5 for all labels: there are too few documents to tune "
                "thresholds like those of the model."
            )
    return fields | {"baseline_note": note}


def _explained(
    estimator: Any, predicts_alone: bool, held_out: ReadDocuments, X: Any, evaluation: _Evaluation
) -> tuple[ExplanationList, list[str]]:
    """Explain the most confident mistakes; if that is not possible, return a note on why."""
    if not len(evaluation.worst):
        return ExplanationList(), []
    if held_out.texts is None and held_out.words is not None:
        return ExplanationList(), [
            "Mistakes are shown without text and explanation: the documents are word ids, and the "
            "model has no tokenizer with their words."
        ]
    try:
        return explain(estimator, rows_of(X, evaluation.worst), target=evaluation.explained), []
    except (TypeError, ValueError) as error:
        if predicts_alone:
            raise
        return ExplanationList(), [f"Mistakes are not explained. {error}"]


def _in_training(
    keys: list[str], words_train: Sequence[str] | None, learnt_from: NDArray[np.int64] | None
) -> NDArray[np.int64] | None:
    """Return the documents with the same words as a training document, by texts or hashes.

    The given texts may be only a part of what the model was fitted to.
    """
    if words_train is None:
        return learnt_from
    training = set(map(text_key, words_train)) - {""}
    given = np.array([i for i, key in enumerate(keys) if key in training], dtype=np.int64)
    return given if learnt_from is None else np.union1d(given, learnt_from)


def tfidf(n_documents: int, analyzer: str = "word") -> Pipeline:
    """Return an unfitted baseline: TF-IDF of word or character n-grams and logistic regression."""
    vectorizer = TfidfVectorizer(
        analyzer=analyzer,
        token_pattern=WORD if analyzer == "word" else None,
        ngram_range=(1, 2) if analyzer == "word" else (2, 5),
        sublinear_tf=True,
        min_df=2 if n_documents >= LEFT_OUT_FROM else 1,
    )
    return make_pipeline(vectorizer, LogisticRegression(C=10, max_iter=1000))


def baseline_probabilities(
    texts: Sequence[str], texts_train: Sequence[str], t_train: NDArray[Any], n_labels: int
) -> NDArray[np.float64]:
    """Fit a baseline to training texts and return probabilities of texts, (D, n_labels).

    Targets are positions of labels (N,) or, with several labels per document, an indicator
    (N, n_labels).
    """
    if not any(map(re.compile(WORD).search, texts_train)):
        raise ValueError("it needs training documents with words")
    if t_train.ndim == 2:
        return _label_by_label(texts, texts_train, t_train)
    if len(np.unique(t_train)) < 2:
        raise ValueError("it needs training documents of two labels")
    with taking_many_classes():
        model = _better_baseline(texts_train, t_train).fit(texts_train, t_train)
    probabilities = np.zeros((len(texts), n_labels))
    probabilities[:, model.classes_] = model.predict_proba(texts)
    return probabilities


def cross_validated(
    texts: Sequence[str], t: NDArray[Any], n_labels: int, groups: NDArray[np.int64] | None = None
) -> NDArray[np.float64]:
    """Return cross-validated probabilities; groups, or by default copies, stay in one fold."""
    text_of = np.arange(len(texts))
    if groups is None:
        any_label = np.zeros_like(text_of)  # groups of copies are in no order by label
        copies = groups_of_copies(first_of_same_text(texts), any_label)
        text_of = text_of if copies is None else copies
    # Split the first of each group of copies alone: splitting so many groups takes minutes.
    _, first, text_of = np.unique(text_of, return_index=True, return_inverse=True)
    probabilities = np.zeros((len(texts), n_labels))
    for numbers in _baseline_folds(t[first], groups):
        is_left_out = np.isin(text_of, numbers)
        these, others = (list(compress(texts, each)) for each in (is_left_out, ~is_left_out))
        probabilities[is_left_out] = baseline_probabilities(
            these, others, t[~is_left_out], n_labels
        )
    return probabilities


def labels_by_f1(
    p: NDArray[np.float64],
    t: NDArray[np.bool_],
    groups: NDArray[np.int64] | None,
    texts_train: Sequence[str] | None,
    t_train: NDArray[np.bool_] | None,
) -> NDArray[np.bool_]:
    """Predict labels (D, L) from the baseline's probabilities by thresholds of the highest F1.

    Thresholds are tuned on cross-validated training documents if there are any, otherwise for each
    fold on the other folds.
    """
    if texts_train is not None and t_train is not None:
        of_train = cross_validated(texts_train, t_train, p.shape[1])
        known = t_train, np.ones(len(t_train))
        return p >= best_thresholds(of_train, *known, *known)
    given = np.zeros(p.shape, dtype=bool)
    for these in _baseline_folds(t, groups):
        others = np.setdiff1d(np.arange(len(t)), these)
        known = t[others], np.ones(len(others))
        given[these] = p[these] >= best_thresholds(p[others], *known, *known)
    return given


def _baseline_folds(t: NDArray[Any], groups: NDArray[np.int64] | None) -> list[NDArray[np.int64]]:
    n = len(t)
    too_few = ValueError(f"{counted(n)} {agreeing(n, 'are')} too few to cross-validate it")
    if n < FEWEST_DOCUMENTS:
        raise too_few
    if t.ndim == 2:
        fold = deal_out(t, np.full(FOLDS, 1 / FOLDS), np.arange(n), groups)
        return [np.flatnonzero(fold == number) for number in np.unique(fold)]
    n_folds = min(FOLDS, int(np.bincount(t).max()), n if groups is None else len(np.unique(groups)))
    if n_folds < 2:
        raise too_few
    kind = StratifiedKFold if groups is None else StratifiedGroupKFold
    folds = kind(n_folds, shuffle=True, random_state=0)
    with warnings.catch_warnings(), taking_many_classes():
        # A class with fewer documents than folds is missing in some; that counts as a mistake.
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        return [these for _, these in folds.split(np.zeros(n), t, groups)]


def _better_baseline(texts: Sequence[str], targets: NDArray[np.int64]) -> Pipeline:
    """Return the better baseline, of words or of characters, in a trial on up to 2,000 texts."""
    n = len(texts)
    rows = np.random.RandomState(0).permutation(n)[:TRIED].tolist()
    held_out, rest = rows[: len(rows) // 5], rows[len(rows) // 5 :]
    if n < FEWEST_TRIED or len(np.unique(targets[rest])) < 2:
        return tfidf(n)
    of_words, of_characters = (
        tfidf(len(rest), analyzer)
        .fit([texts[i] for i in rest], targets[rest])
        .score([texts[i] for i in held_out], targets[held_out])
        for analyzer in ("word", "char_wb")
    )
    return tfidf(n, "char_wb" if of_characters > of_words + LEAST_GAIN else "word")


def _label_by_label(
    texts: Sequence[str], texts_train: Sequence[str], t_train: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Fit a regression for each label; a constant label gets its frequency as probability."""
    vectorizer, regression = tfidf(len(texts_train))
    features = vectorizer.fit_transform(texts_train)
    shown = vectorizer.transform(texts)
    # For many small binary problems, liblinear takes a fraction of the time of lbfgs.
    regression.set_params(solver="liblinear")
    probabilities = np.tile(t_train.mean(axis=0), (len(texts), 1))
    for label, t in enumerate(t_train.T):
        if t.any() and not t.all():
            probabilities[:, label] = regression.fit(features, t).predict_proba(shown)[:, 1]
    return probabilities
