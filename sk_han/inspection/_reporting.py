"""Evaluate a fitted model on held-out documents: `report`."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.model_selection import KFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline, make_pipeline

from sk_han._documents.repeated import duplicate_groups, text_key
from sk_han._model.fitted_model import FittedModel
from sk_han._rendering.blocks import percent
from sk_han._targets import AnyOfLabels
from sk_han._utils.containers import document_ids, document_name, label_list, listed, take_rows
from sk_han._utils.messages import (
    a_kind,
    agreeing,
    check_choice,
    check_count,
    plural,
    taking_many_classes,
)
from sk_han._utils.metrics import effective_groups, indicator, median_class, pad_labels
from sk_han._validation.documents import check_texts
from sk_han._validation.labels import (
    append_unknown,
    check_indicator,
    check_labels,
    check_numbers,
    check_several_groups,
    class_numbers,
    is_indicator,
    refuse_collections,
    unknown_labels_note,
    warn_of_order,
)
from sk_han.inspection._auditing import may_be_chance, suspected_labels
from sk_han.inspection._class_mix import estimated_mix
from sk_han.inspection._estimators import (
    ReadDocuments,
    fitted_steps,
    n_documents_of,
    own_results,
    predicts_number,
    probability_array,
    read_documents,
    reader_of,
    refuse_label_lists,
    refuse_number,
    words_of,
)
from sk_han.inspection._explaining import explain
from sk_han.inspection._explanations import ExplainedModel, listed_documents
from sk_han.inspection._results.collection import ExplanationList
from sk_han.inspection._results.label_audit import ENOUGH_RIGHT
from sk_han.inspection._results.number_report import COVERAGES, NumberReport
from sk_han.inspection._results.report import Report
from sk_han.inspection._slicing import candidate_slices, found_slices, near_copies

TFIDF, RIDGE = "TF-IDF + logistic regression", "TF-IDF + ridge regression"
_STRENGTHS = (0.1, 0.3, 1, 3, 10, 30)  # of which cross-validation chooses one
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


def note_on_mix(fitted: FittedModel, p: NDArray[np.float64]) -> Iterator[str]:
    """Yield a note if the predictions have another mix of classes than those of the fit."""
    if fitted.reference is not None and fitted.priors is None:
        found = estimated_mix(p, fitted.reference, fitted.target)
        if found.moved:
            yield f"{found.text} If it stays so, correct the probabilities by with_priors."


def documents_have(n: int) -> str:
    """Return the beginning of a sentence: "1 document has", "2 documents have"."""
    return f"{plural(n)} {agreeing(n, 'have')}"


def report(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    X_train: Any = None,
    y_train: Any = None,
    baseline: Any = "tfidf",
    n_mistakes: int = 10,
    groups: Any = None,
    ids: Any = None,
) -> Report | NumberReport:
    """Evaluate a fitted model on held-out documents.

    Parameters
    ----------
    estimator : classifier or regressor
        Fitted, with `classes_` and ``predict_proba`` if it is a classifier. Mistakes are explained
        if `explain` takes it: a `HANClassifier` or `HANRegressor`, a Pipeline that ends in one, or
        a search of these.
    X : n_documents raw texts, DocumentArray, or ndarray of int
        Held-out documents, as for ``predict``.
    y : array-like of shape (n_documents,), or indicator of shape (n_documents, n_labels)
        True labels. A label that the model does not know counts as a mistake. For a model of
        several labels per document an indicator, as for `HANClassifier.fit`. Numbers for a
        regressor.
    X_train, y_train : as X and y, default=None
        Training data of the model: the baseline "tfidf" is fitted to them, and held-out documents
        that occur among them are found.
    baseline : fitted classifier, "tfidf" or None, default="tfidf"
        What to compare the model with on the same documents: any classifier with ``predict`` and
        ``predict_proba``, a `Scorer` too, or TF-IDF of words and pairs of words with logistic
        regression (with several labels per document, one for each label), fitted to `X_train`; or
        nothing. For a regressor another regressor, or ridge regression in place of the logistic
        one, whose strength is chosen by five-fold cross-validation.
    n_mistakes : int, default=10
        Number of mistakes to explain, the most confident first; of numbers, the largest errors.
    groups : array-like of shape (n_documents,), default=None
        Numbers or names of groups of similar documents, such as those by one author. Intervals are
        then over groups.
    ids : sequence of length n_documents, default=None
        Ids by which the page and tables name documents, in place of their rows; by default an index
        of pandas that is not 0, 1, 2, ...

    Returns
    -------
    Report, or NumberReport for a regressor
        ``to_html(path)`` writes the page.

    Raises
    ------
    TypeError
        If the estimator or the baseline does not predict probabilities, or labels are not strings,
        numbers or booleans.
    ValueError
        If X, y and groups differ in length, a group is missing, all documents belong to one group,
        none of the labels is a class of the model or of the baseline, a number is not finite, or
        another parameter is invalid.
    sklearn.exceptions.NotFittedError
        If the estimator or the baseline is not fitted.

    See Also
    --------
    explain : Explain documents one by one.
    audit_labels : Find wrong labels in training data.

    Notes
    -----
    Apart from predicting X, a report tokenizes it once more and explains mistakes. A document looks
    mislabelled if its prediction is wrong and `audit_labels` estimates that its label is more
    likely wrong than right.

    Examples
    --------
    >>> from sk_han import HANClassifier, report
    >>> from sk_han.datasets import make_reviews
    >>> texts, labels = make_reviews(120, random_state=0)
    >>> classifier = HANClassifier(embedding_dim=8, word_hidden=4, max_epochs=1, random_state=0)
    >>> classifier = classifier.fit(texts[:80], labels[:80])
    >>> other = classifier.set_params(max_epochs=2).fit(texts[:80], labels[:80])
    >>> found = report(classifier, texts[80:], labels[80:], baseline=other)
    >>> found.n_documents, found.confusion.shape
    (40, (2, 2))
    """
    check_count("n_mistakes", n_mistakes)
    is_number = predicts_number(estimator)
    other_classes = _classes_of_baseline(baseline, is_number)
    if (X_train is None) != (y_train is None):
        raise ValueError("Pass X_train and y_train together, or neither.")
    classes = None if is_number else classes_of(estimator)
    model = reader_of(estimator)
    warn_of_order(X, y, "y")
    warn_of_order(X, groups, "groups")
    warn_of_order(X_train, y_train, "y_train", "X_train")
    X, X_train = with_length(X), None if X_train is None else with_length(X_train)
    n, ids = n_documents_of(X), document_ids(X, ids)
    group_names = None if groups is None else label_list(groups)
    if groups is not None:
        groups = check_several_groups(groups, n, "intervals need several")
    if other_classes is not None and not is_indicator(y):
        all_labels(other_classes, check_labels(y, n), by="baseline")
    labels: list[Any] = []
    if classes is None:
        t, t_train = check_numbers(y, n), None
        if X_train is not None:
            t_train = check_numbers(y_train, n_documents_of(X_train), "y_train")
        evaluation = _evaluate_numbers(estimator, model, X, t, n_mistakes)
    else:
        labels, t, t_train = encoded_labels(classes, model, X, y, X_train, y_train, other_classes)
        evaluation = _evaluate(estimator, model, X, labels, t, n_mistakes)
        if model is not None:
            evaluation.notes.extend(note_on_mix(model.fitted, evaluation.fields["probabilities"]))
    held_out = read_documents(model, X)
    words_train = None if X_train is None else words_of(model, X_train, "X_train")
    if baseline is None or isinstance(baseline, str):
        training = words_train, t_train
        compared = _linear_baseline(baseline, held_out.words, training, evaluation.fields)
    else:
        compared = _compare_with_baseline(baseline, X, y, t, other_classes, labels)
    explanations, unexplained = _explain_mistakes(estimator, model, held_out, X, evaluation)
    seen = held_out.learnt_from
    flags = indicator(t, len(labels))  # without columns for numbers
    candidates = candidate_slices(X, model, held_out, group_names, labels, flags)
    slices, n_slices = found_slices(candidates, evaluation.severity, groups)
    keys = [] if held_out.words is None else list(map(text_key, held_out.words))
    same = duplicate_groups(keys)
    n_not_compared = 0 if seen is None or words_train is not None else held_out.n_not_compared
    notes = list(note_on_units(groups, same, n))
    if names := [document_name(row, ids) for row, key in enumerate(keys) if not key]:
        notes.append(f"{documents_have(len(names))} no words: {listed(names, 10, str)}.")
    if n_not_compared:
        notes.append(
            f"{documents_have(n_not_compared)} too few known words to be compared with the "
            "training documents."
        )
    return (NumberReport if is_number else Report)(
        **evaluation.fields,
        **compared,
        estimator=type(fitted_steps(estimator)[-1]).__name__,
        n_words=held_out.n_words,
        texts=held_out.texts,
        mistakes=explanations,
        duplicates=tuple(map(tuple, same)),
        trained_on=_in_training(held_out.words, keys, words_train, seen),
        notes=(*evaluation.notes, *notes, *unexplained),
        groups=groups,
        ids=ids,
        slices=slices,
        n_slices=n_slices,
    )


def encoded_labels(
    classes: NDArray[Any],
    model: ExplainedModel | None,
    X: Any,
    y: Any,
    X_train: Any = None,
    y_train: Any = None,
    others: NDArray[Any] | None = None,
) -> tuple[list[Any], NDArray[Any], NDArray[Any] | None]:
    """Return all labels, those of the model first, and y and y_train in them.

    They are encoded as positions (D,) or, with several labels per document, as flags (D, L).
    """
    t_train = None
    if takes_indicator(y, model):
        classes = _named_classes(classes, model, X, y)
        t, unknown = _indicator(y, X, classes, "y")
        labels = [*classes.tolist(), *unknown]
        if X_train is not None:
            t_train, _ = _indicator(y_train, X_train, classes, "y_train")
            t_train = pad_labels(t_train[:, : len(classes)], len(labels))
        return labels, t, t_train
    y = check_labels(y, n_documents_of(X))
    if X_train is not None:
        y_train = check_labels(y_train, n_documents_of(X_train), "y_train")
    labels = all_labels(classes, y, y_train, others)
    if y_train is not None:
        t_train = class_numbers(y_train, labels)
    return labels, class_numbers(y, labels), t_train


def _named_classes(
    classes: NDArray[Any], model: ExplainedModel | None, X: Any, y: Any
) -> NDArray[Any]:
    """Return the names of labels, from y if another classifier only numbers them."""
    columns = None if model else check_indicator(y, n_documents_of(X), "y")[1]
    are_numbers = columns is not None and np.array_equal(classes, np.arange(len(columns)))
    return columns if columns is not None and are_numbers else classes


def _indicator(y: Any, X: Any, classes: NDArray[Any], name: str) -> tuple[NDArray[Any], list[Any]]:
    """Check an indicator, and put its columns in the order of the labels, unknown ones last."""
    return append_unknown(*check_indicator(y, n_documents_of(X), name), classes, name)


def predictions(
    classifier: Any,
    model: ExplainedModel | None,
    X: Any,
    labels: list[Any],
    t: NDArray[Any],
    name: str = "model",
) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Return probabilities (D, K) and decisions, encoded as the true labels `t` are.

    A classifier may decide by a threshold, as TunedThresholdClassifierCV does.
    """
    p = probability_array(classifier, X)
    if model is not None:
        target = model.fitted.target
        is_one = target.has_one_label and t.ndim == 1
        decided = target.top_label(p) if is_one else target.decide_by_proba(p)
    else:
        decided = classifier.predict(X)
        decided = np.asarray(decided.toarray() if hasattr(decided, "toarray") else decided)
    if len(p) != len(t) or decided.shape != (p.shape if t.ndim == 2 else t.shape):
        raise ValueError(
            f"For {plural(len(t))} the {name} has probabilities of shape {p.shape} and "
            f"predictions of shape {decided.shape}. It must take the documents of X, and predict "
            "one label of each or, if y is an indicator, one column per label."
        )
    if t.ndim == 2:
        return p, pad_labels(decided.astype(bool), len(labels))
    return p, decided if model is not None else class_numbers(decided, labels)


