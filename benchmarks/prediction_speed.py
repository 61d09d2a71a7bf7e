"""How fast HANClassifier predicts, with kernels and with `nn.GRU`, against TF-IDF from raw text.

``python benchmarks/prediction_speed.py`` scores whole reviews (IMDB, or generated ones of like
lengths where it is absent), the contestants taking turns. The weights are those of one epoch over
2,000 reviews: speed does not depend on them. HANClassifier computes with each engine; the linear
model is included.
"""

from __future__ import annotations

import argparse
import copy
from collections.abc import Callable
from statistics import median
from time import perf_counter

import linear
import numpy as np
import torch
from corpora import reviews
from results import add_save, publish

from sk_han import HANClassifier


def timed(function: Callable[[], object]) -> float:
    start = perf_counter()
    function()
    return perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    add_save(parser)
    arguments = parser.parse_args()
    texts, labels, what = reviews(arguments.documents + 2_000)
    train_texts, texts = texts[:2_000], texts[2_000:]
    classifier = HANClassifier(random_state=0, max_epochs=1, device="cpu")
    classifier.fit(train_texts, labels[:2_000])
    tfidf = linear.tfidf().fit(train_texts, labels[:2_000])
    documents = classifier.tokenizer_.transform(texts)
    plain = copy.deepcopy(classifier).set_params(engine="torch")
    np.testing.assert_allclose(
        plain.predict_proba(documents[:500]), classifier.predict_proba(documents[:500]), atol=1e-5
    )

    contestants: dict[str, Callable[[], object]] = {
        "numba, tokenized": lambda: classifier.predict_proba(documents),
        "torch, tokenized": lambda: plain.predict_proba(documents),
        "numba, raw text": lambda: classifier.predict_proba(texts),
        "torch, raw text": lambda: plain.predict_proba(texts),
        "TF-IDF(1-2) + LR, raw text": lambda: tfidf.predict_proba(texts),
    }
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for number in range(arguments.rounds + 1):
        for name, contestant in contestants.items():
            taken = timed(contestant)
            if number:  # the first round warms up
                seconds[name].append(taken)
    print(
        f"{len(texts):,} {what} of {documents.n_words / len(texts):.0f} words, "
        f"{torch.get_num_threads()} threads, medians of {arguments.rounds} rounds"
    )
    reference = median(seconds["torch, tokenized"])
    rows = [
        {
            "": name,
            "documents a second": round(len(texts) / median(times)),
            "ratio": round(reference / median(times), 2),
        }
        for name, times in seconds.items()
    ]
    publish("prediction_speed", rows, arguments.save)


if __name__ == "__main__":
    main()
