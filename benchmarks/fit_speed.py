"""How long HANClassifier takes to fit, with its defaults, against TF-IDF(1-2) + LR.

``python benchmarks/fit_speed.py --documents 1000 2000`` fits reviews from raw text (IMDB, or
generated ones of like lengths where it is absent), the contestants taking turns, each round on
other documents where there are enough. HANClassifier fits with each engine.
"""

from __future__ import annotations

import argparse
from statistics import median
from time import perf_counter
from typing import Any

import linear
import torch
from corpora import reviews

from sk_han import HANClassifier


def seconds_of(model: Any, texts: list[str], labels: Any) -> float:
    start = perf_counter()
    model.fit(texts, labels)
    return perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, nargs="+", default=[1_000, 2_000])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--engines", nargs="+", default=["numba", "torch"])
    arguments = parser.parse_args()
    largest = max(arguments.documents)
    texts, labels, what = reviews(min(25_000, largest * arguments.rounds))
    HANClassifier(max_epochs=1, random_state=0, device="cpu").fit(texts[:50], labels[:50])
    print(f"{what}, {torch.get_num_threads()} threads, medians of {arguments.rounds} rounds")
    print(f"{'documents':>10}  {'':24}{'fit s':>8}{'ratio':>8}{'epochs':>8}")
    for n in arguments.documents:
        seconds: dict[str, list[float]] = {}
        epochs = {}
        for number in range(arguments.rounds):
            first = number * n % max(len(texts) - n + 1, 1)
            part = texts[first : first + n], labels[first : first + n]
            seconds.setdefault("TF-IDF(1-2) + LR", []).append(seconds_of(linear.tfidf(), *part))
            for engine in arguments.engines:
                model = HANClassifier(engine=engine, random_state=number, device="cpu")
                name = f"HANClassifier, {engine}"
                seconds.setdefault(name, []).append(seconds_of(model, *part))
                epochs[name] = model.n_iter_
        reference = seconds["TF-IDF(1-2) + LR"]
        for name, values in seconds.items():
            ratio = median(ours / theirs for ours, theirs in zip(values, reference, strict=True))
            print(
                f"{n:10,}  {name:24}{median(values):8.2f}{ratio:8.1f}{epochs.get(name, '-'):>8}",
                flush=True,
            )


if __name__ == "__main__":
    main()
