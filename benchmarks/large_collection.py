"""Fits to many documents: seconds, memory and accuracy as their number grows.

``python benchmarks/large_collection.py`` makes reviews as long as those of IMDB from its 25,000
training reviews in ``$SK_HAN_DATA`` (else ``../shared/data``): each is repeated with a fifth of its
words replaced by words of all reviews. Labels are the true ones, or random for half or all of the
documents. A fit is one epoch in a process of its own, and its seconds are those of processors.
With ``--small`` the network has few units, so that almost all of the time is that of the rest.
``--portions 5`` compares `partial_fit` to a fit with the defaults.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from typing import Any

import numpy as np
from corpora import imdb
from memory import peak_megabytes
from numpy.typing import NDArray
from results import add_save, publish

from sk_han import HANClassifier

CHANGED = 0.2  # share of the words
RANDOM = {"true": 0.0, "half random": 0.5, "random": 1.0}  # share of the labels
SMALL = {
    "embedding_dim": 8,
    "embedding_init": "random",
    "word_hidden": 2,
    "sentence_hidden": 2,
    "adversarial_noise": 0.0,
}


def collection(n_documents: int, labels: str) -> tuple[list[str], NDArray]:
    """Give reviews, those beyond the 25,000 with changed words, and their labels."""
    rng = np.random.RandomState(0)
    texts, y = imdb("train")
    order = rng.permutation(len(texts))
    words = [texts[row].split(" ") for row in order]
    every = np.concatenate([np.array(some, dtype=object) for some in words])
    found = []
    for number in range(n_documents):
        some = words[number % len(words)]
        if number >= len(words):
            places = np.flatnonzero(rng.random_sample(len(some)) < CHANGED)
            some = some.copy()
            for place, other in zip(places, rng.randint(len(every), size=len(places)), strict=True):
                some[place] = every[other]
        found.append(" ".join(some))
    y = np.resize(y[order], n_documents)
    is_random = rng.random_sample(n_documents) < RANDOM[labels]
    y[is_random] = rng.choice(np.unique(y), is_random.sum())
    return found, y


def in_portions(n_documents: int, n_portions: int) -> dict[str, Any]:
    """Learn from all documents by `partial_fit`, or by one fit."""
    texts, y = collection(n_documents, "true")
    classifier = HANClassifier(random_state=0, device="cpu")
    if n_portions == 1:
        classifier.fit(texts, y)
    for rows in np.array_split(np.arange(n_documents), n_portions) if n_portions > 1 else ():
        classifier.partial_fit([texts[row] for row in rows], y[rows], classes=np.unique(y))
    accuracy = round(100 * classifier.score(*imdb("test")), 1)
    return {"documents": n_documents, "portions": n_portions, "test accuracy, %": accuracy}


def measured(n_documents: int, labels: str, small: bool) -> dict[str, Any]:
    """Fit in this process."""
    texts, y = collection(n_documents, labels)
    params = SMALL if small else {}
    classifier = HANClassifier(max_epochs=1, random_state=0, device="cpu", **params)
    start, wall = time.process_time(), time.perf_counter()
    classifier.fit(texts, y)
    seconds, wall = time.process_time() - start, time.perf_counter() - wall
    peak = peak_megabytes()
    stages = classifier.fit_summary_.seconds
    test_texts, test_labels = imdb("test")
    score = classifier.score(test_texts[::5], test_labels[::5])
    return {
        "documents": n_documents,
        "labels": labels,
        "fit, s": round(seconds),
        # The clock of stages goes on while other processes compute.
        "linear models, s": round(stages["linear models"] * seconds / wall),
        "peak MB": round(peak),
        "test accuracy, %": round(100 * score, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    sizes = [25_000, 50_000, 100_000, 200_000]
    parser.add_argument("--documents", type=int, nargs="+", default=sizes)
    parser.add_argument("--labels", nargs="+", choices=RANDOM, default=["true"])
    parser.add_argument("--small", action="store_true", help="a network of few units")
    parser.add_argument("--portions", type=int, help="learn in so many by partial_fit, and at once")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    add_save(parser)
    arguments = parser.parse_args()
    if arguments.one:
        (n_documents,), (labels,) = arguments.documents, arguments.labels
        print(json.dumps(measured(n_documents, labels, arguments.small)))
        return
    if arguments.portions:
        (n_documents,) = arguments.documents
        found = [in_portions(n_documents, n) for n in (1, arguments.portions)]
        publish("large_collection_portions", found, arguments.save)
        return
    rows = []
    for labels in arguments.labels:
        for n_documents in arguments.documents:
            command = [sys.executable, __file__, "--one", "--documents", str(n_documents)]
            command += ["--labels", labels, *(["--small"] if arguments.small else [])]
            output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
            rows.append(json.loads(output.splitlines()[-1]))
            print(rows[-1], flush=True)
    publish("large_collection" + ("_small" if arguments.small else ""), rows, arguments.save)


if __name__ == "__main__":
    main()
