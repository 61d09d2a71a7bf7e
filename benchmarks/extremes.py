"""Whether odd collections are learnt in bounded time and memory, or end with an error that says so.

``python benchmarks/extremes.py`` fits one epoch on each collection, with the default model, in a
process of its own with 16 GB of address space, and scores its first 1,000 documents.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import subprocess
import sys
import warnings
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np
from memory import peak_megabytes
from numpy.typing import NDArray
from results import add_save, publish

from sk_han import HANClassifier

Collection = tuple[list[str], NDArray[np.int64]]
MOST_BYTES = 16_000_000_000


def one_word_each(n_documents: int) -> Collection:
    """Make documents of one word, which tells the class."""
    words = np.random.default_rng(0).integers(0, 1_000, n_documents)
    return [f"word{word}" for word in words], words % 2


def identical(n_documents: int) -> Collection:
    """Make the same text for both classes."""
    return ["A film like any other, and long."] * n_documents, np.arange(n_documents) % 2


def many_classes(n_classes: int, n_each: int) -> Collection:
    """Make documents of a word of their class among words of all."""
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(n_classes), n_each)
    others = rng.integers(0, 500, (len(labels), 6))
    texts = [
        f"class{label} " + " ".join(f"word{word}" for word in words)
        for label, words in zip(labels, others, strict=True)
    ]
    return texts, labels


def imbalanced(n_rare: int, n_frequent: int) -> Collection:
    """Make a few documents with a word of their own among very many others."""
    texts, _ = many_classes(1, n_frequent + n_rare)
    texts = [text.replace("class0 ", "") for text in texts]
    texts[:n_rare] = [f"alarm {text}" for text in texts[:n_rare]]
    return texts, (np.arange(len(texts)) < n_rare).astype(np.int64)


# The collections, and the parameters of the model that are not the defaults.
COLLECTIONS: dict[str, tuple[Callable[[], Collection], dict[str, Any]]] = {
    "1,000 documents of one word": (lambda: one_word_each(1_000), {}),
    "200,000 documents of one word": (lambda: one_word_each(200_000), {}),
    "200,000 identical texts": (lambda: identical(200_000), {}),
    "1,000 classes of one document, none held out": (
        lambda: many_classes(1_000, 1),
        {"validation_fraction": None},
    ),
    "2,000 classes of 5 documents": (lambda: many_classes(2_000, 5), {}),
    "50,000 classes of 2 documents": (lambda: many_classes(50_000, 2), {}),
    "the same, the network alone": (lambda: many_classes(50_000, 2), {"linear_ngrams": None}),
    "3 documents against 30,000": (lambda: imbalanced(3, 30_000), {}),
    "the same, balanced": (lambda: imbalanced(3, 30_000), {"class_weight": "balanced"}),
}


def measure(name: str) -> None:
    """Fit, score and print seconds, memory and recall."""
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    make, parameters = COLLECTIONS[name]
    texts, labels = make()
    classifier = HANClassifier(max_epochs=1, random_state=0, device="cpu", **parameters)
    start = perf_counter()
    try:
        classifier.fit(texts, labels)
    except MemoryError as error:
        needed = re.search(r"[\d.,]+ [GM]i?B", str(error))
        said = f"too little memory: {needed[0] if needed else error}"
        print(json.dumps([perf_counter() - start, said, None]))
        return
    seconds = perf_counter() - start
    found = classifier.predict(texts[:1_000])
    recall = np.mean([np.mean(found[labels[:1_000] == c] == c) for c in set(labels[:1_000])])
    print(json.dumps([seconds, f"{peak_megabytes():,.0f}", round(recall, 2)]))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--measure", choices=COLLECTIONS, help=argparse.SUPPRESS)
    add_save(parser)
    arguments = parser.parse_args()
    if arguments.measure:
        measure(arguments.measure)
        return
    rows = []
    for name in COLLECTIONS:
        command = [sys.executable, __file__, "--measure", name]
        said = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
        seconds, megabytes, recall = json.loads(said)
        row = {"": name, "fit, s": round(seconds, 1), "peak MB": megabytes, "recall": recall}
        rows.append(row)
    publish("extremes", rows, arguments.save)


if __name__ == "__main__":
    main()
