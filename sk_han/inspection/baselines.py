"""What a user would try first: TF-IDF and logistic regression, beside the model of a report."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold
from sklearn.pipeline import Pipeline, make_pipeline

from sk_han.documents.repeated import first_of_same_text, groups_of_copies
from sk_han.targets.any_of_labels import best_thresholds, dealt_out
from sk_han.utils.messages import agreeing, counted, taking_many_classes

FOLDS = 5
WORD = r"\w+"
FEWEST_DOCUMENTS = 20
TRIED, FEWEST_TRIED = 2_000, 100  # documents of a trial
LEAST_GAIN = 0.02  # of accuracy, by which characters must be better: they take ten times as long
LEFT_OUT_FROM = 1000  # training documents, from which on a word of only one is left out


def tfidf(n_documents: int, analyzer: str = "word") -> Pipeline:
    """Return TF-IDF, then logistic regression; not fitted.

    Of words and pairs of words or, by "char_wb", of characters within words.
    """
    vectorizer = TfidfVectorizer(
        analyzer=analyzer,
        token_pattern=WORD if analyzer == "word" else None,
        ngram_range=(1, 2) if analyzer == "word" else (2, 5),
        sublinear_tf=True,
        min_df=2 if n_documents >= LEFT_OUT_FROM else 1,
    )
    return make_pipeline(vectorizer, LogisticRegression(C=10, max_iter=1000))


def trained(
    texts: Sequence[str], texts_train: Sequence[str], t_train: NDArray[Any], n_labels: int
) -> NDArray[np.float64]:
    """Return the probabilities (D, n_labels) of texts by a baseline fitted to training texts.

    What it learns are numbers of labels (N,) or, with several labels a document, marks (N,
    n_labels).
    """
    if not any(map(re.compile(WORD).search, texts_train)):
        raise ValueError("it needs documents with words to learn from")
    if t_train.ndim == 2:
        return _trained_label_by_label(texts, texts_train, t_train)
    if len(np.unique(t_train)) < 2:
        raise ValueError("it needs documents of two labels to learn from")
    with taking_many_classes():
        model = _better(texts_train, t_train).fit(texts_train, t_train)
    probabilities = np.zeros((len(texts), n_labels))
    probabilities[:, model.classes_] = model.predict_proba(texts)
    return probabilities


def cross_validated(
    texts: Sequence[str], t: NDArray[Any], n_labels: int, groups: NDArray[np.int64] | None = None
) -> NDArray[np.float64]:
    """Return the same of baselines fitted to most of the others, none of them of the same group.

    Without groups, none of them is a copy.
    """
    text_of = np.arange(len(texts))
    if groups is None:
        any_label = np.zeros_like(text_of)  # groups of copies are in no order by label
        copies = groups_of_copies(first_of_same_text(texts), any_label)
        text_of = text_of if copies is None else copies
    # A copy goes where the first one is: to split as many groups takes minutes.
    _, first, text_of = np.unique(text_of, return_index=True, return_inverse=True)
    probabilities = np.zeros((len(texts), n_labels))
    for numbers in _folds(t[first], groups):
        is_left_out = np.isin(text_of, numbers)
        these, others = (list(compress(texts, each)) for each in (is_left_out, ~is_left_out))
        probabilities[is_left_out] = trained(these, others, t[~is_left_out], n_labels)
    return probabilities


def labels_by_f1(
    p: NDArray[np.float64],
    t: NDArray[np.bool_],
    groups: NDArray[np.int64] | None,
    texts_train: Sequence[str] | None,
    t_train: NDArray[np.bool_] | None,
) -> NDArray[np.bool_]:
    """Give labels (D, L) from the thresholds of the highest F1 on, by probabilities of a baseline.

    Thresholds are found on training documents, if there are any, by cross-validation; else those of
    each fold on the others.
    """
    if texts_train is not None and t_train is not None:
        of_train = cross_validated(texts_train, t_train, p.shape[1])
        known = t_train, np.ones(len(t_train))
        return p >= best_thresholds(of_train, *known, *known)
    given = np.zeros(p.shape, dtype=bool)
    for these in _folds(t, groups):
        others = np.setdiff1d(np.arange(len(t)), these)
        known = t[others], np.ones(len(others))
        given[these] = p[these] >= best_thresholds(p[others], *known, *known)
    return given


def _folds(t: NDArray[Any], groups: NDArray[np.int64] | None) -> list[NDArray[np.int64]]:
    n = len(t)
    too_few = ValueError(f"{counted(n)} {agreeing(n, 'are')} too few to cross-validate it")
    if n < FEWEST_DOCUMENTS:
        raise too_few
    if t.ndim == 2:
        fold = dealt_out(t, np.full(FOLDS, 1 / FOLDS), np.arange(n), groups)
        return [np.flatnonzero(fold == number) for number in np.unique(fold)]
    n_folds = min(FOLDS, int(np.bincount(t).max()), n if groups is None else len(np.unique(groups)))
    if n_folds < 2:
        raise too_few
    kind = StratifiedKFold if groups is None else StratifiedGroupKFold
    folds = kind(n_folds, shuffle=True, random_state=0)
    with warnings.catch_warnings(), taking_many_classes():
        # A class of fewer documents than folds is missing in some, which counts as a mistake.
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        return [these for _, these in folds.split(np.zeros(n), t, groups)]


def _better(texts: Sequence[str], targets: NDArray[np.int64]) -> Pipeline:
    """Return the baseline of words or that of characters, not fitted: the better of a trial.

    In this, both learn from four fifths of up to 2,000 texts, and the others count.
    """
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


def _trained_label_by_label(
    texts: Sequence[str], texts_train: Sequence[str], t_train: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Fit a regression for each label; one that all or no documents have gets its share of them."""
    vectorizer, regression = tfidf(len(texts_train))
    features = vectorizer.fit_transform(texts_train)
    shown = vectorizer.transform(texts)
    # Many binary problems of few documents each: liblinear takes a fraction of lbfgs' time.
    regression.set_params(solver="liblinear")
    probabilities = np.tile(t_train.mean(axis=0), (len(texts), 1))
    for label, t in enumerate(t_train.T):
        if t.any() and not t.all():
            probabilities[:, label] = regression.fit(features, t).predict_proba(shown)[:, 1]
    return probabilities
