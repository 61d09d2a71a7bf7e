"""Access to the fitted model inside a search, a Pipeline or a Scorer, and to how it reads X."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sk_han._model.fitted_model import FittedModel
from sk_han._utils.messages import a_kind, plural
from sk_han._validation.documents import check_texts, holds_word_ids
from sk_han.inspection._explanations import ExplainedModel


def n_documents_of(X: Any) -> int:
    """Return the number of documents; a sparse matrix has a shape and no length."""
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def texts_of(X: Any) -> tuple[str, ...] | None:
    """Return documents as texts, or None for word ids and for features of other estimators."""
    if holds_word_ids(X):
        return None
    try:
        return tuple(check_texts(X))
    except (TypeError, ValueError):
        return None


def inner_model(estimator: Any) -> Any:
    """Return the model inside a fitted search or a FrozenEstimator; return any other unchanged."""
    # The class is recognized by its name, since a Scorer works without scikit-learn.
    if type(estimator).__name__ == "FrozenEstimator":
        return inner_model(estimator.estimator)
    # Searches of other packages have this attribute, too.
    if hasattr(estimator, "best_estimator_"):
        return inner_model(estimator.best_estimator_)
    if hasattr(estimator, "cv_results_"):
        raise TypeError(
            f"This {type(estimator).__name__} holds no fitted model, since refit=False. Fit an "
            "estimator with its best_params_, and give that."
        )
    return estimator


def fitted_steps(estimator: Any) -> list[Any]:
    """Return the fitted steps that a prediction goes through; the last one is the model.

    Nested searches, FrozenEstimators and Pipelines are flattened. Samplers of imbalanced-learn are
    left out, as in its own predictions.
    """
    if not hasattr(estimator, "fit") and not hasattr(estimator, "predict_proba"):
        # The message does not quote the argument, which may be all documents.
        raise TypeError(
            f"The first argument is {a_kind(estimator)}, which is not an estimator: a fitted "
            "classifier comes first, then the documents."
        )
    steps = _steps(estimator)
    for model in (estimator, steps[-1]):
        if hasattr(model, "fit"):
            from sklearn.utils.validation import check_is_fitted

            check_is_fitted(model)
    return steps


def _steps(estimator: Any) -> list[Any]:
    inner = inner_model(estimator)
    if not hasattr(inner, "steps"):
        return [inner]
    steps = [
        step
        for _, step in inner.steps
        if step not in (None, "passthrough") and not hasattr(step, "fit_resample")
    ]
    return [inside for step in steps for inside in _steps(step)] or [None]


def explained_model(estimator: Any, by: str = "explain") -> ExplainedModel:
    """Return the fitted model inside an estimator, with the steps before it; errors name `by`."""
    *steps, model = fitted_steps(estimator)
    if not isinstance(getattr(model, "model_", None), FittedModel):
        raise TypeError(
            f"{by} needs a HANClassifier, a Scorer, a Pipeline that ends in one, or a search of "
            f"such; got {'a Pipeline that ends in ' * bool(steps)}{type(model).__name__}."
            f"{_repair(model)}"
        )
    explained: ExplainedModel = (
        model._explained_model() if hasattr(model, "fit") else ExplainedModel(model.model_)
    )
    for position, step in enumerate(steps, start=1):
        if not hasattr(step, "locate"):
            continue
        if position < len(steps):
            raise TypeError(
                f"{by} cannot see through {steps[position]!r} between tokenizer and "
                f"classifier. Put it before the tokenizer, or {by}(pipeline[-1], documents)."
            )
        fitted = replace(explained.fitted, tokenizer=step)
        return replace(explained, fitted=fitted, steps=steps[:-1])
    return replace(explained, steps=steps)


def predicts_number(estimator: Any) -> bool:
    """Return whether an estimator is a regressor, or a Scorer of one."""
    fitted = getattr(_steps(estimator)[-1], "model_", None)
    if isinstance(fitted, FittedModel):
        return fitted.target.is_number
    from sklearn.base import is_regressor

    return hasattr(estimator, "__sklearn_tags__") and bool(is_regressor(estimator))


def refuse_number(estimator: Any, by: str) -> None:
    """Raise a TypeError if an estimator predicts numbers, which the function `by` does not take."""
    if predicts_number(estimator):
        raise TypeError(
            f"{by} is for classes, and this {type(estimator).__name__} predicts a number. Give a "
            "HANClassifier that is fitted to ranges of y, such as pandas.qcut(y, 4).astype(str)."
        )


def own_results(estimator: Any) -> str:
    """Return advice on the results of an estimator that does not classify documents, if any."""
    shown_by = getattr(type(estimator), "_shown_by", None)
    return "" if shown_by is None else f" {shown_by}"


def _repair(model: Any) -> str:
    """Return advice on how to explain a model that holds fitted classifiers."""
    if type(model).__name__ in ("FixedThresholdClassifier", "TunedThresholdClassifierCV"):
        return f" The threshold of a {type(model).__name__} moves no score: give its estimator_."
    if hasattr(model, "calibrated_classifiers_"):
        return " Take the model of a fold, calibrated_classifiers_[0].estimator."
    names = list(getattr(model, "named_estimators_", {}))
    if not names:
        return own_results(model)
    return (
        f" Take one of its members, such as named_estimators_[{names[0]!r}]; there a class is its "
        "number in classes_."
    )


def probability_array(estimator: Any, X: Any) -> NDArray[np.float64]:
    """Predict probabilities, (D, K), by any classifier, and check that they are finite."""
    probabilities = estimator.predict_proba(X)
    refuse_label_lists(estimator, probabilities)
    probabilities = np.asarray(probabilities, dtype=np.float64)
    n_wrong = int((~np.isfinite(probabilities).all(axis=1)).sum())
    if n_wrong:
        raise ValueError(
            f"predict_proba of {type(estimator).__name__} gives numbers that are not finite for "
            f"{n_wrong:,} of {plural(len(probabilities))}. Look for NaN in its training data."
        )
    return probabilities


def refuse_label_lists(estimator: Any, probabilities: Any = None) -> None:
    """Refuse multilabel classifiers whose `predict_proba` returns a list of arrays."""
    is_list = isinstance(estimator.classes_, list)
    if is_list or (probabilities is not None and np.ndim(probabilities) != 2):
        raise TypeError(
            f"predict_proba of {type(estimator).__name__} returns no array of documents by labels, "
            "as that of HANClassifier and OneVsRestClassifier."
        )


class ReadDocuments(NamedTuple):
    """Documents as a model reads them, and which of them it was fitted to."""

    words: tuple[str, ...] | None  # for comparisons and for fitting a baseline
    texts: tuple[str, ...] | None  # to be shown; None for word ids
    n_words: NDArray[np.int64] | None  # (D,)
    learnt_from: NDArray[np.int64] | None = None  # rows that equal a training document
    n_not_compared: int = 0  # documents with too few known words to compare


def reader_of(estimator: Any) -> ExplainedModel | None:
    """Return the HANClassifier inside an estimator, or None for other classifiers."""
    try:
        return explained_model(estimator)
    except TypeError:
        return None


def read_documents(model: ExplainedModel | None, X: Any) -> ReadDocuments:
    """Read documents as their model does, or as plain texts."""
    if model is None:
        texts = texts_of(X)
        n_words = None if texts is None else np.array([len(text.split()) for text in texts])
        return ReadDocuments(texts, texts, n_words)
    words: list[str] = []
    lengths: list[int] = []
    model = replace(model, fitted=model.fitted.without_vectors())
    hashes, compared = model.fitted.text_hashes, [np.empty(0, dtype=bool)]
    learnt_from = compared.copy()
    for documents, sources in model.batches(X):
        words += [source.text for source in sources]
        lengths += documents.words_per_document.tolist()
        if hashes is not None:
            learnt_from.append(hashes.contain(documents))
            compared.append(hashes.are_compared(documents))
    has_texts, is_compared = model.fitted.tokenizer is not None, np.concatenate(compared)
    return ReadDocuments(
        tuple(words),
        tuple(words) if has_texts else None,
        np.array(lengths),
        np.flatnonzero(np.concatenate(learnt_from)) if is_compared.any() else None,
        int(np.count_nonzero(np.array(lengths)[: len(is_compared)] * ~is_compared)),
    )


def words_of(model: ExplainedModel | None, X: Any, name: str) -> Sequence[str] | None:
    """Return documents as texts: raw texts unchanged, others in the words that the model reads."""
    if model is not None and model.are_raw_texts(X) and not model.steps:
        return model.fitted.texts(X, name)
    return read_documents(model, X).words
