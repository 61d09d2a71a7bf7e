"""What a user would try first: TF-IDF and logistic regression, beside the model of a report."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold
from sklearn.pipeline import Pipeline, make_pipeline

from sk_han.targets.splitting import dealt_out
from sk_han.utils.warnings import taking_many_classes

FOLDS = 5
WORD = r"\w+"
FEWEST_DOCUMENTS = 20
TRIED, FEWEST_TRIED = 2_000, 100  # documents of a trial
LEAST_GAIN = 0.02  # of accuracy, by which characters must be better: they take ten times as long
LEFT_OUT_FROM = 1000  # training documents, from which on a word of only one is left out


def tfidf(n_documents: int) -> Pipeline:
    """Return TF-IDF of words and pairs of words, then logistic regression; not fitted."""
    return make_pipeline(
        TfidfVectorizer(
            token_pattern=WORD,
            ngram_range=(1, 2),
            sublinear_tf=True,
            min_df=2 if n_documents >= LEFT_OUT_FROM else 1,
        ),
        LogisticRegression(C=10, max_iter=1000),
    )


def tfidf_of_characters(n_documents: int) -> Pipeline:
    """Return the same of characters within words."""
    vectorizer = TfidfVectorizer(
        analyzer="char_wb",
        ngram_range=(2, 5),
        sublinear_tf=True,
        min_df=2 if n_documents >= LEFT_OUT_FROM else 1,
    )
    return make_pipeline(vectorizer, LogisticRegression(C=10, max_iter=1000))


def trained(
    texts: Sequence[str],
    texts_train: Sequence[str],
    targets_train: NDArray[np.int64],
    n_labels: int,
) -> NDArray[np.float64]:
    """Return the probabilities (D, n_labels) of texts by a baseline fitted to training texts."""
    if len(np.unique(targets_train)) < 2:
        raise ValueError("it needs documents of two labels to learn from")
    _check_words(texts_train)
    with taking_many_classes():
        model = _better(texts_train, targets_train).fit(texts_train, targets_train)
    probabilities = np.zeros((len(texts), n_labels))
    probabilities[:, model.classes_] = model.predict_proba(texts)
    return probabilities


def cross_validated(
    texts: Sequence[str],
    targets: NDArray[np.int64],
    n_labels: int,
    groups: NDArray[np.int64] | None = None,
) -> NDArray[np.float64]:
    """Return the probabilities (D, n_labels) of texts by baselines fitted to most of the others.

    None learns from a document of the same group.
    """
    n_units = len(targets) if groups is None else len(np.unique(groups))
    n_folds = min(FOLDS, int(np.bincount(targets).max()), n_units)
    if len(texts) < FEWEST_DOCUMENTS or n_folds < 2:
        raise ValueError(f"{len(texts)} documents are too few to cross-validate it")
    probabilities = np.zeros((len(texts), n_labels))
    kind = StratifiedKFold if groups is None else StratifiedGroupKFold
    folds = kind(n_folds, shuffle=True, random_state=0)
    with warnings.catch_warnings(), taking_many_classes():
        # A class of fewer documents than folds is missing in some, which counts as a mistake.
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        divided = list(folds.split(texts, targets, groups))
    for others, these in divided:
        probabilities[these] = trained(
            [texts[i] for i in these], [texts[i] for i in others], targets[others], n_labels
        )
    return probabilities


def _better(texts: Sequence[str], targets: NDArray[np.int64]) -> Pipeline:
    """Return the baseline of words or that of characters, not fitted: the better of a trial.

    In this, both learn from four fifths of up to 2,000 texts, and the others count.
    """
    n = len(texts)
    rows = np.random.RandomState(0).permutation(n)[:TRIED].tolist()
    held_out, rest = rows[: len(rows) // 5], rows[len(rows) // 5 :]
    words, characters = tfidf(n), tfidf_of_characters(n)
    if n < FEWEST_TRIED or len(np.unique(targets[rest])) < 2:
        return words
    found = [
        kind(len(rest))
        .fit([texts[i] for i in rest], targets[rest])
        .score([texts[i] for i in held_out], targets[held_out])
        for kind in (tfidf, tfidf_of_characters)
    ]
    return characters if found[1] > found[0] + LEAST_GAIN else words


def trained_labels(
    texts: Sequence[str], texts_train: Sequence[str], t_train: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return the probabilities of labels, (D, L), by a regression for each; t_train is (N, L).

    A label that all or no training documents have gets its share among them.
    """
    _check_words(texts_train)
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


def cross_validated_labels(
    texts: Sequence[str], t: NDArray[np.bool_], groups: NDArray[np.int64] | None = None
) -> NDArray[np.float64]:
    """Return the same, (D, L), of regressions that are fitted to about four fifths of the others.

    None learns from a document of the same group.
    """
    if len(texts) < FEWEST_DOCUMENTS:
        raise ValueError(f"{len(texts)} documents are too few to cross-validate it")
    fold = dealt_out(t, np.full(FOLDS, 1 / FOLDS), np.arange(len(t)), groups)
    probabilities = np.zeros(t.shape)
    for number in range(FOLDS):
        these, others = np.flatnonzero(fold == number), np.flatnonzero(fold != number)
        if len(these):
            probabilities[these] = trained_labels(
                [texts[i] for i in these.tolist()], [texts[i] for i in others.tolist()], t[others]
            )
    return probabilities


def _check_words(texts: Sequence[str]) -> None:
    if not any(map(re.compile(WORD).search, texts)):
        raise ValueError("it needs documents with words to learn from")
