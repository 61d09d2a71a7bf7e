"""Estimators around the model: what is explained of searches, calibrations, votes and stacks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from sk_han.inspection.results.document import DocumentExplanation
from sk_han.targets import OneOfClasses
from sk_han.utils.counts import a_kind, counted

if TYPE_CHECKING:
    from sklearn.ensemble import StackingClassifier, VotingClassifier

# Of a change of the log-odds, to see how a stack follows one of its members.
STEP = 0.1

Weights = Callable[[Sequence[DocumentExplanation], int, int | None], NDArray[np.float64]]


class Ensemble(NamedTuple):
    """Several fitted models that predict together."""

    estimator: Any  # predicts for all of them
    members: list[Any]
    names: list[str]  # of the members, as attributes of the estimator
    # Of the members' explanations of one document, the number of the class, and that of its rival
    # or None: shape (n_members,).
    weights: Weights

    def labels_of(self, member: int) -> NDArray[Any]:
        """Return the classes as a member names them, in the order of the estimator's.

        Votes and stacks hand the numbers of the classes to their members.
        """
        labels: NDArray[Any] = np.asarray(self.members[member].classes_)
        known = np.asarray(self.estimator.classes_)
        if len(labels) != len(known):
            raise ValueError(
                f"{self.names[member]} was fitted on {len(labels)} of {len(known)} classes, so its "
                "explanations cannot be added to the others'. Fit it on documents of all classes."
            )
        return labels


def check_fitted(estimator: Any) -> None:
    """Refuse what is no fitted estimator, without printing it: it may be all documents."""
    if not hasattr(estimator, "fit"):
        raise TypeError(
            f"The first argument is {a_kind(estimator)}, which is no estimator: a fitted "
            "classifier comes first, then the documents."
        )
    check_is_fitted(estimator)


def opened(estimator: Any) -> Any:
    """Return the model that an estimator passes documents to, or an `Ensemble` of several.

    The steps of a Pipeline before a search, a vote or the like are kept.
    """
    if isinstance(estimator, Pipeline) and estimator.steps:
        return _opened_pipeline(estimator)
    if isinstance(estimator, FrozenEstimator):
        return opened(estimator.estimator)
    if hasattr(estimator, "best_estimator_"):  # searches of other packages have it too
        return opened(estimator.best_estimator_)
    # By name: importing votes and stacks takes memory that an explanation must not fail for.
    ours = (k for k in type(estimator).__mro__ if k.__module__.startswith("sklearn."))
    kinds = {kind.__name__ for kind in ours}
    if "CalibratedClassifierCV" in kinds:
        check_is_fitted(estimator)
        members = [fold.estimator for fold in estimator.calibrated_classifiers_]
        names = [f"calibrated_classifiers_[{i}].estimator" for i in range(len(members))]
        return Ensemble(estimator, members, names, _constant(np.ones(len(members))))
    if kinds & {"VotingClassifier", "StackingClassifier"}:
        check_is_fitted(estimator)
        if "VotingClassifier" in kinds:
            weights = _constant(np.array(_votes(estimator)))
        else:
            _check_stack(estimator)
            weights = partial(_slopes, estimator)
        chosen = [name for name, member in estimator.named_estimators_.items() if member != "drop"]
        names = [f"named_estimators_[{name!r}]" for name in chosen]
        return Ensemble(estimator, list(estimator.estimators_), names, weights)
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


def probabilities_of(ensemble: Ensemble, X: Any) -> NDArray[np.float64]:
    """Return the probabilities (D, K) of the ensemble, or the shares of its members' votes."""
    estimator = ensemble.estimator
    if hasattr(estimator, "predict_proba"):
        return np.asarray(estimator.predict_proba(X), dtype=np.float64)
    vote = estimator
    while isinstance(vote, Pipeline):
        X = vote[:-1].transform(X) if len(vote) > 1 else X
        vote = vote[-1]
    chosen = np.asarray(vote.transform(X))  # (D, members), numbers of classes
    classes = np.arange(len(estimator.classes_))
    votes = np.array(_votes(vote), dtype=np.float64)
    return np.einsum("dmc,m->dc", chosen[:, :, None] == classes, votes / votes.sum())


