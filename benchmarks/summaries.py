"""How much of the predictions the terms of a summary carry, and how long it takes.

``python benchmarks/summaries.py`` fits a HANClassifier with its defaults on some training documents
of each corpus, and summarizes it over test documents, with k terms of each kind. Seconds are of one
thread, beside those of `explain` for the same documents, medians of interleaved runs.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from statistics import median
from time import perf_counter
from typing import Any

import corpora
import numpy as np
from numpy.typing import NDArray
from results import add_save, publish

from sk_han import HANClassifier, summarize
from sk_han.datasets import make_reviews

DATA = ("imdb", "newsgroups", "make_reviews")


def documents_of(
    name: str, n_train: int, n_test: int
) -> tuple[list[str], NDArray[Any], list[str], NDArray[Any]]:
    """Give texts and labels to train on, and others."""
    if name == "make_reviews":
        texts, labels = make_reviews(n_train + n_test, random_state=0)
        return texts[:n_train], labels[:n_train], texts[n_train:], labels[n_train:]
    of_split = getattr(corpora, name)
    drawn = []
    for split, n in (("train", n_train), ("test", n_test)):
        texts, labels = of_split(split)
        rows = np.random.RandomState(0).permutation(len(texts))[:n]
        drawn += [[texts[row] for row in rows], labels[rows]]
    return tuple(drawn)


def seconds_of(functions: list[Callable[[], Any]], n_runs: int) -> list[float]:
    """Measure each function in turn, so many times."""
    seconds: list[list[float]] = [[] for _ in functions]
    for _ in range(n_runs):
        for function, found in zip(functions, seconds, strict=True):
            start = perf_counter()
            function()
            found.append(perf_counter() - start)
    return [median(found) for found in seconds]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", choices=DATA, default=list(DATA))
    parser.add_argument("--k", nargs="+", type=int, default=[5, 10, 50])
    parser.add_argument("--train", type=int, default=3_000)
    parser.add_argument("--test", type=int, default=2_000)
    parser.add_argument("--runs", type=int, default=3)
    add_save(parser)
    arguments = parser.parse_args()
    rows = []
    for name in arguments.data:
        train, train_labels, test, labels = documents_of(name, arguments.train, arguments.test)
        fitted = HANClassifier(random_state=0, n_threads=1).fit(train, train_labels)
        accuracy = fitted.score(test, labels)
        for k in arguments.k:
            removal = summarize(fitted, test, k=k).removal
            summarizing = partial(summarize, fitted, test, k=k)
            seconds, explaining = seconds_of(
                [summarizing, partial(fitted.explain, test)], arguments.runs
            )
            rows.append(
                {
                    "corpus": name,
                    "accuracy": round(accuracy, 3),
                    "k": k,
                    "of the words": f"{removal.share_of_words:.1%}",
                    "carries": f"{removal.carried:.0%}",
                    "carries, at random": f"{removal.carried_random:.0%}",
                    "predictions that change": f"{removal.changed:.0%}",
                    "change, at random": f"{removal.changed_random:.0%}",
                    "seconds": round(seconds, 1),
                    "of explain": round(explaining, 1),
                }
            )
    publish("summaries", rows, arguments.save)


if __name__ == "__main__":
    main()
