"""Faithfulness: whether predictions depend on the words that explanations name."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Real
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.base import ClassifierMixin
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state

from sk_han._documents import DocumentArray
from sk_han._utils.messages import a_kind, plural
from sk_han._utils.metrics import mean_interval
from sk_han.inspection._contributions import METHODS
from sk_han.inspection._estimators import explained_model
from sk_han.inspection._explanations import ExplainedModel, listed_documents
from sk_han.inspection._results.faithfulness import FaithfulnessReport

Predict = Callable[[DocumentArray], NDArray[np.float64]]
Keep = Callable[[NDArray[np.bool_]], DocumentArray]  # documents of these words alone, (T,)
Decide = Callable[[NDArray[np.float64]], NDArray[np.int64]]  # of probabilities, (D, K)

# Fine steps up to 10 %, where good explanations flip the decision.
FLIP_GRID = (*(step / 100 for step in range(1, 11)), *(step / 100 for step in range(15, 100, 5)))


def rank_words(documents: DocumentArray, scores: NDArray[np.floating]) -> NDArray[np.int64]:
    """Rank the words of each document (T,), 0 for the highest score; ties in reading order."""
    lengths = documents.words_per_document
    document = np.repeat(np.arange(len(documents)), lengths)
    order = np.lexsort((-scores, document))
    rank = np.empty(len(scores), dtype=np.int64)
    first_word = documents.word_starts[:-1]
    rank[order] = np.arange(len(scores)) - np.repeat(first_word, lengths)
    return rank


def top_counts(lengths: NDArray[np.int64], fraction: float) -> NDArray[np.int64]:
    """Return the number of words in the top fraction of each document (D,), rounded up."""
    # In floating point, 7 % of 100 words is slightly more than 7.
    return np.ceil(fraction * lengths - 1e-9).astype(np.int64)


def _most_probable(probabilities: NDArray[np.float64]) -> NDArray[np.int64]:
    return probabilities.argmax(axis=1)


def comprehensiveness_and_sufficiency(
    predict: Predict,
    documents: DocumentArray,
    whole: NDArray[np.float64],
    rank: NDArray[np.int64],
    fractions: Sequence[float],
    decide: Decide = _most_probable,
    keep: Keep | None = None,
) -> NDArray[np.float64]:
    """Measure how much the probability of the predicted class drops, (2, D), mean over fractions.

    Row 0 is without the top words, row 1 with these alone. `whole` (D, K) are the probabilities of
    complete documents.
    """
    lengths = documents.words_per_document
    rows, predicted = np.arange(len(documents)), decide(whole)
    falls = np.zeros((2, len(documents)))
    for fraction in fractions:
        top = rank < np.repeat(top_counts(lengths, fraction), lengths)
        for fall, kept in zip(falls, (~top, top), strict=True):
            reduced = predict((keep or documents.keep_words)(kept))
            fall += (whole - reduced)[rows, predicted] / len(fractions)
    return falls


def flip_shares(
    predict: Predict,
    documents: DocumentArray,
    whole: NDArray[np.float64],
    rank: NDArray[np.int64],
    decide: Decide = _most_probable,
    keep: Keep | None = None,
) -> NDArray[np.float64]:
    """Find the smallest share of top words whose removal changes the decision, (D,).

    Tries the shares of `FLIP_GRID`, rounded up to words; 1.0 if none changes it.
    """
    lengths = documents.words_per_document
    decision = decide(whole)
    shares = np.ones(len(documents))
    removed = np.zeros(len(documents), dtype=np.int64)
    unchanged = np.ones(len(documents), dtype=bool)
    for fraction in FLIP_GRID:
        counts = top_counts(lengths, fraction)
        # In a short document, several shares give the same number of words.
        rows = np.flatnonzero(unchanged & (counts > removed) & (counts < lengths))
        if len(rows) == 0:
            continue
        removed = counts
        # Documents that are not tried stay whole, so that none of their sentences is encoded.
        counts = np.where(np.isin(np.arange(len(counts)), rows), counts, 0)
        reduced = (keep or documents.keep_words)(rank >= np.repeat(counts, lengths))[rows]
        flipped = rows[decide(predict(reduced)) != decision[rows]]
        shares[flipped] = counts[flipped] / lengths[flipped]
        unchanged[flipped] = False
    return shares


def linear_datamodeling_scores(
    documents: DocumentArray,
    kept: NDArray[np.bool_],
    true: NDArray[np.float64],
    scores: NDArray[np.floating],
) -> NDArray[np.float64]:
    """Correlate the ranks of predicted and true scores of sets of sentences, (D,).

    `kept` (B, N) are the sentences of B sets, `true` (B, D) the scores of documents of these alone,
    and `scores` (T,) those of words, whose sums predict them. The result is NaN for documents of
    fewer than three sentences, and where all true scores are the same; 0 where the predicted ones
    are.
    """
    by_sentence = np.add.reduceat(scores, documents.sentence_starts[:-1])  # (N,)
    starts = documents.document_starts[:-1]
    predicted = np.add.reduceat(kept * by_sentence, starts, axis=1)  # (B, D)
    ranks = [rankdata(values, axis=0) - (len(kept) + 1) / 2 for values in (predicted, true)]
    shared, *squares = (
        (a * b).sum(axis=0) for a, b in (ranks, (ranks[0], ranks[0]), (ranks[1], ranks[1]))
    )
    result = np.zeros(len(documents))
    np.divide(shared, np.sqrt(squares[0] * squares[1]), out=result, where=shared != 0)
    result[(documents.sentences_per_document < 3) | (squares[1] == 0)] = np.nan
    return result


CONTROL = "random"
METRICS = ("comprehensiveness", "sufficiency", "flip", "lds")
_DROPS = METRICS[:2]  # of a probability, which may also rise
_SETS = 20  # of sentences
Method = str | Callable[[Any, Any], Sequence[NDArray[np.floating]]]


def faithfulness_report(
    estimator: ClassifierMixin | Pipeline,
    X: Any,
    *,
    methods: Sequence[str] | Mapping[str, Method] = ("shapley", "attention", "random"),
    fractions: Sequence[float] = (0.01, 0.05, 0.1, 0.2, 0.5),
    random_state: int | np.random.RandomState | np.random.Generator | None = None,
) -> FaithfulnessReport:
    """Measure whether predictions depend on the words that explanations name.

    Each method ranks the words of a document by their contribution to the predicted class, the
    highest first. Then words are removed and the estimator predicts again. No true labels are
    needed, because the report measures how well explanations describe the estimator, not how good
    the estimator is.

    Parameters
    ----------
    estimator : HANClassifier, HANRegressor or Pipeline
        Fitted, as `explain` takes it.
    X : n_documents raw texts, DocumentArray, or ndarray of int
        As for ``predict``. Documents without words are left out and counted.
    methods : sequence of str, or mapping of str to str or callable, \
            default=("shapley", "attention", "random")
        Names of methods of `explain`, or a mapping from names for the report to such names or to
        functions ``(estimator, X) -> scores``, for example of other packages. These return, for
        each document, an array with a score for each word of `explain`, for the predicted class.
        The control "random" is added if it is missing; no other method may have this name.
    fractions : sequence of float, default=(0.01, 0.05, 0.1, 0.2, 0.5)
        Shares of the words of each document to remove, or to keep alone; rounded up to words.
    random_state : int, RandomState, Generator or None, default=None
        Controls the random ranking.

    Raises
    ------
    TypeError
        If the estimator is neither of these nor a Pipeline that ends in one, a method is
        neither a name nor a function.
    ValueError
        If no document has a word, a method is unknown or has the name of the control, scores do not
        match the words or are not finite, or a fraction is not in (0, 1].
    sklearn.exceptions.NotFittedError
        If the estimator is not fitted.

    Notes
    -----
    - **Comprehensiveness** (higher is better): how much the probability of the predicted class
      drops without the top fraction of the words. Mean over `fractions`.
    - **Sufficiency** (lower is better): how much it drops with the top fraction alone. Below 0, it
      is higher with these words alone.
    - **Flip** (lower is better): the smallest share of top words whose removal changes the
      decision, in steps of 1 % up to 10 % and of 5 % above; 1.0 if none does.
    - **LDS**, the linear datamodeling score (higher is better): the rank correlation of predicted
      and true scores over 20 random sets of sentences of a document. The predicted score of a set
      is the sum of its contributions, and the true one the probability if the others are removed.
      Documents of fewer than three sentences are left out.

    The first two are those of DeYoung et al. (2020). The last, of Cohen-Wang et al. (2024), also
    measures the sizes of contributions. In place of a probability, the difference of a
    predicted number from the mean prediction without words drops, in the unit of y, and a decision
    changes where it is reversed.

    With a sentence encoder, sentences are encoded anew without the words: some 40 times for each
    method.

    Documents with missing words differ from training documents, which alone causes a part of each
    drop. So compare each method with the random control by the interval of their difference in
    ``differences`` (not by the overlap of two intervals), and never compare two estimators.
    Intervals are those of Student's t over the documents; they are NaN with fewer than three
    documents or if all values are equal.

    References
    ----------
    DeYoung, Jain, Rajani, Lehman, Xiong, Socher, Wallace (2020). ERASER: A Benchmark to Evaluate
    Rationalized NLP Models. ACL. https://aclanthology.org/2020.acl-main.408/

    Cohen-Wang, Shah, Georgiev, Madry (2024). ContextCite: Attributing Model Generation to Context.
    NeurIPS. https://arxiv.org/abs/2409.00729

    Examples
    --------
    >>> from sk_han import HANClassifier, faithfulness_report
    >>> from sk_han.datasets import make_reviews
    >>> texts, labels = make_reviews(60, random_state=0)
    >>> classifier = HANClassifier(embedding_dim=8, word_hidden=4, max_epochs=1, random_state=0)
    >>> report = faithfulness_report(classifier.fit(texts, labels), texts[:10], random_state=0)
    >>> report
    FaithfulnessReport(10 documents, shapley, attention, random)
    >>> report.metrics
    ('comprehensiveness', 'sufficiency', 'flip', 'lds')
    """
    chosen = _methods_by_name(methods)
    shares = _checked_fractions(fractions)
    X = listed_documents(X)  # each method iterates over it
    model = explained_model(estimator, "faithfulness_report")
    ((documents, sources),) = model.batches(X, max(1, len(X)))
    lengths = documents.words_per_document
    with_words = np.flatnonzero(lengths)
    if len(with_words) == 0:
        raise ValueError(
            f"None of the {plural(len(documents))} has a word, so there is nothing to remove."
        )
    seed = _seed(random_state)

    # The documents left out have no words, so `flat` needs no selection.
    read = documents[with_words]
    are_texts, texts = model.are_raw_texts(X), [sources[i] for i in with_words]

    def keep(kept: NDArray[np.bool_]) -> DocumentArray:
        return model.fitted.keep_words(read, texts, kept) if are_texts else read.keep_words(kept)

    is_number = model.fitted.target.is_number
    predict: Predict = model.predict_proba
    decide: Decide = _most_probable if is_number else model.fitted.target.top_label
    if is_number:
        predict = _differences(model, keep(np.zeros(read.n_words, bool)))
    whole, signs = predict(read), np.ones(len(documents))
    if is_number:
        signs[with_words] -= 2 * decide(whole)

    rows = np.arange(len(read)), decide(whole)
    kept = np.random.RandomState(seed).random_sample((_SETS, read.n_sentences)) < 0.5
    of_sets = np.array(
        [predict(keep(np.repeat(these, read.words_per_sentence)))[rows] for these in kept]
    )  # (B, D)

    values: dict[str, dict[str, NDArray[np.float64]]] = {}
    seconds: dict[str, float] = {}
    for name, method in chosen.items():
        start = perf_counter()
        if callable(method):
            scores = method(estimator, X)
        else:
            explained = model.explanations(X, method=method, random_state=seed)
            scores = [e.contributions * (signs[i] if e.signed else 1) for i, e in explained]
        seconds[name] = (perf_counter() - start) / len(documents)
        flat = _checked_scores(scores, name, lengths)
        rank = rank_words(read, flat)
        removals = np.full((4, len(documents)), np.nan)
        removals[:2, with_words] = comprehensiveness_and_sufficiency(
            predict, read, whole, rank, shares, decide, keep
        )
        removals[2, with_words] = flip_shares(predict, read, whole, rank, decide, keep)
        removals[3, with_words] = linear_datamodeling_scores(read, kept, of_sets, flat)
        for metric, of_documents in zip(METRICS, removals, strict=True):
            values.setdefault(metric, {})[name] = of_documents
    return FaithfulnessReport(
        values=values,
        **_summed_up(values, math.inf if is_number else 1.0),
        seconds=seconds,
        fractions=shares,
        n_without_words=len(documents) - len(with_words),
    )


def _differences(model: ExplainedModel, empty: DocumentArray) -> Predict:
    """Return what predicts how far numbers are above and below those without words, (D, 2)."""
    number_of = model.fitted.target.decide_by_proba
    base = number_of(model.predict_proba(empty)).mean()

    def predict(documents: DocumentArray) -> NDArray[np.float64]:
        above = number_of(model.predict_proba(documents)) - base
        return np.column_stack([above, -above])

    return predict


def _methods_by_name(methods: Any) -> dict[str, Method]:
    """Return a mapping from names in the report to methods, including the control."""
    if isinstance(methods, str) or callable(methods) or not isinstance(methods, Iterable):
        raise TypeError(
            f"methods must be a sequence of names or a mapping from names to methods; got "
            f"{methods!r}. Put a single method into a dict: {{'name': method}}."
        )
    pairs = methods.items() if isinstance(methods, Mapping) else ((name, name) for name in methods)
    given = list(pairs)
    for name, method in given:
        if not isinstance(name, str) or not (isinstance(method, str) or callable(method)):
            raise TypeError(
                "A method must be the name of a method of explain or, in a mapping, a function "
                f"(estimator, X) -> scores; got {name!r}: {method!r}."
            )
        if isinstance(method, str) and method not in METHODS:
            raise ValueError(
                f"A method must be one of {list(METHODS)} or a function; got {method!r}."
            )
        if name == CONTROL and method != CONTROL:
            raise ValueError(
                f"{CONTROL!r} is the name of the control that every method is compared with; got "
                f"{method!r} for it. Give that method another name."
            )
    named: dict[str, Method] = dict(given)
    return named if CONTROL in named else named | {CONTROL: CONTROL}


def _checked_fractions(fractions: Sequence[float]) -> tuple[float, ...]:
    shares = tuple(fractions) if isinstance(fractions, Iterable) else ()
    if not shares or not all(isinstance(share, Real) and 0 < share <= 1 for share in shares):
        raise ValueError(
            f"fractions must be a sequence of one or more numbers in (0, 1], for example (0.1,); "
            f"got {fractions!r}."
        )
    return tuple(map(float, shares))


def _seed(random_state: Any) -> int:
    """Draw one seed for all methods."""
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31 - 1))
    # With None, scikit-learn would draw from NumPy's global generator and change its state.
    rng = np.random.RandomState() if random_state is None else check_random_state(random_state)
    return int(rng.randint(2**31 - 1))


def _checked_scores(
    scores: Sequence[Any], name: str, lengths: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Check the scores of all words and return them, shape (n_words,)."""
    if not hasattr(scores, "__len__"):
        raise TypeError(
            f"The method {name!r} returned {a_kind(scores)}; it must return a list with an array "
            "of word scores for each document."
        )
    if len(scores) != len(lengths):
        raise ValueError(
            f"The method {name!r} returned scores for {plural(len(scores))}; expected "
            f"{len(lengths):,}."
        )
    arrays = [np.asarray(document_scores, dtype=np.float64) for document_scores in scores]
    for i, (array, length) in enumerate(zip(arrays, lengths, strict=True)):
        if array.shape != (length,):
            raise ValueError(
                f"The method {name!r} returned scores of shape {array.shape} for document {i}, "
                f"which has {plural(length, 'word')}: explain(estimator, X)[{i}].words."
            )
        if not np.isfinite(array).all():
            word = int(np.isfinite(array).argmin())
            raise ValueError(
                f"The method {name!r} returned {array[word]} for word {word} of document {i}; "
                "scores must be finite. Use 0 for a word without a score."
            )
    return np.concatenate(arrays)


def _summed_up(
    values: Mapping[str, Mapping[str, NDArray[np.float64]]], most: float
) -> dict[str, Any]:
    """Return means, intervals, and intervals of differences, by metric and method.

    A drop is from -most to `most`.
    """
    summary: dict[str, Any] = {"means": {}, "intervals": {}, "differences": {}}
    for metric, by_method in values.items():
        # Documents that are left out are the same for all methods.
        known = {name: of[~np.isnan(of)] for name, of in by_method.items()}
        lowest, highest, furthest = (-most, most, most) if metric in _DROPS else (0.0, 1.0, 1.0)
        if metric == "lds":
            lowest, furthest = -1.0, 2.0
        summary["means"][metric] = {
            name: float(of.mean()) if len(of) else math.nan for name, of in known.items()
        }
        summary["intervals"][metric] = {
            name: mean_interval(of, lowest, highest) for name, of in known.items()
        }
        summary["differences"][metric] = {
            name: mean_interval(of - known[CONTROL], -furthest, furthest)
            for name, of in known.items()
            if name != CONTROL
        }
    return summary