def combined(
    ensemble: Ensemble, found: Sequence[DocumentExplanation], probabilities: NDArray[np.float64]
) -> DocumentExplanation:
    """Add up what the members explain of one document; the probabilities are (K,)."""
    first, classes = found[0], np.asarray(ensemble.estimator.classes_)
    for name, other in zip(ensemble.names, found, strict=True):
        if not (
            np.array_equal(first.word_spans, other.word_spans)
            and np.array_equal(first.sentence_spans, other.sentence_spans)
        ):
            raise ValueError(
                f"{ensemble.names[0]} and {name} read different words or sentences of a document, "
                "so their explanations cannot be added up. Explain each member by itself."
            )
    target = first.classes.tolist().index(first.target)
    shares = np.full(len(found), 1 / len(found))
    rival = None if first.against is None else first.classes.tolist().index(first.against)
    weights = ensemble.weights(found, target, rival) if first.signed else shares

    def mean(field: str, factors: NDArray[np.float64]) -> NDArray[np.float64]:
        return factors @ np.array([getattr(explanation, field) for explanation in found])

    errors = [e.completeness_error for e in found if e.completeness_error is not None]
    of_sentences = [e.sentence_errors for e in found if e.sentence_errors is not None]
    bases = [e.base_value for e in found if e.base_value is not None]
    return replace(
        first,
        word_attention=mean("word_attention", shares),
        sentence_attention=mean("sentence_attention", shares),
        contributions=mean("contributions", weights),
        sentence_contributions=mean("sentence_contributions", weights),
        ngram_contributions=mean("ngram_contributions", weights),
        classes=classes,
        probabilities=probabilities,
        predicted=classes[probabilities.argmax()],
        target=classes[target],
        against=None if rival is None else classes[rival],
        unknown=np.all([explanation.unknown for explanation in found], axis=0),
        truncated=any(explanation.truncated for explanation in found),
        completeness_error=float(np.abs(weights) @ errors) if errors else None,
        sentence_errors=np.sqrt(weights**2 @ np.square(of_sentences)) if of_sentences else None,
        base_value=float(weights @ bases) if bases else None,
    )


def _opened_pipeline(pipeline: Pipeline) -> Any:
    *steps, (name, last) = pipeline.steps
    inside = opened(last)
    if inside is last:
        return pipeline
    if not isinstance(inside, Ensemble):
        return Pipeline([*steps, (name, inside)])
    members = [Pipeline([*steps, (name, member)]) for member in inside.members]
    names = [f"named_steps[{name!r}].{member}" for member in inside.names]
    return Ensemble(Pipeline([*steps, (name, inside.estimator)]), members, names, inside.weights)


def _constant(votes: NDArray[np.float64]) -> Weights:
    return lambda found, target, rival: votes / votes.sum()


def _votes(vote: VotingClassifier) -> list[float]:
    """Return the weight of each member that was not dropped."""
    if vote.weights is None:
        return [1.0] * len(vote.estimators_)
    pairs = zip(vote.estimators, vote.weights, strict=True)
    return [float(weight) for (_, member), weight in pairs if member != "drop"]


def _check_stack(stack: StackingClassifier) -> None:
    if isinstance(stack.classes_, list):
        raise TypeError(
            "explain follows a stack of classifiers of one class a document, and this one has "
            "several labels. Explain its members: explain(stack.estimators_[i], X)."
        )
    methods = set(stack.stack_method_)
    if stack.passthrough or methods != {"predict_proba"} or not hasattr(stack, "predict_proba"):
        raise TypeError(
            "explain follows a stack through the probabilities of its members; this one has "
            f"passthrough={stack.passthrough} and reads {sorted(methods)}. Explain those of its "
            "members that hold a HANClassifier: explain(stack.estimators_[i], X), where a class is "
            "its number in stack.classes_."
        )


def _slopes(
    stack: StackingClassifier, found: Sequence[DocumentExplanation], target: int, rival: int | None
) -> NDArray[np.float64]:
    """Compute by how much the log-odds of a stack move with those of each member, (n_members,).

    The slope at the document, by central differences: a member's log-odds of the target, against a
    rival or all others, rise and fall by half a step, and its other classes keep their proportions.
    """
    of_members = np.array([explanation.probabilities for explanation in found])  # (M, C)
    moved = np.repeat(of_members[None], 2 * len(found), axis=0)  # (2 M, M, C)
    for i, probabilities in enumerate(of_members):
        for row, step in ((2 * i, STEP / 2), (2 * i + 1, -STEP / 2)):
            # Factors of the classes' odds, whatever the probability of the others.
            odds = np.ones(len(probabilities))
            odds[target] = np.exp(step if rival is None else step / 2)
            if rival is not None:
                odds[rival] = np.exp(-step / 2)
            moved[row, i] = probabilities * odds / (probabilities @ odds)
    if of_members.shape[1] == 2:
        moved = moved[:, :, 1:]  # a stack leaves the first of two classes out
    of_stack = stack.final_estimator_.predict_proba(moved.reshape(len(moved), -1))
    scores = np.log(np.maximum(of_stack, np.finfo(float).tiny))
    at = OneOfClasses(stack.classes_).log_odds(
        scores, np.full(len(moved), target), -1 if rival is None else np.full(len(moved), rival)
    )
    slopes: NDArray[np.float64] = (at[::2] - at[1::2]) / STEP
    if not slopes.any():
        raise ValueError(
            f"The final estimator {type(stack.final_estimator_).__name__} does not move when the "
            "probabilities of its members move a little, as trees do not: so there is no slope to "
            "explain it by. Explain its members: explain(stack.estimators_[0], X), where a class "
            "is its number in stack.classes_."
        )
    return slopes
