"""Several labels a document: HANClassifier beside linear models, on Reuters and GoEmotions.

``python benchmarks/several_labels.py --data reuters`` fits to four fifths of the training part of
Reuters-21578 (ModApte, 90 topics), once for each of ``--folds`` folds, and pools the decisions on
the documents left out; ``--data goemotions`` fits to the training messages of GoEmotions (28
labels) and scores the test messages. The thresholds of all models are
those of the highest F1 on a tenth of the training documents: that of HANClassifier by
``threshold="f1"``, those of linear models by a fit to the other nine tenths. The seconds of a fit
are with thresholds.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
from collections.abc import Callable, Iterator
from itertools import islice
from time import process_time
from typing import Any, NamedTuple

import numpy as np
from corpora import data_folder
from linear import tfidf_of_characters
from numpy.typing import NDArray
from results import add_save, publish
from scipy.special import expit
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, f1_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MultiLabelBinarizer
from sklearn.svm import LinearSVC

from sk_han import HANClassifier
from sk_han._targets.splits import folds_of, hold_out

LINEAR: dict[str, Callable[[], Any]] = {
    "lr": lambda: LogisticRegression(C=10, max_iter=1000),
    "svc": LinearSVC,
    "svc-balanced": lambda: LinearSVC(class_weight="balanced"),
    "svc-characters": LinearSVC,
}
TITLES = {
    "lr": "TF-IDF(1-2) + LR",
    "svc": "TF-IDF(1-2) + LinearSVC",
    "svc-balanced": "TF-IDF(1-2) + LinearSVC, balanced",
    "svc-characters": "TF-IDF of characters + LinearSVC",
    "han": "HANClassifier, threshold='f1'",
}


class Scored(NamedTuple):
    """Decisions and scores on documents that a model has not learnt from."""

    decided: NDArray[np.bool_]
    scores: NDArray[np.float64]
    probabilities: NDArray[np.float64] | None
    seconds: float


def read(name: str) -> tuple[list[str], list[list[str]]]:
    """Give texts, and the names of the labels of each."""
    content = gzip.decompress((data_folder() / name).read_bytes()).decode("utf-8")
    rows = list(csv.DictReader(io.StringIO(content)))
    return [row["text"] for row in rows], [row["labels"].split() for row in rows]


def splits(
    data: str, n_folds: int
) -> Iterator[tuple[list[str], NDArray[Any], list[str], NDArray[Any]]]:
    """Yield texts and indicators to train on, and those to score."""
    texts, names = read(f"{data}/train.csv.gz")
    binarizer = MultiLabelBinarizer()
    y = binarizer.fit_transform(names).astype(bool)
    if data == "goemotions":
        others, theirs = read("goemotions/test.csv.gz")
        yield texts, y, others, binarizer.transform(theirs).astype(bool)
        return
    for held_out in islice(folds_of(y), n_folds):
        rest = np.setdiff1d(np.arange(len(y)), held_out)
        yield [texts[i] for i in rest], y[rest], [texts[i] for i in held_out], y[held_out]


def best_of_scores(scores: NDArray[np.float64], y: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Give the threshold of each label with the highest F1 (Yang, 2001).

    Labels of fewer than five documents have the common threshold that is best of all of them: one
    document with a low score would give the label to everything.
    """

    def best(scores: NDArray[np.float64], has: NDArray[np.bool_]) -> float:
        order = np.argsort(-scores)
        right = np.cumsum(has[order])
        return scores[order][(2 * right / (np.arange(1, len(order) + 1) + right[-1])).argmax()]

    thresholds = np.full(scores.shape[1], best(scores.ravel(), y.ravel()))
    for label in np.flatnonzero(y.sum(axis=0) >= 5):
        thresholds[label] = best(scores[:, label], y[:, label])
    return thresholds


def linear(name: str, texts: list[str], y: NDArray[Any], others: list[str]) -> Scored:
    """Fit a linear model, with thresholds of a tenth of its documents, and score others."""
    start = process_time()
    words, characters = TfidfVectorizer(ngram_range=(1, 2)), tfidf_of_characters()[0]
    model = make_pipeline(
        characters if name == "svc-characters" else words, OneVsRestClassifier(LINEAR[name]())
    )
    rest, held_out = hold_out(y, 0.1, np.random.RandomState(0))
    model.fit([texts[i] for i in rest], y[rest])
    thresholds = best_of_scores(model.decision_function([texts[i] for i in held_out]), y[held_out])
    model.fit(texts, y)
    seconds = process_time() - start
    scores = model.decision_function(others)
    proba = expit(scores) if name == "lr" else None
    return Scored(scores >= thresholds, scores, proba, seconds)


def han(texts: list[str], y: NDArray[Any], others: list[str], seed: int) -> Scored:
    """Fit HANClassifier with its defaults but for the threshold, and score others."""
    start = process_time()
    model = HANClassifier(threshold="f1", random_state=seed).fit(texts, y)
    seconds = process_time() - start
    decided, proba = model.predict(others).astype(bool), model.predict_proba(others)
    return Scored(decided, model.decision_function(others), proba, seconds)


def row_of(title: str, found: list[Scored], y: NDArray[np.bool_], reference: float) -> Any:
    """Give the measures of pooled documents as a row of the table."""
    decided, scores = (np.concatenate([getattr(s, n) for s in found]) for n in Scored._fields[:2])
    known = y.any(axis=0)
    precision = average_precision_score(y[:, known], scores[:, known], average="macro")
    loss = None
    if found[0].probabilities is not None:
        proba = np.concatenate([each.probabilities for each in found]).clip(1e-12, 1 - 1e-12)
        loss = round(float(-np.where(y, np.log(proba), np.log1p(-proba)).sum(axis=1).mean()), 3)
    seconds = sum(each.seconds for each in found)
    return {
        "": title,
        "micro F1, %": round(100 * f1_score(y, decided, average="micro", zero_division=0), 1),
        "macro F1, %": round(100 * f1_score(y, decided, average="macro", zero_division=0), 1),
        "mean average precision, %": round(100 * precision, 1),
        "log loss": loss,
        "fit, CPU s": round(seconds / len(found), 1),
        "fit, ratio": round(seconds / reference, 2) if reference else None,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", choices=["reuters", "goemotions"], default="reuters")
    parser.add_argument("--models", nargs="+", choices=list(TITLES), default=list(TITLES))
    parser.add_argument("--folds", type=int, default=5, help="of Reuters")
    parser.add_argument("--seed", type=int, default=0)
    add_save(parser)
    arguments = parser.parse_args()
    found: dict[str, list[Scored]] = {name: [] for name in arguments.models}
    truths = []
    for texts, y, others, theirs in splits(arguments.data, arguments.folds):
        for name, scored in found.items():
            if name == "han":
                scored.append(han(texts, y, others, arguments.seed))
            else:
                scored.append(linear(name, texts, y, others))
        truths.append(theirs)
    reference = sum(each.seconds for each in found.get("svc-balanced", []))
    y = np.concatenate(truths)
    rows = [row_of(TITLES[name], each, y, reference) for name, each in found.items()]
    publish(f"several_labels-{arguments.data}", rows, arguments.save)


if __name__ == "__main__":
    main()
