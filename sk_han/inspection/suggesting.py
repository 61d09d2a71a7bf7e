"""suggest: which of many documents without labels to label next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import vstack
from sklearn.feature_extraction.text import HashingVectorizer

from sk_han.documents.repeated import text_key
from sk_han.inspection.documents_given import listed_documents, n_documents_of, texts_of
from sk_han.inspection.ensembles import probability_array
from sk_han.inspection.explained_model import check_classifier, reader_of, threshold_of
from sk_han.inspection.results.suggestions import Suggestions
from sk_han.targets import AnyOfLabels
from sk_han.targets.probabilities import log_odds
from sk_han.utils.argument_checks import check_count, check_share, random_source
from sk_han.utils.counts import agreeing, counted
from sk_han.validation.texts import check_texts

# Cosine of the sets of words and pairs of words from which on two texts are much the same: a
# form letter with another name in it.
_SAME = 0.8
# It is compared with so many before it; copies have about the same margin, so they are near by.
_BEFORE, _BLOCK = 1_000, 250


def suggest(
    estimator: Any,
    X: Any,
    n: int = 100,
    *,
    X_labelled: Any = None,
    random_share: float = 0.1,
    random_state: Any = None,
) -> Suggestions:
    """Suggest which documents to label next: those that the model is least sure of.

    Parameters
    ----------
    estimator : HANClassifier, Pipeline, or another classifier with ``predict_proba``
        Fitted to the documents that have labels so far.
    X : sequence of n_documents raw texts, or what else the estimator predicts
        The pool: documents without labels.
    n : int, default=100
        How many to suggest. If fewer are left without copies and blanks, all of them are.
    X_labelled : sequence of raw texts, default=None
        Documents that have labels; copies of them are not suggested.
    random_share : float, default=0.1
        The share of the suggestions that is drawn at random from the pool. Scores on the others
        say nothing of the pool: they are the hard ones.
    random_state : int, RandomState, Generator or None, default=None
        Source of the random share.

    Returns
    -------
    Suggestions
        ``to_csv(path)`` writes a table to fill in, and ``to_html(path)`` a page to read.

    Raises
    ------
    TypeError
        If the estimator has no ``predict_proba``, or X holds no documents.
    ValueError
        If X is empty, the estimator knows a single class, or another argument is invalid.
    sklearn.exceptions.NotFittedError
        If the estimator is not fitted.

    See Also
    --------
    audit_labels : Finds wrong labels among those that there are.

    Notes
    -----
    Those come first whose two most probable classes are nearest to each other (breaking ties:
    Luo et al., 2005; the best on average in Schröder, Niekler and Potthast, 2022). Of several
    labels a document it is the label whose log-odds are nearest to those of its threshold, and of
    two classes under scikit-learn's FixedThresholdClassifier and TunedThresholdClassifierCV those
    whose log-odds are. Left out are raw texts that are blank, that are nearly the same as one
    suggested before them, or that have the same words as one of `X_labelled`. This is not always
    better than random texts: see the user guide for figures.

    References
    ----------
    Luo, Kramer, Goldgof, Hall, Samson, Remsen, Hopkins (2005). Active Learning to Recognize
    Multiple Types of Plankton. Journal of Machine Learning Research 6.
    Schröder, Niekler, Potthast (2022). Revisiting Uncertainty-based Query Strategies for Active
    Learning with Transformers. Findings of ACL.

    Examples
    --------
    >>> from sk_han import HANClassifier, suggest
    >>> from sk_han.datasets import make_reviews
    >>> texts, labels = make_reviews(80, random_state=0)
    >>> classifier = HANClassifier(embedding_dim=8, word_hidden=4, max_epochs=1, random_state=0)
    >>> classifier = classifier.fit(texts[:40], labels[:40])
    >>> found = suggest(classifier, texts[40:], n=10, X_labelled=texts[:40], random_state=0)
    >>> len(found), int(found.is_random.sum())
    (10, 1)
    """
    check_count("n", n)
    check_share("random_share", random_share)
    check_classifier(estimator, "suggest")
    X = listed_documents(X)
    n_documents = n_documents_of(X)
    if not n_documents:
        raise ValueError("X is empty: there is no document to choose from.")
    random = random_source(random_state)
    probabilities = probability_array(estimator, X)
    decided = None if threshold_of(estimator) is None else estimator.predict(X)
    margins, nearest = _undecided(estimator, probabilities, decided)
    texts = texts_of(X)
    labelled = () if X_labelled is None else check_texts(X_labelled, name="X_labelled")
    pool = _Pool(texts, {"", *map(text_key, labelled)})  # nothing can be said of a blank text
    n_random = round(random_share * min(n, n_documents))
    drawn = pool.take(random.permutation(n_documents), n_random)
    ranked = pool.take(np.argsort(margins, kind="stable"), n - len(drawn))
    rows = np.array([*ranked, *drawn], dtype=np.int64)
    notes = []
    if n_documents < n:
        notes.append(
            f"{counted(n)} {agreeing(n, 'were')} asked for, and the pool has {n_documents:,}."
        )
    if len(rows) < min(n, n_documents):
        notes.append("The others are blank, or copies of these or of labelled ones.")
    if texts is None:
        notes.append("The documents are no raw texts, so copies are not looked for.")
    return Suggestions(
        documents=rows,
        is_random=np.arange(len(rows)) >= len(ranked),
        margins=margins[rows],
        nearest=nearest[rows],
        probabilities=probabilities[rows],
        labels=tuple(np.asarray(estimator.classes_).tolist()),
        n_documents=n_documents,
        texts=None if texts is None else tuple(texts[row] for row in rows.tolist()),
        notes=tuple(notes),
    )


def _undecided(
    estimator: Any, p: NDArray[np.float64], decided: NDArray[Any] | None
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return how far models are from another decision by probabilities (D, K), and its labels.

    Margins (D,), and two classes (D, 2), the likelier first, or one of several labels, (D, 1).
    Where a threshold decides between two classes, `decided` are the predictions, (D,).
    """
    rows = np.arange(len(p))
    if decided is not None:
        is_second = decided == estimator.classes_[1]
        threshold = _threshold_of_second(threshold_of(estimator), p[:, 1], is_second)
        away = np.abs(log_odds(p[:, 1]) - log_odds(threshold))
        return away, np.stack([is_second, ~is_second], axis=1).astype(np.int64)
    thresholds = _thresholds(estimator, p)
    if thresholds is not None:
        away = np.abs(log_odds(p) - log_odds(thresholds))
        label = away.argmin(axis=1)
        return away[rows, label], label[:, np.newaxis]
    if p.shape[1] < 2:
        raise ValueError("The estimator knows a single class, and is undecided nowhere.")
    two = np.argsort(-p, axis=1, kind="stable")[:, :2]
    return p[rows, two[:, 0]] - p[rows, two[:, 1]], two


