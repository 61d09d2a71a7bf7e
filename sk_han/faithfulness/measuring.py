"""faithfulness_report: methods of explanation, measured by what happens without their words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from numbers import Real
from time import perf_counter
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state

from sk_han.classifier import HANClassifier
from sk_han.documents import DocumentArray
from sk_han.explainers import explain_iter
from sk_han.explainers.contributions import METHODS
from sk_han.explainers.sources import Reader
from sk_han.faithfulness.erasure import comprehensiveness_and_sufficiency, flip_shares, ranked
from sk_han.faithfulness.rationales import agreement, rationale_words
from sk_han.faithfulness.report import FaithfulnessReport

__all__ = ["faithfulness_report"]

T = TypeVar("T")

CONTROL = "random"
N_RESAMPLES = 1_000

Method = str | Callable[[Any, Any], Sequence[NDArray[np.floating]]]


def faithfulness_report(
    estimator: HANClassifier | Pipeline,
    X: Any,
    *,
    methods: Sequence[str] | Mapping[str, Method] = ("gradient_attention", "attention", "random"),
    fractions: Sequence[float] = (0.01, 0.05, 0.1, 0.2, 0.5),
    rationales: Sequence[Sequence[tuple[int, int]]] | None = None,
    random_state: int | np.random.RandomState | np.random.Generator | None = None,
) -> FaithfulnessReport:
    """Measure whether the words that explanations name are those that the estimator decides by.

    Each method ranks the words of a document by their contribution toward the predicted class,
    the highest first. Then words are taken out and the estimator predicts again. No true labels
    are needed: what is measured is how well an explanation describes the estimator, right or
    wrong, and not how good the estimator is.

    Parameters
    ----------
    estimator : HANClassifier or Pipeline
        Fitted, as `explain` takes it.
    X : n_documents raw texts, DocumentArray, or ndarray of int
        As the estimator's ``predict`` takes them. Documents without words are left out and
        counted.
    methods : sequence of str, or mapping of str to str or callable, \
            default=("gradient_attention", "attention", "random")
        Names that `explain` knows. Or a mapping of names for the report to such names or to
        functions ``(estimator, X) -> scores`` that give, for each document, an array of one
        score a word, toward the predicted class: so other packages are measured alike. The
        words are those of `explain`. The control "random" is added where it is missing, and no
        other method may have its name.
    fractions : sequence of float, default=(0.01, 0.05, 0.1, 0.2, 0.5)
        Shares of the words to take out or to leave alone; of each document rounded up.
    rationales : sequence of n_documents sequences of (start, end), default=None
        What people marked, as characters of each text. A word is marked if it overlaps a span.
    random_state : int, RandomState, Generator or None, default=None
        Source of the random control and of the bootstrap.

    Returns
    -------
    FaithfulnessReport

    Raises
    ------
    TypeError
        If the estimator is no HANClassifier and no Pipeline of our two steps, a method is
        neither a name nor a function, or rationales are no lists of two integers each.
    ValueError
        If there are no documents or none with a word, a method is unknown or takes the name of
        the control, scores do not fit the words or are not finite, a fraction is not above 0 and
        at most 1, or a rationale is outside its text.
    sklearn.exceptions.NotFittedError
        If the estimator is not fitted.

    Notes
    -----
    - **Comprehensiveness** (higher is better): the probability of the predicted class minus that
      without the top fraction of the words. Mean over `fractions`.
    - **Sufficiency** (lower is better): the same probability minus that of the top fraction
      alone. Below 0 these words convince more than the whole document.
    - **Flip** (lower is better): the smallest share of words whose removal changes the decision,
      in steps of 1 % to 10 % and of 5 % from there; 1.0 where none does.
    - **AUPRC** and **token F1** (higher is better): how high the marked words are ranked, as
      average precision, and as F1 of as many words as are marked. Documents without a marked
      word are left out and counted. These two say whether explanations look as people expect,
      which a faithful explanation of a model that reads otherwise does not.

    The first two and the last two are of DeYoung et al. (2020); there k, the number of words for
    F1, is one for the whole corpus, here each document has its own.

    Documents with words removed are unlike those seen in training, so part of a fall is surprise.
    The random control shows about how large it is: compare each method with the control, and
    compare methods on one estimator, not estimators.

    Intervals are percentiles of 1,000 bootstrap resamples of the documents; they tell how the
    means would vary over other documents, not over other fits. All methods are measured on the
    same documents, so whether a method beats the control is told by the interval of its
    difference to the control, in ``differences``, and not by whether two intervals overlap.

    References
    ----------
    DeYoung, Jain, Rajani, Lehman, Xiong, Socher, Wallace (2020). ERASER: A Benchmark to Evaluate
    Rationalized NLP Models. ACL. https://aclanthology.org/2020.acl-main.408/

    Examples
    --------
    >>> from sk_han import HANClassifier, faithfulness_report
    >>> from sk_han.datasets import make_reviews
    >>> texts, labels = make_reviews(60, random_state=0)
    >>> classifier = HANClassifier(embedding_dim=8, word_hidden=4, max_epochs=1, random_state=0)
    >>> report = faithfulness_report(classifier.fit(texts, labels), texts[:10], random_state=0)
    >>> report
    FaithfulnessReport(10 documents, gradient_attention, attention, random)
    >>> report.metrics
    ('comprehensiveness', 'sufficiency', 'flip')
    """
    chosen = _named(methods)
    shares = _checked_fractions(fractions)
    X = X if hasattr(X, "__len__") else list(X)  # each method reads it
    reader = Reader.of(estimator)
    ((documents, sources),) = reader.batches(X, max(1, len(X)))
    lengths = documents.words_per_document
    with_words = np.flatnonzero(lengths)
    if len(with_words) == 0:
        raise ValueError(
            f"None of the {len(documents)} documents has a word, so there is nothing to remove."
        )
    marked = None
    if rationales is not None:
        if not reader.sees_text(X):
            raise TypeError(
                f"rationales are characters of raw texts, but X holds word ids "
                f"({type(X).__name__}): pass the texts, to the whole Pipeline."
            )
        marked = rationale_words(rationales, sources)
    if isinstance(random_state, np.random.Generator):
        seed = int(random_state.integers(2**31 - 1))
    else:
        # scikit-learn takes None for NumPy's global generator, which is not ours to move.
        rng = np.random.RandomState() if random_state is None else check_random_state(random_state)
        seed = int(rng.randint(2**31 - 1))

    read = documents[with_words]  # the documents left out have no words, so scores still fit
    predict = reader.classifier.predict_proba
    whole = predict(read)
    values: dict[str, dict[str, NDArray[np.float64]]] = {}
    seconds: dict[str, float] = {}
    for name, method in chosen.items():
        start = perf_counter()
        scores = _scores(estimator, X, method, seed)
        seconds[name] = (perf_counter() - start) / len(documents)
        flat = _checked_scores(scores, name, lengths)
        of_read = _measured(predict, read, whole, ranked(read, flat), shares)
        measured = {metric: np.full(len(documents), np.nan) for metric in of_read}
        for metric, found in of_read.items():
            measured[metric][with_words] = found
        if marked is not None:
            measured |= dict(
                zip(("auprc", "token_f1"), agreement(flat, marked, lengths), strict=True)
            )
        for metric, found in measured.items():
            values.setdefault(metric, {})[name] = found
    n_without_words = len(documents) - len(with_words)
    n_without_rationale = None
    if marked is not None:
        unmarked = np.isnan(next(iter(values["auprc"].values())))
        n_without_rationale = int(unmarked.sum()) - n_without_words
    return FaithfulnessReport(
        values=values,
        means=_of_each(values, _mean),
        intervals=_of_each(values, partial(_interval, seed=seed)),
        differences=_of_each(_over_control(values), partial(_interval, seed=seed)),
        seconds=seconds,
        fractions=shares,
        n_without_words=n_without_words,
        n_without_rationale=n_without_rationale,
    )


def _named(methods: Any) -> dict[str, Method]:
    """Give the methods by the names they have in the report, with the control."""
    if isinstance(methods, str) or callable(methods) or not isinstance(methods, Iterable):
        raise TypeError(
            f"methods must be a sequence of names or a mapping of names to methods; got "
            f"{methods!r}. Put a lone method into a dict: {{'name': method}}."
        )
    pairs = methods.items() if isinstance(methods, Mapping) else ((name, name) for name in methods)
    given = list(pairs)
    for name, method in given:
        if not isinstance(name, str) or not (isinstance(method, str) or callable(method)):
            raise TypeError(
                f"A method must be a name that explain knows, or in a mapping of names a function "
                f"(estimator, X) -> scores; got {name!r}: {method!r}."
            )
        if isinstance(method, str) and method not in METHODS:
            raise ValueError(
                f"A method must be one of {list(METHODS)} or a function; got {method!r}."
            )
        if name == CONTROL and method != CONTROL:
            raise ValueError(
                f"{CONTROL!r} is the name of the control, which every method is compared with; got "
                f"{method!r} for it. Give that method another name."
            )
    named: dict[str, Method] = dict(given)
    return named if CONTROL in named else named | {CONTROL: CONTROL}


def _checked_fractions(fractions: Sequence[float]) -> tuple[float, ...]:
    shares = tuple(fractions) if isinstance(fractions, Iterable) else ()
    if not shares or not all(isinstance(share, Real) and 0 < share <= 1 for share in shares):
        raise ValueError(
            f"fractions must be a sequence of one or more shares above 0 and at most 1, for "
            f"example (0.1,); got {fractions!r}."
        )
    return tuple(map(float, shares))


def _scores(estimator: Any, X: Any, method: Method, seed: int) -> Sequence[Any]:
    """Score the words of each document by one method."""
    if not isinstance(method, str):
        return method(estimator, X)
    explanations = explain_iter(estimator, X, method=method, random_state=seed)
    return [explanation.contributions for explanation in explanations]


def _checked_scores(
    scores: Sequence[Any], name: str, lengths: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Give the scores of all words, shape (n_words,), or say of which document they are wrong."""
    if len(scores) != len(lengths):
        raise ValueError(
            f"The method {name!r} gave scores for {len(scores)} documents; there are "
            f"{len(lengths)}."
        )
    arrays = [np.asarray(of_document, dtype=np.float64) for of_document in scores]
    for i, (array, length) in enumerate(zip(arrays, lengths, strict=True)):
        if array.shape != (length,):
            raise ValueError(
                f"The method {name!r} gave scores of the shape {array.shape} for document {i}; it "
                f"has {length} words, those of explain(estimator, X)[{i}].words."
            )
        if not np.isfinite(array).all():
            word = int(np.isfinite(array).argmin())
            raise ValueError(
                f"The method {name!r} gave {array[word]} for word {word} of document {i}; scores "
                "must be finite. Give a word that nothing is known of the score 0."
            )
    return np.concatenate(arrays)


