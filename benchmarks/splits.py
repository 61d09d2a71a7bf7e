"""What to train on and what to score on: as published, or held out of the training documents."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import corpora
import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold, train_test_split

from sk_han.datasets import make_reviews

CORPORA = (
    "imdb",
    "stars",
    "20news",
    "airline",
    "movies",
    "nsmc",
    "imdb-1000",
    "imdb-2000",
    "imdb-5000",
    "make_reviews",
    "one_of_thirty",
)
LABELS_OF_IMDB = {"imdb": "label", "stars": "rating"}
N_FOLDS = 5
N_SEEDS = 3  # seeds whose published splits stay unseen in cross-validation


class Split(NamedTuple):
    """Documents to train on, and others to score on."""

    train_texts: list[str]
    train_labels: NDArray
    test_texts: list[str]
    test_labels: NDArray


def corpus_name(name: str) -> str:
    """Check the name of a corpus, alone or with a number of training documents: "airline-300".

    Raises
    ------
    ValueError
        If there is no such corpus.
    """
    base, _, size = name.partition("-")
    if base not in CORPORA or (size and not size.isdecimal()):
        raise ValueError(f"{name} is none of {CORPORA}, nor one of them with a number")
    return name


def published(name: str, seed: int) -> Split:
    """Give the split that a corpus is reported on; the seed draws what has to be drawn.

    IMDB, 20 newsgroups, ERASER movies and Korean comments have their own; of airline tweets 30 %
    are drawn, stratified; those that are negative or positive are hidden, each among 29 sentences
    of newsgroups; reviews are generated. Of the training documents as many are drawn, stratified,
    as the name ends in.
    """
    base = name.partition("-")[0]
    if base == "20news":
        train, test = corpora.newsgroups("train"), corpora.newsgroups("test")
    elif base == "movies":
        train, test = corpora.movies("train"), corpora.movies("val")
    elif base == "nsmc":
        train, test = corpora.nsmc("train"), corpora.nsmc("test")
    elif base in LABELS_OF_IMDB:
        label = LABELS_OF_IMDB[base]
        train, test = corpora.imdb("train", label), corpora.imdb("test", label)
    elif base == "airline":
        texts, labels = corpora.airline()
        split = _chosen(texts, labels, *_airline_rows(labels, seed))
        train, test = split[:2], split[2:]
    elif base == "one_of_thirty":
        train_texts, train_labels, *test = published("airline", seed)
        train = _hidden(train_texts, train_labels, 2_000, seed)
        test = _hidden(*test, 1_000, seed)
    else:
        texts, labels = make_reviews(3_000, random_state=1_000 + seed)
        train, test = (texts[:2_000], labels[:2_000]), (texts[2_000:], labels[2_000:])
    texts, labels = train
    rows = _sampled(name, np.arange(len(texts)), labels, seed)
    return Split([texts[row] for row in rows], labels[rows], *test)


def held_out(name: str, fold: int, seed: int) -> Split:
    """Give training documents alone: fold 0 to 4 to score on, of the others those to train on."""
    texts, labels, fold_of = _training_documents(name.partition("-")[0])
    rest = np.flatnonzero(fold_of != fold)
    rows = _sampled(name, rest, labels, seed)
    return _chosen(texts, labels, rows, np.flatnonzero(fold_of == fold))


@cache
def _training_documents(name: str) -> tuple[list[str], NDArray, NDArray]:
    """Give texts and labels that no published split scores on, and the fold of each."""
    if name in LABELS_OF_IMDB:
        texts, labels = corpora.imdb("train", LABELS_OF_IMDB[name])
        # Reviews of one film would tell about each other, so those of one label stay together. The
        # labels are numbered apart: a film's other label may be in another fold.
        numbers = corpora.imdb_numbers("train")
        return texts, labels, numbers * N_FOLDS // (numbers.max() + 1)
    if name == "20news":
        texts, labels = corpora.newsgroups("train")
    elif name == "movies":
        texts, labels = corpora.movies("train")
    elif name == "nsmc":
        texts, labels = corpora.nsmc("train")
    elif name == "airline":
        texts, labels = corpora.airline()
        rows = np.arange(len(texts))
        for seed in range(N_SEEDS):
            rows = np.intersect1d(rows, _airline_rows(labels, seed)[0])
        texts, labels = [texts[row] for row in rows], labels[rows]
    elif name == "one_of_thirty":
        texts, labels = _hidden(*_training_documents("airline")[:2], 2_500, seed=2_000)
    else:
        texts, labels = make_reviews(2_500, random_state=2_000)
    fold_of = np.empty(len(texts), dtype=int)
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=0).split(texts, labels)
    for number, (_, rows) in enumerate(folds):
        fold_of[rows] = number
    return texts, labels, fold_of


def _airline_rows(labels: NDArray, seed: int) -> list[NDArray]:
    rows = np.arange(len(labels))
    return train_test_split(rows, test_size=0.3, stratify=labels, random_state=42 + seed)


def _hidden(
    texts: list[str], labels: NDArray, n_documents: int, seed: int
) -> tuple[list[str], NDArray]:
    """Hide as many negative as positive tweets among other sentences."""
    rng = np.random.RandomState(seed)
    rows = [rng.permutation(np.flatnonzero(labels == kind)) for kind in ("negative", "positive")]
    chosen = rng.permutation(np.concatenate([kind[: n_documents // 2] for kind in rows]))
    return corpora.among_others([texts[row] for row in chosen], seed), labels[chosen]


def _sampled(name: str, rows: NDArray, labels: NDArray, seed: int) -> NDArray:
    """Draw the number of documents that the name ends in, stratified by label."""
    size = name.partition("-")[2]
    if not size or int(size) >= len(rows):
        return rows
    return train_test_split(rows, train_size=int(size), stratify=labels[rows], random_state=seed)[0]


def _chosen(texts: list[str], labels: NDArray, train: NDArray, test: NDArray) -> Split:
    return Split(
        [texts[row] for row in train],
        labels[train],
        [texts[row] for row in test],
        labels[test],
    )
