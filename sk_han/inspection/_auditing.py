"""The function `audit_labels`, which finds labels that are likely wrong."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import gammaln
from sklearn.base import ClassifierMixin, clone
from sklearn.isotonic import isotonic_regression
from sklearn.pipeline import Pipeline
from sklearn.utils import column_or_1d, get_tags

from sk_han._documents.repeated import duplicate_groups, groups_by_label, text_key
from sk_han._parts.columns import read_texts, to_columns
from sk_han._rendering.blocks import percent
from sk_han._targets import OneOfClasses, OrderedClasses, Target, fit_target
from sk_han._targets.splits import folds_of
from sk_han._utils.containers import document_ids, listed, take_rows
from sk_han._utils.messages import check_count, plural
from sk_han._utils.progress import Stages
from sk_han._validation.documents import check_texts, row_names
from sk_han._validation.labels import OF_DOCUMENTS, check_several_groups, warn_of_order
from sk_han.inspection._estimators import (
    inner_model,
    n_documents_of,
    own_results,
    probability_array,
    refuse_number,
    texts_of,
)
from sk_han.inspection._explaining import explain
from sk_han.inspection._explanations import listed_documents
from sk_han.inspection._results.collection import ExplanationList
from sk_han.inspection._results.document import DocumentExplanation
from sk_han.inspection._results.label_audit import ENOUGH_RIGHT, LabelAudit

# Rates of wrong labels are estimated from the most confident predictions of each class: this share
# of them, and at least so many. At most _PRIOR pseudo-counts with the common rates are added.
_SHARE, _AT_LEAST, _PRIOR = 0.1, 10, 100
# No label is certainly wrong.
_HIGHEST = 0.99
_TINY = 1e-300
# The number of probabilities in a block, which bounds memory, and the least number of documents
# from which the temperature is estimated.
_AT_ONCE, _OF_POWER = 1 << 20, 1_000
# With several labels per document, labels with smaller doubts, which are most of them, are not
# listed.
_LEAST_DOUBT = 0.01


class Doubts(NamedTuple):
    """Estimates for D labels, and the order in which they are listed."""

    chances: NDArray[np.float64]  # (D,), the probability that the label is wrong
    others: NDArray[np.int64]  # (D,), the most probable other class
    order: NDArray[np.int64]  # (D,), by decreasing doubt or, for ordered classes, distance


def label_doubts(
    probabilities: NDArray[np.float64], labels: NDArray[np.int64], *, ordered: bool = False
) -> Doubts:
    """Estimate the probability that each label is wrong, from probabilities (D, K), K at least 2.

    A document of class k is labelled j with probability ``rates[k, j]``. As in confident learning
    (Northcutt, Jiang and Chuang, 2021), this is the share labelled j among the documents that are
    most confidently predicted as k. The steps are:

    1. Labels are ranked by the log-odds ``log(sum_{k != j} p_k r_kj) - log(p_j r_jj)`` that another
       class is the true one (Bayes' rule).
    2. The odds are calibrated by simulation. For the probable true classes of each document, each
       label j has a probability to be drawn and wrong, and its odds have a place in the ranking of
       step 1. The sums of these probabilities at each place are the expected shares of wrong
       labels, which isotonic regression makes monotone.
    3. The shares are scaled so that they sum to the number of wrong labels that the rates imply.

    In step 2, drawn labels with odds above 1 take places among the labels with such odds only.

    Labels of `ordered` classes are ranked by the expected number of steps to the true class.
    """
    n, k = probabilities.shape
    p = _temper(probabilities, labels)
    rates = _rates(p, labels)
    other_rates = rates * (1 - np.eye(k))
    size = max(1, _AT_ONCE // k)
    blocks = [slice(start, start + size) for start in range(0, n, size)]

    def odds(rows: slice) -> NDArray[np.float64]:
        """Return, for each possible label, the log-odds that another class is true, (rows, K)."""
        own, all_meant = p[rows] * np.diag(rates), p[rows] @ rates
        log_others: NDArray[np.float64] = np.log(np.maximum(all_meant - own, _TINY))
        return log_others - np.log(np.maximum(own, _TINY))

    of_labels = [
        np.take_along_axis(odds(rows), labels[rows, np.newaxis], axis=1) for rows in blocks
    ]
    own_odds = np.concatenate(of_labels)[:, 0]
    order = np.argsort(-own_odds, kind="stable")

    n_doubtful, n_drawn, wrong = np.count_nonzero(own_odds > 0), 0.0, np.zeros(n)
    others, steps = np.empty(n, dtype=np.int64), np.empty(n)
    for rows in blocks:
        meant = p[rows] * rates[:, labels[rows]].T
        meant /= np.maximum(meant.sum(axis=1, keepdims=True), _TINY)
        # These are the probabilities that each label is drawn and wrong.
        weights = meant @ other_rates
        drawn = odds(rows)
        places = np.searchsorted(-own_odds[order], -drawn, side="right")
        places = np.minimum(places, np.where(drawn > 0, n_doubtful, n) - 1)
        has_place = places >= 0
        wrong += np.bincount(places[has_place], weights[has_place], n)
        n_drawn += weights.sum()
        is_given = np.arange(k) == labels[rows, np.newaxis]
        others[rows] = np.where(is_given, -1.0, p[rows]).argmax(axis=1)
        steps[rows] = (meant * np.abs(np.arange(k) - labels[rows, np.newaxis])).sum(axis=1)
    n_wrong = n * _frequencies(rates, labels) @ other_rates.sum(axis=1)
    chances = np.empty(n)
    chances[order] = isotonic_regression(
        wrong * n_wrong / max(n_drawn, _TINY), y_min=0, y_max=_HIGHEST, increasing=False
    )
    if ordered:
        order = np.argsort(-steps, kind="stable")
    return Doubts(chances, others, order)


def suspected_labels(
    probabilities: NDArray[np.float64], labels: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the rows of labels that are more likely wrong than right, by decreasing doubt."""
    if len(np.unique(labels)) < 2:
        return np.empty(0, dtype=np.int64)
    doubts = label_doubts(probabilities, labels)
    return doubts.order[doubts.chances[doubts.order] > 0.5]


def may_be_chance(is_right: NDArray[np.bool_], labels: NDArray[Any]) -> bool:
    """Return whether predictions are not significantly better than the most frequent label.

    The difference in accuracy is then at most two standard errors.
    """
    values, counts = np.unique(labels, return_counts=True)
    gained = is_right.astype(np.int64) - (labels == values[counts.argmax()])
    return bool(gained.sum() <= 2 * np.sqrt(np.abs(gained).sum()))


def _temper(p: NDArray[np.float64], labels: NDArray[np.int64]) -> NDArray[np.float64]:
    """Calibrate probabilities, (D, K), on the labels by temperature scaling."""
    log_p = np.log(np.maximum(p, 1e-12))
    # A sample is enough to estimate a single number.
    n = max(_OF_POWER, _AT_ONCE // p.shape[1])
    sample = np.random.RandomState(0).permutation(len(p))[:n] if len(p) > n else np.arange(len(p))
    sampled_log_p, place = log_p[sample], (np.arange(len(sample)), labels[sample])

    def loss(log_power: float) -> float:
        z = np.exp(log_power) * sampled_log_p
        z -= z.max(axis=1, keepdims=True)
        return float(np.log(np.exp(z).sum(axis=1)).sum() - z[place].sum())

    log_p *= np.exp(minimize_scalar(loss, bounds=(-3, 3), method="bounded").x)
    log_p -= log_p.max(axis=1, keepdims=True)
    result: NDArray[np.float64] = np.exp(log_p, out=log_p)
    result /= result.sum(axis=1, keepdims=True)
    return result


def _rates(p: NDArray[np.float64], labels: NDArray[np.int64]) -> NDArray[np.float64]:
    """Estimate the probability that a document of each class gets each label, (K, K)."""
    n, k = p.shape
    counts, predicted, confidence = np.zeros((k, k)), p.argmax(axis=1), p.max(axis=1)
    for number in range(k):
        rows = np.flatnonzero(predicted == number)
        most = np.argsort(-confidence[rows], kind="stable")
        rows = rows[most[: max(_AT_LEAST, int(_SHARE * len(rows)))]]
        np.add.at(counts[number], labels[rows], 1)
    share_wrong = (counts.sum() - np.trace(counts) + 1) / (counts.sum() + 2)
    prior = np.tile(np.bincount(labels, minlength=k) / n, (k, 1)) + 1e-9
    np.fill_diagonal(prior, 0)
    prior *= share_wrong / prior.sum(axis=1, keepdims=True)
    np.fill_diagonal(prior, 1 - share_wrong)
    counts += _weight(counts, prior) * prior
    rates: NDArray[np.float64] = counts / counts.sum(axis=1, keepdims=True)
    return rates


def _weight(counts: NDArray[np.float64], prior: NDArray[np.float64]) -> float:
    """Return the number of pseudo-counts with the common rates to add to the counts of each class.

    It maximizes the likelihood of the counts under a Dirichlet prior around the common rates
    (empirical Bayes). The likelihood is multiplied by the square root of the weight, so that few
    counts do not result in a small weight.
    """
    at, n = counts > 0, counts.sum(axis=1)

    def loss(log_weight: float) -> float:
        weight = np.exp(log_weight)
        own = weight * prior[at]
        log_likelihood = (gammaln(own + counts[at]) - gammaln(own)).sum()
        log_likelihood -= (gammaln(weight + n) - gammaln(weight)).sum()
        return -float(log_likelihood) - log_weight / 2

    return float(np.exp(minimize_scalar(loss, bounds=(0, np.log(_PRIOR)), method="bounded").x))


def _frequencies(rates: NDArray[np.float64], labels: NDArray[np.int64]) -> NDArray[np.float64]:
    """Estimate the frequencies of the true classes from those of the labels and the rates, (K,)."""
    label_frequencies = np.bincount(labels, minlength=len(rates)) / len(labels)
    meant = np.maximum(np.linalg.lstsq(rates.T, label_frequencies, rcond=None)[0], 0)
    frequencies: NDArray[np.float64] = meant / meant.sum()
    return frequencies


def audit_labels(
    estimator: ClassifierMixin | Pipeline,
    X: Any,
    y: Any,
    *,
    groups: Any = None,
    params: Mapping[str, Any] | None = None,
    n_explained: int = 20,
    ids: Any = None,
    verbose: int = 0,
) -> LabelAudit:
    """Find wrong labels by cross-validation.

    Parameters
    ----------
    estimator : HANClassifier, Pipeline, or another classifier with ``predict_proba``
        Clones of the estimator, or of the best estimator of a fitted search, are fitted. The
        estimator need not be fitted itself.
    X : n_documents raw texts, DocumentArray, or other input of the estimator's ``fit``
    y : array-like of n_documents labels, or indicator of shape (n_documents, n_labels)
    groups : array-like of shape (n_documents,), default=None
        The group of each document, for example its author. Documents of a group stay in one fold.
        By default, texts with the same words form a group.
    params : mapping, default=None
        Further arguments of the estimator's ``fit``, such as ``X_unlabelled``. Each fold gets its
        own part of ``sample_weight`` and ``groups`` (also as ``step__groups``).
    n_explained : int, default=20
        Number of the most doubtful labels to explain (why the suggested class and not the given
        class?), if `explain` takes the estimator.
    ids : sequence of length n_documents, default=None
        Ids that name documents on the page and in tables, instead of their rows; by default an
        index of pandas that is not 0, 1, 2, ...
    verbose : int, default=0
        1 shows which fold is fitted. The estimator's own `verbose` applies to each fit.

    Returns
    -------
    LabelAudit
        All labels, by decreasing doubt. ``to_html(path)`` writes a page, and ``to_csv(path)`` a
        table with a column for decisions.

    Raises
    ------
    TypeError
        If the estimator has no ``predict_proba``, or a text is missing.
    ValueError
        If X and y differ in length, all documents have one class, or another argument is invalid.

    See Also
    --------
    report : Evaluate a fitted model; lists doubtful labels of held-out documents.

    Notes
    -----
    Five clones are fitted, each to four fifths of the documents, and predict the others; with few
    or large groups there may be fewer folds. The only document of a class cannot be judged.

    The doubt of a label is the probability, by Bayes' rule, that another class is the true one.
    Rates of wrong labels are estimated from the most confident predictions (Northcutt, Jiang and
    Chuang, 2021). The sum of the first 100 doubts is the expected number of wrong labels among
    them. This assumes that the most confident predictions are right. Weak models doubt more labels
    than are wrong, so if they agree with fewer than 80 % of the labels, pages rank labels without
    showing doubts. If most errors are of one kind, such as missing labels, doubts are too low. With
    several labels per document, each label is judged by itself, and doubts below 0.01 are not
    listed. Labels of ordered classes are ranked by the expected number of steps to the true class.

    References
    ----------
    Northcutt, Jiang, Chuang (2021). Confident Learning: Estimating Uncertainty in Dataset Labels.
    Journal of Artificial Intelligence Research 70.

    Examples
    --------
    >>> from sk_han import HANClassifier, audit_labels
    >>> from sk_han.datasets import make_reviews
    >>> texts, labels = make_reviews(60, random_state=0)
    >>> classifier = HANClassifier(embedding_dim=8, word_hidden=4, max_epochs=1, random_state=0)
    >>> audit = audit_labels(classifier, texts, labels, n_explained=1)
    >>> len(audit.documents), audit.weights().shape
    (60, (60,))
    """
    if n_explained != 0:
        check_count("n_explained", n_explained)
    estimator = inner_model(estimator)
    name, repair = type(estimator).__name__, own_results(estimator)
    if repair:
        raise TypeError(f"audit_labels needs a classifier of documents; got {name}.{repair}")
    refuse_number(estimator, "audit_labels")
    for method in ("predict_proba", "fit"):
        if not hasattr(estimator, method):
            raise TypeError(f"audit_labels needs a classifier with {method}; {name} has none.")
    X = listed_documents(X)
    n = n_documents_of(X)
    if n == 0:
        raise ValueError("X has no documents to audit.")
    warn_of_order(X, y, "y")
    warn_of_order(X, groups, "groups")
    options = estimator.get_params() if hasattr(estimator, "get_params") else {}
    ordered = any(
        value is True for key, value in options.items() if key.split("__")[-1] == "ordered"
    )
    with warnings.catch_warnings():
        # The notes of the audit report the same facts.
        warnings.simplefilter("ignore", UserWarning)
        target, labels = fit_target(y, n, ordered=ordered)
    if target.has_one_label and len(target.names) < 2:
        raise ValueError(
            f"All labels are {target.names.tolist()[0]!r}, so no other class can be suggested."
        )
    params = dict(params or {})
    per_document, counts = _per_document(params, n)
    column = next(
        (v for k, v in options.items() if k.endswith("text_column") and v is not None), None
    )
    texts = texts_of(X if column is None else _texts_in(X, column))
    if (
        texts is None
        and column is None
        and _reads_texts(estimator)
        and any(isinstance(document, str) for document in X)
    ):
        # An error about a missing text would otherwise name its row within a fold.
        check_texts(X)
    keys = [] if texts is None else list(map(text_key, texts))
    same = [group for group in duplicate_groups(keys) if (labels[group] != labels[group[0]]).any()]
    numbers = _groups(groups, keys, target.codes(labels))
    for name, value in params.items():
        is_text = name.rpartition("__")[2] == "X_unlabelled" and value is not None
        if is_text and not hasattr(value, "__len__"):
            # Every fold reads the texts again.
            params[name] = list(value)

    # Held-out documents have the class frequencies of the training, so clones are fitted without
    # priors. Only estimators of sk_han have both a parameter `priors` and a parameter `ordered`.
    prefixes = [key.removesuffix("ordered") for key in options if key.split("__")[-1] == "ordered"]
    no_priors = {f"{prefix}priors": None for prefix in prefixes if f"{prefix}priors" in options}

    def fit_fold(rows: NDArray[np.int64]) -> Any:
        own = {name: take_rows(params[name], rows) for name in per_document}
        with warnings.catch_warnings():
            # Warnings may be due to what is missing in a part of the documents.
            warnings.simplefilter("ignore")
            model = clone(estimator).set_params(**no_priors)
            return model.fit(take_rows(X, rows), take_rows(y, rows), **params | own)

    held_out = _cross_predict(fit_fold, X, target, labels, numbers, counts, Stages(verbose))
    judged = np.flatnonzero(held_out.known.any(axis=1))
    if not len(judged):
        raise ValueError(
            "No document can be judged: each is the only one of its class, or in the only group "
            "with that class, so a model fitted to the others does not know the class."
        )
    if target.has_one_label:
        entries = _class_doubts(held_out, labels, judged, target)
    else:
        entries = _multilabel_doubts(held_out, labels)
    explanations, note = _explain_first(held_out, X, target, entries, int(n_explained))
    return LabelAudit(
        **entries,
        labels=tuple(target.names.tolist()),
        probabilities=held_out.probabilities,
        texts=texts,
        conflicts=tuple(map(tuple, same)),
        explanations=explanations,
        notes=(*_notes(held_out, labels, target, np.unique(entries["given"])), *note),
        ids=document_ids(X, ids),
        agreement=_agreement(held_out, labels, target),
    )


def _agreement(held_out: _HeldOut, labels: NDArray[Any], target: Target) -> float:
    """Return the share of judged labels that the models predict."""
    same = target.decide_by_proba(held_out.probabilities) == labels
    return float(same[held_out.known[:, 0] if target.has_one_label else held_out.known].mean())


def _notes(
    held_out: _HeldOut, labels: NDArray[Any], target: Target, doubted: NDArray[np.int64]
) -> list[str]:
    """Return notes on how reliable the models are; `doubted` are positions of doubtful labels."""
    is_judged = held_out.known.any(axis=1)
    p, judged = held_out.probabilities[is_judged], labels[is_judged]
    is_right = target.decide_by_proba(p) == judged
    share = is_right.reshape(len(p), -1).all(axis=1).mean()
    what = "the labels" if target.has_one_label else "the sets of labels"
    notes = [f"The cross-validated models agree with {percent(share)} of {what}."]
    if target.has_one_label and may_be_chance(is_right, judged):
        notes[0] += (
            " They may be no better than always predicting the most frequent class, so they cannot "
            "find wrong labels: ignore the doubts."
        )
    elif _agreement(held_out, labels, target) < ENOUGH_RIGHT:
        notes[0] += (
            " Where they disagree, the mistake is often theirs: look at the texts from the top of "
            "the ranking on, and stop where labels are right."
        )
    if target.has_one_label and not is_judged.all():
        n = int(np.count_nonzero(~is_judged))
        notes.append(
            "Not judged, because the models that would judge them were not fitted to any document "
            f"of their class: {plural(n)}."
        )
    if not target.has_one_label:
        can_judge, names = held_out.known[is_judged], target.names.tolist()
        weak = [
            names[i]
            for i in doubted
            if may_be_chance(is_right[can_judge[:, i], i], judged[can_judge[:, i], i])
        ]
        if weak:
            notes.append(
                "For these labels the models may be no better than always giving the more frequent "
                f"answer, so ignore their doubts: {listed(weak)}."
            )
    if not target.has_one_label and not held_out.known.all():
        names = target.names[~held_out.known.all(axis=0)].tolist()
        notes.append(
            "Not judged in all documents, because all or none of the documents that a model was "
            f"fitted to have these labels: {listed(names)}."
        )
    return notes


class _HeldOut(NamedTuple):
    """Cross-validated predictions, and the models that made them."""

    probabilities: NDArray[np.float64]  # (D, K)
    known: NDArray[np.bool_]  # whether the model can judge, (D, 1); with several labels (D, K)
    fold: NDArray[np.int64]  # (D,)
    models: list[Any]


def _cross_predict(
    fit_fold: Callable[[NDArray[np.int64]], Any],
    X: Any,
    target: Target,
    labels: NDArray[Any],
    groups: NDArray[np.int64] | None,
    counts: NDArray[np.bool_],
    stages: Stages,
) -> _HeldOut:
    """Predict each document by a model fitted to others; `counts` marks documents with weight."""
    n = len(labels)
    probabilities, fold, everything = np.zeros((n, target.n_scores)), np.zeros(n, int), np.arange(n)
    can_judge = np.zeros((n, 1 if target.has_one_label else target.n_scores), dtype=bool)
    models: list[Any] = []
    folds = list(folds_of(target.strata(labels), groups))
    for number, rows in enumerate(folds, start=1):
        if not len(rows):
            continue
        others = np.setdiff1d(everything, rows)
        learnt = labels[others][counts[others]]
        if not target.has_one_label and not learnt.any():
            continue
        with stages(f"fold {number} of {len(folds)}"):
            model = fit_fold(others)
        columns = np.arange(target.n_scores)
        # The documents of the other folds may lack some classes.
        if target.has_one_label:
            columns = target.encode(model.classes_, len(model.classes_))
        p = probability_array(model, take_rows(X, rows))
        if p.shape != (len(rows), len(columns)):
            needs = (
                f"a column for each of the {len(columns)} classes of four fifths of the documents. "
                "Add documents of rare classes, or leave these out"
                if target.has_one_label
                else "a column for each label, as OneVsRestClassifier returns"
            )
            raise ValueError(
                f"predict_proba of {type(model).__name__} returns shape {p.shape}; an audit needs "
                f"{needs}."
            )
        probabilities[rows[:, np.newaxis], columns] = p
        if target.has_one_label:
            can_judge[rows, 0] = np.isin(labels[rows], learnt)
        else:
            can_judge[rows] = learnt.any(axis=0) & ~learnt.all(axis=0)
        fold[rows] = len(models)
        models.append(model)
    return _HeldOut(probabilities, can_judge, fold, models)


def _texts_in(X: Any, text_column: str | list[str]) -> Any:
    """Return the texts of a table, unchecked, or nothing if it lacks a column."""
    table = to_columns(X)
    names = [text_column] if isinstance(text_column, str) else text_column
    if not {*names} <= table.keys():
        return ()
    return table[names[0]] if len(names) == 1 else read_texts(table, names, "X", row_names(X))[0]


def _per_document(params: dict[str, Any], n: int) -> tuple[set[str], NDArray[np.bool_]]:
    """Return the fit arguments that have a value per document, and which documents have weight."""
    names, counts = set(), np.ones(n, dtype=bool)
    for name, value in params.items():
        what = name.rpartition("__")[2]
        if what not in OF_DOCUMENTS or not hasattr(value, "__len__") or isinstance(value, str):
            continue
        if len(value) != n:
            raise ValueError(
                f"params[{name!r}] has {plural(len(value), 'value')}; expected one for each of "
                f"{plural(n)}."
            )
        names.add(name)
        if what == "sample_weight":
            try:
                counts &= column_or_1d(value, dtype=np.float64) > 0
            except ValueError as error:
                raise ValueError(f"params[{name!r}]: {error}") from error
    return names, counts


def _class_doubts(
    held_out: _HeldOut, labels: NDArray[np.int64], judged: NDArray[np.int64], target: Target
) -> dict[str, Any]:
    """Return the entries of an audit for the classes of all documents that can be judged."""
    judged_labels = labels[judged]
    if (judged_labels == judged_labels[0]).all():
        raise ValueError(
            "All documents that can be judged are of the class "
            f"{target.names.tolist()[judged_labels[0]]!r}, so no other class can be suggested. "
            "Every other class has a single document or group, or no document of a weight above 0."
        )
    ordered = isinstance(target, OrderedClasses)
    doubts = label_doubts(held_out.probabilities[judged], judged_labels, ordered=ordered)
    rows = judged[doubts.order]
    return {
        "documents": rows,
        "given": labels[rows],
        "suggested": doubts.others[doubts.order],
        "doubts": doubts.chances[doubts.order],
    }


def _multilabel_doubts(held_out: _HeldOut, t: NDArray[Any]) -> dict[str, Any]:
    """Return the entries of an audit for each label, (D, L), that a document has or lacks."""
    columns: list[tuple[NDArray[Any], ...]] = []
    for number in range(t.shape[1]):
        judged = np.flatnonzero(held_out.known[:, number])
        has, p = t[judged, number].astype(np.int64), held_out.probabilities[judged, number]
        if len(np.unique(has)) == 2:
            chances = label_doubts(np.column_stack([1 - p, p]), has).chances
            rows = np.flatnonzero(chances >= _LEAST_DOUBT)
            number_of = np.full(len(rows), number)
            columns.append((judged[rows], number_of, has[rows] == 1, chances[rows]))
    if not columns:
        columns = [(np.empty(0, int), np.empty(0, int), np.empty(0, bool), np.empty(0))]
    documents, numbers, marked, doubts = map(np.concatenate, zip(*columns, strict=True))
    order = np.argsort(-doubts, kind="stable")
    return {
        "documents": documents[order],
        "given": numbers[order],
        "suggested": np.full(len(order), -1),
        "marked": marked[order],
        "doubts": doubts[order],
    }


def _explain_first(
    held_out: _HeldOut, X: Any, target: Target, entries: dict[str, Any], n: int
) -> tuple[ExplanationList, list[str]]:
    """Explain the n most doubtful labels, each with the model that was not fitted to it."""
    explanations: list[DocumentExplanation] = []
    names = target.names
    firsts = [entries[name][:n] for name in ("documents", "given", "suggested")]
    try:
        for row, label, suggested in zip(*firsts, strict=True):
            classes = {"target": names[label]}
            if isinstance(target, OneOfClasses):
                classes = {"target": names[suggested], "against": names[label]}
            model = held_out.models[held_out.fold[row]]
            explanations += explain(model, take_rows(X, np.array([row])), **classes)
    # `explain` refuses classifiers of other packages.
    except (TypeError, ValueError) as error:
        return ExplanationList(), [f"Doubts are not explained. {error}"]
    return ExplanationList(explanations), []


def _reads_texts(estimator: Any) -> bool:
    """Return whether the first step of an estimator takes raw texts, none of them missing."""
    # Searches and calibrations wrap an estimator.
    while hasattr(estimator, "estimator"):
        estimator = estimator.estimator
    first = estimator.steps[0][1] if isinstance(estimator, Pipeline) else estimator
    return bool(get_tags(first).input_tags.string)


def _groups(groups: Any, keys: list[str], codes: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """Encode the group of each document, split by label, or return None without any groups."""
    why = "an audit needs several"
    if groups is not None:
        return groups_by_label(check_several_groups(groups, len(codes), why), codes)
    same = duplicate_groups(keys)
    if not same:
        return None
    numbers = np.arange(len(codes))
    for group in same:
        numbers[group] = group[0]
    if not numbers.any():
        raise ValueError(f"All documents have the same words; {why} texts.")
    return groups_by_label(numbers, codes)