def _measured(
    predict: Callable[[DocumentArray], NDArray[np.float64]],
    documents: DocumentArray,
    whole: NDArray[np.float64],
    rank: NDArray[np.int64],
    fractions: Sequence[float],
) -> dict[str, NDArray[np.float64]]:
    """Measure the removal of words, for each document."""
    comprehensiveness, sufficiency = comprehensiveness_and_sufficiency(
        predict, documents, whole, rank, fractions
    )
    return {
        "comprehensiveness": comprehensiveness,
        "sufficiency": sufficiency,
        "flip": flip_shares(predict, documents, whole, rank),
    }


def _over_control(
    values: Mapping[str, Mapping[str, NDArray[np.float64]]],
) -> dict[str, dict[str, NDArray[np.float64]]]:
    """Give each method's differences to the control, document by document."""
    return {
        metric: {
            name: found - by_method[CONTROL] for name, found in by_method.items() if name != CONTROL
        }
        for metric, by_method in values.items()
    }


def _of_each(
    values: Mapping[str, Mapping[str, NDArray[np.float64]]], summary: Callable[[Any], T]
) -> dict[str, dict[str, T]]:
    """Sum up the documents of each metric and method, those left out taken away."""
    return {
        metric: {name: summary(found[~np.isnan(found)]) for name, found in by_method.items()}
        for metric, by_method in values.items()
    }


def _mean(values: NDArray[np.float64]) -> float:
    return float(values.mean()) if len(values) else float("nan")


def _interval(values: NDArray[np.float64], seed: int) -> tuple[float, float]:
    """Give the 95 % interval of the mean: percentiles over resamples of the documents."""
    if len(values) == 0:
        return float("nan"), float("nan")
    # One seed for all methods, so that they are resampled alike.
    rng = np.random.default_rng(seed)
    means = [values[rng.integers(len(values), size=len(values))].mean() for _ in range(N_RESAMPLES)]
    low, high = np.percentile(means, [2.5, 97.5])
    return float(low), float(high)
