"""How time and memory grow with the collection: with documents, words a document, vocabulary.

``python benchmarks/growth.py`` trains one epoch and predicts over documents of random word ids, in
sentences of 18 words as reviews have, and prints microseconds a word; where the cost is linear, a
column hardly moves. Peak memory is that of a process of its own.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from statistics import median
from time import perf_counter

import numpy as np
from memory import peak_megabytes
from results import add_save, publish

from sk_han import DocumentArray, HANClassifier

WORDS_PER_SENTENCE = 18


def documents(n_documents: int, n_words: int, vocabulary_size: int) -> DocumentArray:
    """Make documents of `n_words` words, frequent and rare as Zipf has them."""
    rng = np.random.default_rng(0)
    ranks = np.exp(rng.random(n_documents * n_words) * np.log(vocabulary_size - 2))
    of_document = np.append(np.arange(0, n_words, WORDS_PER_SENTENCE), n_words)
    starts = (np.arange(n_documents)[:, np.newaxis] * n_words + of_document[:-1]).ravel()
    return DocumentArray(
        2 + ranks.astype(np.int32),
        np.append(starts, n_documents * n_words),
        np.arange(n_documents + 1) * (len(of_document) - 1),
    )


def microseconds_a_word(X: DocumentArray, rounds: int) -> tuple[float, float]:
    """Time a fit of one epoch, with all that belongs to it, and a prediction, medians."""
    y = np.arange(len(X)) % 2
    trained, predicted = [], []
    for _ in range(rounds):
        classifier = HANClassifier(max_epochs=1, random_state=0, device="cpu")
        start = perf_counter()
        classifier.fit(X, y)
        fitted = perf_counter()
        classifier.predict_proba(X)
        trained.append(fitted - start)
        predicted.append(perf_counter() - fitted)
    return 1e6 * median(trained) / X.n_words, 1e6 * median(predicted) / X.n_words


def measured_apart(n_documents: int, n_words: int, max_words: int) -> float:
    """Fit and predict in a process of its own."""
    arguments = ["--measure", str(n_documents), str(n_words), str(max_words)]
    command = [sys.executable, __file__, *arguments]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def measure(n_documents: int, n_words: int, max_words: int) -> None:
    X = documents(n_documents, n_words, 20_000)
    classifier = HANClassifier(
        max_epochs=1,
        validation_fraction=None,
        device="cpu",
        net_params={"module__max_words": max_words},
    )
    classifier.fit(X, np.arange(len(X)) % 2).predict_proba(X)
    print(peak_megabytes())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--memory-only", action="store_true")
    parser.add_argument("--measure", type=int, nargs=3, help=argparse.SUPPRESS)
    add_save(parser)
    arguments = parser.parse_args()
    if arguments.measure:
        measure(*arguments.measure)
        return
    sweeps = {
        "documents": [(n, 230, 20_000) for n in (500, 1_000, 2_000, 4_000)],
        "words a document": [(1_000, n, 20_000) for n in (58, 115, 230, 460, 920)],
        "vocabulary": [(1_000, 230, n) for n in (5_000, 20_000, 80_000, 320_000)],
    }
    rows = []
    for what, sizes in sweeps.items() if not arguments.memory_only else ():
        for size in sizes:
            train, predict = microseconds_a_word(documents(*size), arguments.rounds)
            varied = dict(zip(("documents", "words a document", "vocabulary"), size, strict=True))
            row = {"varied": what, "": varied[what]}
            rows.append(row | {"train": round(train, 1), "predict": round(predict, 1)})
    if rows:
        publish("growth", rows, arguments.save)
    rows = []
    for n_documents, n_words in [(8, 230), (64, 4_000), (64, 16_000)]:
        peaks = [measured_apart(n_documents, n_words, limit) for limit in (16_384, 131_072)]
        row = {"peak MB of a batch of": f"{n_documents} documents of {n_words:,} words"}
        rows.append(row | {"16,384 at once": round(peaks[0]), "131,072 (default)": round(peaks[1])})
    publish("growth_memory", rows, arguments.save)


if __name__ == "__main__":
    main()
