"""Estimators around the model: what is explained of searches and calibrations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from sk_han.inspection.results.document import DocumentExplanation
from sk_han.utils.counts import a_kind, counted


class Ensemble(NamedTuple):
    """A calibration, whose models predict together."""

    estimator: Any  # predicts for all of them
    members: list[Any]
    place: str  # of the first member, as an attribute of the estimator

    def check_classes(self) -> None:
        """Check that each model knows all classes."""
        known = len(self.estimator.classes_)
        for number, member in enumerate(self.members):
            if len(member.classes_) != known:
                raise ValueError(
                    f"Model {number} of the calibration was fitted on {len(member.classes_)} of "
                    f"{known} classes, so its explanations cannot be added to the others'. Fit it "
                    "on documents of all classes."
                )


def check_fitted(estimator: Any) -> None:
    """Refuse what is no fitted estimator, without printing it: it may be all documents."""
    if not hasattr(estimator, "fit"):
        raise TypeError(
            f"The first argument is {a_kind(estimator)}, which is no estimator: a fitted "
            "classifier comes first, then the documents."
        )
    check_is_fitted(estimator)


def opened(estimator: Any) -> Any:
    """Return the model that an estimator passes documents to, or the `Ensemble` of a calibration.

    The steps of a Pipeline before a search or the like are kept.
    """
    if isinstance(estimator, Pipeline) and estimator.steps:
        return _opened_pipeline(estimator)
    if isinstance(estimator, FrozenEstimator):
        return opened(estimator.estimator)
    if hasattr(estimator, "best_estimator_"):  # searches of other packages have it too
        return opened(estimator.best_estimator_)
    # By the module: importing it takes memory that an explanation must not fail for.
    if "sklearn.calibration" in {kind.__module__ for kind in type(estimator).__mro__}:
        check_is_fitted(estimator)
        members = [fold.estimator for fold in estimator.calibrated_classifiers_]
        return Ensemble(estimator, members, "calibrated_classifiers_[0].estimator")
    if hasattr(estimator, "cv_results_"):
        raise TypeError(
            f"This {type(estimator).__name__} holds no fitted model, since refit=False. Fit an "
            "estimator with its best_params_, and explain that."
        )
    return estimator


def probability_array(estimator: Any, X: Any) -> NDArray[np.float64]:
    """Return the probabilities of documents by labels, (D, K), of any classifier."""
    found = estimator.predict_proba(X)
    refuse_label_lists(estimator, found)
    probabilities = np.asarray(found, dtype=np.float64)
    n_wrong = int((~np.isfinite(probabilities).all(axis=1)).sum())
    if n_wrong:
        raise ValueError(
            f"predict_proba of {type(estimator).__name__} gives numbers that are not finite for "
            f"{n_wrong:,} of {counted(len(probabilities))}. Look for NaN or infinite numbers in "
            "what it was fitted to."
        )
    return probabilities


def refuse_label_lists(estimator: Any, probabilities: Any = None) -> None:
    """Refuse classifiers of several labels that have a list with an array for each label."""
    is_list = isinstance(estimator.classes_, list)
    if is_list or (probabilities is not None and np.ndim(probabilities) != 2):
        raise TypeError(
            f"predict_proba of {type(estimator).__name__} returns no array of documents by labels, "
            "as that of HANClassifier and OneVsRestClassifier."
        )


def combined(
    found: Sequence[DocumentExplanation], probabilities: NDArray[np.float64]
) -> DocumentExplanation:
    """Average what the models of a calibration explain of one document; probabilities are (K,)."""
    first = found[0]
    fields = ["word_attention", "sentence_attention", "contributions"]
    fields += ["sentence_contributions", "ngram_contributions", "base_value"]
    means = {
        name: np.mean([getattr(explanation, name) for explanation in found], axis=0)
        for name in fields
        if getattr(first, name) is not None
    }
    if first.sentence_errors is not None:
        errors: Any = [explanation.sentence_errors for explanation in found]
        means["sentence_errors"] = np.linalg.norm(errors, axis=0) / len(found)
    return replace(
        first,
        **means,
        probabilities=probabilities,
        predicted=first.classes[probabilities.argmax()],
        unknown=np.all([explanation.unknown for explanation in found], axis=0),
    )


def _opened_pipeline(pipeline: Pipeline) -> Any:
    *steps, (name, last) = pipeline.steps
    inside = opened(last)
    if inside is last:
        return pipeline
    if not isinstance(inside, Ensemble):
        return Pipeline([*steps, (name, inside)])
    members = [Pipeline([*steps, (name, member)]) for member in inside.members]
    place = f"named_steps[{name!r}].{inside.place}"
    return Ensemble(Pipeline([*steps, (name, inside.estimator)]), members, place)
