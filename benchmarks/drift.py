"""How often `drift` gives an alarm: texts of another kind, and of the same.

``OMP_NUM_THREADS=1 python benchmarks/drift.py`` fits three models of 1,000 labels to each corpus,
which takes ten minutes, and compares 30 batches of 500 texts of each kind with each model.
"""

from __future__ import annotations

import argparse
import re
from typing import Any

import corpora
import numpy as np
from results import add_save, publish
from sklearn.model_selection import train_test_split
from splits import N_SEEDS, published

from sk_han import HANClassifier, drift

AIRLINES = ("united", "usairways", "americanair", "southwestair", "jetblue", "virginamerica")
N_BATCHES = 30


def without_airline(number: int, seed: int) -> tuple[Any, dict[str, list[str]]]:
    """Fit to tweets to all airlines but one; give other tweets of these, and those of the one."""
    texts, labels = corpora.airline()
    name = AIRLINES[number]
    is_left_out = np.array([bool(re.search(f"@{name}", text, re.IGNORECASE)) for text in texts])
    rest = np.flatnonzero(~is_left_out)
    rows, others = train_test_split(
        rest, train_size=1_000, stratify=labels[rest], random_state=seed
    )
    model = HANClassifier(random_state=seed).fit([texts[i] for i in rows], labels[rows])
    return model, {
        "airline, the same": [texts[i] for i in others],
        "airline, one left out": [texts[i] for i in np.flatnonzero(is_left_out)],
    }


def cases(corpus: str, seed: int) -> tuple[Any, dict[str, list[str]]]:
    """Fit a model, and give texts of several kinds."""
    if corpus == "airline":
        return without_airline(seed, seed)
    split = published(f"{corpus}-1000", seed)
    model = HANClassifier(random_state=seed).fit(split.train_texts, split.train_labels)
    # The test of newsgroups is later than its training, and that of IMDB is about other films.
    known = {*split.train_texts}
    same = [text for text in published(corpus, seed).train_texts if text not in known]
    kinds = {f"{corpus}, the same": same, f"{corpus}, its test": split.test_texts}
    if corpus == "imdb":
        kinds["imdb, movies of ERASER"] = corpora.movies("train")[0]
        kinds["imdb, newsgroups"] = corpora.newsgroups("train")[0]
    return model, kinds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpora", nargs="*", default=["imdb", "airline", "20news", "nsmc"])
    parser.add_argument("--documents", type=int, default=500)
    add_save(parser)
    arguments = parser.parse_args()
    found: dict[str, list[list[bool]]] = {}
    for corpus in arguments.corpora:
        for seed in range(N_SEEDS):
            model, kinds = cases(corpus, seed)
            rng = np.random.RandomState(seed)
            for kind, texts in kinds.items():
                for _ in range(N_BATCHES):
                    rows = rng.choice(len(texts), arguments.documents, replace=False)
                    compared = drift(model, [texts[row] for row in rows])
                    alarms = [one.p_value < 0.05 for one in compared.comparisons]
                    found.setdefault(kind, []).append([compared.alarm, *alarms])
            for kind in kinds:
                print(kind, np.mean(found[kind], axis=0).round(2), flush=True)
    keys = ("alarm, %", "unknown words", "confidence", "novelty", "predictions")
    rows = [
        {"model, texts": kind}
        | {key: round(100 * share) for key, share in zip(keys, np.mean(a, axis=0), strict=True)}
        for kind, a in found.items()
    ]
    publish("drift", rows, arguments.save)


if __name__ == "__main__":
    main()
