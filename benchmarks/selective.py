"""How often `selective_threshold` breaks its promise, and how much it accepts.

``OMP_NUM_THREADS=1 python benchmarks/selective.py`` takes an hour. In simulated populations the
true error is known: 5 % of the draws may break the promise. Half of the test documents of a corpus
choose the threshold, and the other half is scored.
"""

from __future__ import annotations

import argparse

import numpy as np
from results import add_save, publish
from scipy.special import logit
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from splits import N_SEEDS, published

from sk_han import HANClassifier, selective_threshold

ERRORS = (0.02, 0.05, 0.1)
SIZES = (200, 500, 2_000)


def violations(max_error: float, n: int, draws: int, falling: bool) -> float:
    """Count draws whose threshold has a true error above the maximum, in percent.

    Confidence is uniform from 0.5 to 1. The error is just above the maximum at every threshold or,
    falling, up to 0.7 alone.
    """
    model, broken = LogisticRegression().fit([[-1], [1]], [0, 1]), 0
    model.coef_, model.intercept_ = np.ones((1, 1)), np.zeros(1)
    random = np.random.RandomState(n)
    for _ in range(draws):
        confidence = 0.5 + random.random_sample(n) / 2
        risk = max_error * (4 * (1 - confidence) / 0.6 if falling else 1.0001)
        X, y = logit(confidence)[:, None], random.random_sample(n) >= risk
        found = selective_threshold(model, X, y.astype(int), max_error=max_error)
        broken += found.threshold < (0.7 if falling else np.inf)
    return round(100 * broken / draws, 2)


def measure(corpus: str, seed: int) -> list[list[float]]:
    """Fit once, and return the figures of each maximum error on the other half of the test."""
    split = published(corpus, seed)
    model = HANClassifier(random_state=seed).fit(split.train_texts, split.train_labels)
    texts, others, labels, y = train_test_split(
        split.test_texts, split.test_labels, test_size=0.5, random_state=seed
    )
    confidence, wrong = model.predict_proba(others).max(axis=1), model.predict(others) != y
    found = []
    for max_error in ERRORS:
        chosen = selective_threshold(model, texts, labels, max_error=max_error)
        accepted = confidence >= chosen.threshold
        found.append([wrong.mean(), accepted.mean(), (wrong & accepted).mean()])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpora", nargs="*", default=["imdb", "airline", "20news"])
    parser.add_argument("--draws", type=int, default=10_000)
    add_save(parser)
    arguments = parser.parse_args()
    kinds = {"equal": False, "falling": True}
    rows = [
        {"max_error": error, "documents": n}
        | {f"broken, {k}, %": violations(error, n, arguments.draws, kinds[k]) for k in kinds}
        for error in ERRORS
        for n in SIZES
    ]
    publish("selective_simulated", rows, arguments.save)
    rows = []
    for corpus in arguments.corpora:
        figures = np.mean([measure(corpus, seed) for seed in range(N_SEEDS)], axis=0)
        for max_error, (error, accepted, both) in zip(ERRORS, figures, strict=True):
            row = {
                "documents": corpus,
                "max_error": max_error,
                "all wrong, %": round(100 * error, 1),
            }
            row["accepted, %"] = round(100 * accepted, 1)
            of_these = round(100 * both / accepted, 1) if accepted else None
            rows.append(row | {"of these wrong, %": of_these})
    publish("selective", rows, arguments.save)


if __name__ == "__main__":
    main()
