"""Several labels a document: HANClassifier beside linear models, on Reuters and GoEmotions.

``python benchmarks/several_labels.py --data reuters`` fits to four fifths of the training part of
Reuters-21578 (ModApte, 90 topics), once for each of ``--folds`` folds, and pools the decisions on
the documents left out; ``--data goemotions`` fits to the training messages of GoEmotions (28
labels) and scores the test messages (`--dev`: those to choose by). The thresholds of all models are
those of the highest F1 on a tenth of the training documents: that of HANClassifier by
``threshold="f1"``, those of linear models by a fit to the other nine tenths. The seconds of a fit
are with thresholds. ``--combinations`` fits HANClassifier to all training documents of Reuters,
once with their topics and once with each combination of topics as a class.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, NamedTuple

import numpy as np
from corpora import data_folder
from linear import tfidf_of_characters
from memory import peak_megabytes
from numpy.typing import NDArray
from results import add_save, publish
from scipy.special import expit
from served import HIDDEN
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, f1_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MultiLabelBinarizer
from sklearn.svm import LinearSVC

import sk_han
from sk_han import HANClassifier
from sk_han.serving import Scorer
from sk_han.targets import AnyOfLabels

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


# Prints the memory of a process that serves, and the milliseconds of a single document.
SERVE = (
    HIDDEN
    + """
import json
from time import perf_counter
from memory import resident_megabytes
from sk_han.serving import Scorer
scorer, texts = Scorer.load(sys.argv[1]), json.load(sys.stdin)
scorer.predict(texts[:1])
start = perf_counter()
for text in texts:
    scorer.predict([text])
print(resident_megabytes(), 1000 * (perf_counter() - start) / len(texts))
"""
)


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
    data: str, n_folds: int, dev: bool
) -> Iterator[tuple[list[str], NDArray[Any], list[str], NDArray[Any]]]:
    """Yield texts and indicators to train on, and those to score."""
    texts, names = read(f"{data}/train.csv.gz")
    binarizer = MultiLabelBinarizer()
    y = binarizer.fit_transform(names).astype(bool)
    if data == "goemotions":
        others, theirs = read(f"goemotions/{'dev' if dev else 'test'}.csv.gz")
        yield texts, y, others, binarizer.transform(theirs).astype(bool)
        return
    target = AnyOfLabels(binarizer.classes_, np.full(y.shape[1], 0.5))
    for held_out in list(target.folds(y))[:n_folds]:
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
    target = AnyOfLabels(np.arange(y.shape[1]), np.full(y.shape[1], 0.5))
    rest, held_out = target.hold_out(y, 0.1, np.random.RandomState(0))
    model.fit([texts[i] for i in rest], y[rest])
    thresholds = best_of_scores(model.decision_function([texts[i] for i in held_out]), y[held_out])
    model.fit(texts, y)
    seconds = process_time() - start
    scores = model.decision_function(others)
    proba = expit(scores) if name == "lr" else None
    return Scored(scores >= thresholds, scores, proba, seconds)


def han(texts: list[str], y: NDArray[Any], others: list[str], seed: int) -> tuple[Scored, Any]:
    """Fit HANClassifier with its defaults but for the threshold, and score others."""
    start = process_time()
    model = HANClassifier(threshold="f1", random_state=seed).fit(texts, y)
    seconds = process_time() - start
    decided, proba = model.predict(others).astype(bool), model.predict_proba(others)
    return Scored(decided, model.decision_function(others), proba, seconds), model


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


def tell_cost(model: Any, texts: list[str]) -> None:
    """Print the size of the file, and the milliseconds of a single document."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.han"
        sk_han.save(model, path)
        megabytes, scorer = os.path.getsize(path) / 1e6, Scorer.load(path)
    scorer.predict(texts[:1])
    start = perf_counter()
    for text in texts[:50]:
        scorer.predict([text])
    took = 1000 * (perf_counter() - start) / len(texts[:50])
    print(f"a file of {megabytes:.1f} MB; {took:.1f} ms a document by the Scorer")


def costs() -> list[dict[str, Any]]:
    """Measure fits to Reuters, of topics and of combinations as classes, in new processes."""
    spawn, rows = get_context("spawn"), []
    texts = read("reuters/train.csv.gz")[0][:200]
    for what in ("topics", "combinations"):
        with spawn.Pool(1) as pool, tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder) / "model.han")
            n, seconds, peak = pool.apply(_fitted, (what, path))
            size = os.path.getsize(path) / 1e6
            said = subprocess.run(
                [sys.executable, "-c", SERVE, path],
                input=json.dumps(texts),
                cwd=Path(__file__).parent,
                capture_output=True,
                check=True,
                text=True,
            ).stdout
            served, took = map(float, said.split())
        rows.append(
            {
                "": f"{n} {what}",
                "fit, CPU s": round(seconds, 1),
                "peak of the fit, MB": round(peak),
                "file, MB": round(size, 1),
                "served, MB": round(served),
                "ms a document": round(took, 1),
            }
        )
        print(rows[-1], flush=True)
    return rows


def _fitted(what: str, path: str) -> tuple[int, float, float]:
    """Fit to all training documents and save; give the number of labels, seconds and peak MB."""
    texts, topics = read("reuters/train.csv.gz")
    y: Any = MultiLabelBinarizer().fit_transform(topics)
    if what == "combinations":
        y = [" ".join(sorted(each)) for each in topics]
    start = process_time()
    model = HANClassifier(random_state=0).fit(texts, y)
    seconds = process_time() - start
    peak = peak_megabytes()
    sk_han.save(model, path)
    return len(model.classes_), seconds, peak


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", choices=["reuters", "goemotions"], default="reuters")
    parser.add_argument("--models", nargs="+", choices=list(TITLES), default=list(TITLES))
    parser.add_argument("--folds", type=int, default=5, help="of Reuters")
    parser.add_argument("--dev", action="store_true", help="score what defaults are chosen by")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=int, help="documents to train on and to score, for a try")
    parser.add_argument("--combinations", action="store_true", help="costs alone")
    add_save(parser)
    arguments = parser.parse_args()
    if arguments.combinations:
        publish("several_labels-costs", costs(), arguments.save)
        return
    found: dict[str, list[Scored]] = {name: [] for name in arguments.models}
    truths = []
    for texts, y, others, theirs in splits(arguments.data, arguments.folds, arguments.dev):
        n = arguments.limit
        for name, scored in found.items():
            if name == "han":
                one, model = han(texts[:n], y[:n], others[:n], arguments.seed)
                tell_cost(model, others[:n])
            else:
                one = linear(name, texts[:n], y[:n], others[:n])
            scored.append(one)
        truths.append(theirs[:n])
    reference = sum(each.seconds for each in found.get("svc-balanced", []))
    y = np.concatenate(truths)
    rows = [row_of(TITLES[name], each, y, reference) for name, each in found.items()]
    publish(f"several_labels-{arguments.data}", rows, arguments.save)


if __name__ == "__main__":
    main()