def _threshold_of_second(
    model: Any, p: NDArray[np.float64], is_second: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return from which probability (D,) of the second class on a model decides for it, ().

    The threshold may be of the first class: a tuned model does not say so, but its decisions do.
    Where it is of other scores, they tell between which probabilities it lies.
    """
    if model.response_method == "decision_function":
        return (p[~is_second].max(initial=0) + p[is_second].min(initial=1)) / 2
    given = getattr(model, "best_threshold_", None)
    if given is None:
        given = 0.5 if model.threshold == "auto" else model.threshold
    both = np.array([given, 1 - given], dtype=np.float64)
    if getattr(model, "pos_label", None) == model.classes_[0]:
        both = both[::-1]
    agree = ((p[:, np.newaxis] >= both) == is_second[:, np.newaxis]).sum(axis=0)
    found: NDArray[np.float64] = both[agree.argmax()]
    return found


def _thresholds(estimator: Any, p: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Return the thresholds (L,) of a model of several labels a document, else None."""
    model, _ = reader_of(estimator)
    if model is not None:
        target = model.classifier.pool_.target
        return target.thresholds if isinstance(target, AnyOfLabels) else None
    return None if np.allclose(p.sum(axis=1), 1) else np.full(p.shape[1], 0.5)


class _Pool:
    """Documents to choose from, each at most once, and no copies."""

    def __init__(self, texts: Sequence[str] | None, known: set[str]) -> None:
        self.texts, self.known = texts, known
        self.taken: set[int] = set()
        self.chosen: list[Any] = []  # rows of words and pairs, each of length 1
        self.words_of = HashingVectorizer(
            ngram_range=(1, 2), token_pattern=r"\w+", binary=True, alternate_sign=False
        ).transform

    def take(self, order: NDArray[np.int64], n: int) -> list[int]:
        """Take the first n documents in an order that are no copies of any taken before."""
        found: list[int] = []
        for start in range(0, len(order), _BLOCK):
            rows = [row for row in order[start : start + _BLOCK].tolist() if row not in self.taken]
            for row in self._without_copies(rows, n - len(found)):
                found.append(row)
                self.taken.add(row)
            if len(found) == n:
                break
        return found

    def _without_copies(self, rows: list[int], n: int) -> list[int]:
        """Return the first n of these documents without copies, which are known from now on."""
        if self.texts is None or not rows:
            return rows[:n]
        words = self.words_of(self.texts[row] for row in rows)
        before = self.chosen[-_BEFORE:]
        same = (words @ vstack([*before, words], format="csr").T).toarray() >= _SAME
        stands = np.arange(same.shape[1]) < len(before)
        found: list[int] = []
        for place, row in enumerate(rows):
            key = text_key(self.texts[row])
            if len(found) < n and key not in self.known and not same[place, stands].any():
                stands[len(before) + place] = True
                self.known.add(key)
                self.chosen.append(words[place])
                found.append(row)
        return found