class _Evaluation(NamedTuple):
    """Predictions of a model, and its most confident mistakes."""

    fields: dict[str, Any]  # of the report
    explained: list[Any] | None  # the label to explain for each of these mistakes; no number
    notes: list[str]
    severity: NDArray[np.float64]  # (D,), of mistakes; 0 for documents that are right


def _evaluate(
    estimator: Any,
    model: ExplainedModel | None,
    X: Any,
    labels: list[Any],
    t: NDArray[Any],
    n_mistakes: int,
) -> _Evaluation:
    """Evaluate a model on documents with the labels `t`: positions (D,), or flags (D, L)."""
    p, decided = predictions(estimator, model, X, labels, t)
    n, n_classes, several = len(p), p.shape[1], t.ndim == 2
    target: Any = None if model is None else model.fitted.target
    values = getattr(target, "values", None)
    true, given = indicator(t, len(labels)), indicator(decided, len(labels))
    is_right, counts = ~(true ^ given)[:, :n_classes], true.sum(axis=0)
    # Of one label the wrong one misleads, and a label that the model does not know is no mistake.
    is_known = several | (true[:, :n_classes].sum(axis=1) > 0)
    is_wrong = ~is_right & is_known[:, np.newaxis]
    if not several:
        is_wrong &= given[:, :n_classes]
    errors = np.where(is_wrong, np.abs(p - true[:, :n_classes]), -1.0)  # (D, K)
    worst = np.flatnonzero(is_wrong.any(axis=1))
    worst = worst[np.argsort(-errors[worst].max(axis=1), kind="stable")[:n_mistakes]]
    most_wrong = errors[worst].argmax(axis=1)
    notes = []
    if n_without := n - int(true.any(axis=1).sum()):
        notes.append(f"{documents_have(n_without)} no label.")
    if several:
        suspects = _suspected_pairs(p, true[:, :n_classes], is_right)
        weak = [
            labels[label]
            for label in np.unique(suspects[:, 1]).tolist()
            if may_be_chance(is_right[:, label], true[:, label])
        ]
        if target is not None:
            notes.append(target.note_on_recall(given[:, :n_classes], true[:, :n_classes]))
        if weak:
            notes.append(
                "For these labels the model may be no better than always giving the more frequent "
                f"answer, so it cannot find where they are wrong or missing: {listed(weak)}."
            )
    else:
        known = np.flatnonzero(is_known)
        suspects = known[suspected_labels(p[known], t[known])]
        suspects = suspects[decided[suspects] != t[suspects]]
        if len(suspects):
            notes += note_on_suspects(decided[known] == t[known], t[known])
        if n_less := int((decided != p.argmax(axis=1)).sum()):
            why = "for example because of a tuned threshold" if values is None else "but the median"
            notes.append(
                f"For {n_less:,} of {plural(n)} the predicted class is not the most probable one, "
                f"{why}. Accuracy, calibration, the confusion matrix and mistakes refer to the "
                "predicted class."
            )
    if n_with := int(true[:, n_classes:].any(axis=1).sum()):
        unknown = [labels[i] for i in np.flatnonzero(counts).tolist() if i >= n_classes]
        notes.append(
            f"{unknown_labels_note(n_with, unknown)} The log loss leaves them out"
            f"{', and so do distances' * (values is not None)}."
        )
    notes += note_on_missing(counts[:n_classes], labels)
    fields = {
        "labels": tuple(labels),
        "targets": t,
        "probabilities": p,
        "predicted": decided,
        "mistake_rows": worst,
        "mistake_labels": most_wrong if several else None,
        "suspects": suspects,
        "thresholds": getattr(target, "thresholds", None),
        "values": values,
    }
    explained = [labels[label] for label in most_wrong.tolist()]
    # A label that the model does not know has no error, and a missed one may have a small one.
    severity = np.maximum(errors.max(axis=1), np.finfo(np.float64).tiny)
    severity[(true == given).all(axis=1)] = 0
    return _Evaluation(fields, explained, [*filter(None, notes)], severity)


def _evaluate_numbers(
    estimator: Any, model: ExplainedModel | None, X: Any, t: NDArray[np.float64], n_mistakes: int
) -> _Evaluation:
    """Evaluate a model on documents with the numbers `t`, (D,)."""
    fields: dict[str, Any] = {"targets": t}
    notes = []
    if model is None:
        predicted = predict_numbers(estimator, X, len(t))
    else:
        p = model.predict_proba(model.read(X))
        predicted = model.fitted.target.decide_by_proba(p)
        try:
            ends = [model.fitted.interval_ends(p, share) for share in COVERAGES]
            fields["intervals"] = np.array(ends)
        except ValueError as error:  # too few documents were held out
            notes.append(str(error))
    errors = np.abs(predicted - t)
    fields |= {"predicted": predicted}
    fields["mistake_rows"] = np.argsort(-errors, kind="stable")[:n_mistakes]
    severity = np.where(errors > np.quantile(errors, 0.75), errors, 0)
    return _Evaluation(fields, None, notes, severity)


def predict_numbers(regressor: Any, X: Any, n_documents: int) -> NDArray[np.float64]:
    """Return the number that any regressor predicts for each document, (D,)."""
    name = f"predict of {type(fitted_steps(regressor)[-1]).__name__}"
    return check_numbers(regressor.predict(X), n_documents, name)


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


def _suspected_pairs(
    p: NDArray[np.float64], true: NDArray[np.bool_], is_right: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Return documents and labels (S, 2) that look wrong, each label on its own."""
    pairs = []
    for label, (of_label, has) in enumerate(zip(p.T, true.T, strict=True)):
        rows = suspected_labels(np.column_stack([1 - of_label, of_label]), has.astype(np.int64))
        rows = rows[~is_right[rows, label]]
        pairs.append(np.column_stack([rows, np.full(len(rows), label)]))
    suspects = np.concatenate(pairs)
    errors = np.abs(p - true)[suspects[:, 0], suspects[:, 1]]
    return suspects[np.argsort(-errors, kind="stable")]


def classes_of(estimator: Any, by: str = "report") -> NDArray[Any]:
    """Return the classes of a fitted classifier; `by` is the function that errors name."""
    refuse_number(estimator, by)
    model = fitted_steps(estimator)[-1]
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


def with_length(X: Any) -> Any:
    """Return at least one document, in a form that can be read twice."""
    X = listed_documents(X)
    return X if n_documents_of(X) else check_texts(())


def all_labels(
    classes: NDArray[Any], y: NDArray[Any], *more: NDArray[Any] | None, by: str = "model"
) -> list[Any]:
    """Return the classes of a classifier, then the other labels of the user's data."""
    labels = classes.tolist()
    others = y[class_numbers(y, labels) < 0]
    if len(others) == len(y):
        raise ValueError(
            f"None of the labels is a class of the {by}. They are "
            f"{listed(np.unique(y).tolist())}; the classes are {listed(labels)}. Do they have "
            "another type, or belong to another task?"
        )
    for values in more:
        if values is not None:
            others = np.concatenate([others, values[class_numbers(values, labels) < 0]])
    return [*labels, *dict.fromkeys(np.unique(others).tolist())]


def _classes_of_baseline(baseline: Any, is_number: bool) -> NDArray[Any] | None:
    """Return the classes of a fitted baseline; None if there is none yet, or of numbers."""
    if baseline is None or isinstance(baseline, str):
        if baseline is not None:
            check_choice("baseline", baseline, ("tfidf",))
        return None
    if not hasattr(baseline, "predict"):
        kind = "regressor" if is_number else "classifier"
        raise TypeError(f"baseline is {a_kind(baseline)}; give a fitted {kind}, 'tfidf' or None.")
    return None if is_number else classes_of(baseline, "baseline")


def _compare_with_baseline(
    baseline: Any, X: Any, y: Any, t: NDArray[Any], classes: Any, labels: list[Any]
) -> dict[str, Any]:
    """Return the report's fields on a fitted baseline. Labels that are not scored are left out."""
    reader, name = reader_of(baseline), type(fitted_steps(baseline)[-1]).__name__
    learnt = None if reader is None else read_documents(reader, X).learnt_from
    note = f"The baseline is a fitted {name} that predicts the same documents."
    if learnt is not None and len(learnt):
        note += f" {len(learnt):,} of these have the words of one of its training documents."
    named = {"baseline_name": name, "baseline_note": note}
    if classes is None:
        return named | {"baseline": predict_numbers(baseline, X, len(t))}
    classes = _named_classes(classes, reader, X, y) if t.ndim == 2 else classes
    p, decided = predictions(baseline, reader, X, classes.tolist(), t, f"baseline, {name},")
    places = class_numbers(classes, labels)
    known = places >= 0
    if not known.any():
        raise ValueError(
            f"None of the labels of the baseline, {listed(classes.tolist())}, is a label of the "
            f"model or of y: {listed(labels)}."
        )
    probabilities = np.zeros((len(t), len(labels)))
    probabilities[:, places[known]] = p[:, known]
    answers = np.zeros(probabilities.shape, dtype=bool)
    if t.ndim == 2:
        answers[:, places[known]] = decided[:, known]
    return named | {
        "baseline": probabilities,
        "baseline_predicted": answers if t.ndim == 2 else places[decided],
    }


def _linear_baseline(
    baseline: str | None,
    words: Sequence[str] | None,
    training: tuple[Sequence[str] | None, Any],
    fields: dict[str, Any],
) -> dict[str, Any]:
    """Return the report's fields on TF-IDF with logistic regression, or why there is none."""
    (words_train, t_train), is_number = training, "labels" not in fields
    linear = RIDGE if is_number else TFIDF
    if baseline is None:
        why = "."
    elif words is None:
        why = ": the documents are not texts."
    elif words_train is None:
        why = (
            f". Pass X_train and y_train, to which {linear} is fitted, or a fitted "
            f"{'regressor' if is_number else 'classifier'} as baseline."
        )
    else:
        try:
            model = _tfidf(words_train, t_train, is_number=is_number)
        except ValueError as error:  # no words, or a single label
            why = f": {error}"
        else:
            found = {
                "baseline_name": linear,
                "baseline_note": "The baseline was fitted to the "
                f"{plural(len(words_train), 'training document')} given.",
            }
            if is_number:
                return found | {"baseline": model.predict(words)}
            p = np.zeros((len(words), len(fields["labels"])))
            p[:, model.classes_] = model.predict_proba(words)
            several, values = t_train.ndim == 2, fields["values"]
            if several:
                found["baseline_note"] += " It predicts labels whose probability is at least 0.5."
            n_classes = fields["probabilities"].shape[1]
            decided = p.argmax(axis=1) if values is None else median_class(p[:, :n_classes])
            return found | {"baseline": p, "baseline_predicted": p >= 0.5 if several else decided}
    return {"baseline": None, "baseline_note": f"There is no baseline{why}"}


def _tfidf(texts: Sequence[str], t: NDArray[Any], *, is_number: bool) -> Pipeline:
    """Fit TF-IDF of words and pairs of words with a linear model, one for each label."""
    regression: Any = LogisticRegression(C=10, max_iter=1000)
    if is_number:
        folds = KFold(5, shuffle=True, random_state=0)  # documents may be sorted by number
        regression = RidgeCV(_STRENGTHS, cv=folds)
    elif t.ndim == 2:
        # For many small binary problems, liblinear takes a fraction of the time of lbfgs.
        regression = OneVsRestClassifier(regression.set_params(solver="liblinear"))
    vectorizer = TfidfVectorizer(
        token_pattern=r"\w+",
        ngram_range=(1, 2),
        sublinear_tf=True,
        min_df=2 if len(texts) >= LEFT_OUT_FROM else 1,
    )
    with taking_many_classes():
        warnings.filterwarnings("ignore", "Label .* is present in all training", UserWarning)
        return make_pipeline(vectorizer, regression).fit(texts, t)


def _explain_mistakes(
    estimator: Any,
    model: ExplainedModel | None,
    held_out: ReadDocuments,
    X: Any,
    evaluation: _Evaluation,
) -> tuple[ExplanationList, list[str]]:
    """Explain the most confident mistakes; if that is not possible, return a note on why."""
    worst = evaluation.fields["mistake_rows"]
    if not len(worst):
        return ExplanationList(), []
    if held_out.texts is None and held_out.words is not None:
        return ExplanationList(), [
            "Mistakes are shown without text and explanation: the documents are word ids, and the "
            "model has no tokenizer with their words."
        ]
    try:
        return explain(estimator, take_rows(X, worst), target=evaluation.explained), []
    except (TypeError, ValueError) as error:
        if model is not None:
            raise
        return ExplanationList(), [f"Mistakes are not explained. {error}"]


def _in_training(
    words: Sequence[str] | None,
    keys: list[str],
    words_train: Sequence[str] | None,
    learnt_from: NDArray[np.int64] | None,
) -> NDArray[np.int64] | None:
    """Return the documents with the words of a training document, or nearly so if texts are known.

    The given texts may be only a part of what the model was fitted to.
    """
    if words_train is None:
        return learnt_from
    training = set(map(text_key, words_train)) - {""}
    copies = np.array([i for i, key in enumerate(keys) if key in training], dtype=np.int64)
    copies = np.union1d(copies, near_copies(words or (), words_train))
    return copies if learnt_from is None else np.union1d(copies, learnt_from)
