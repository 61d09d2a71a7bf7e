"""What the median is worth where classes have an order, and how an audit ranks their labels.

``OMP_NUM_THREADS=1 python benchmarks/ratings.py`` takes a quarter of an hour: the eight ratings of
IMDB, 1 to 4 and 7 to 10. The mode is the most probable class, the median what
``HANClassifier(ordered=True)`` predicts, of the same probabilities; errors are in stars. Means of
three seeds, which draw the training and 5,000 test reviews. ``--audit`` puts wrong labels on a
tenth of 3,000 reviews, and ranks all labels by their doubts and by the expected steps to the true
class, with probabilities of TF-IDF and logistic regression.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np
from linear import tfidf
from numpy.typing import NDArray
from results import add_save, publish
from sklearn.metrics import cohen_kappa_score
from sklearn.model_selection import cross_val_predict
from splits import N_SEEDS, published

from sk_han import HANClassifier
from sk_han._utils.metrics import median_class
from sk_han.inspection._auditing import label_doubts

SIZES = (1_000, 5_000)
N_TEST, N_AUDITED, N_WRONG, N_FIRST = 5_000, 3_000, 300, 100
DECISIONS = {"mode": lambda p: p.argmax(axis=1), "median": median_class}
RANKINGS = {"the doubt": False, "expected steps": True}
DIGITS = {
    "accuracy, %": 1,
    "within one step, %": 1,
    "mean absolute error": 2,
    "quadratic kappa": 3,
}


def figures(true: NDArray, predicted: NDArray, stars: NDArray) -> list[float]:
    """Return accuracy and documents within a step in percent, mean error, and kappa."""
    steps = np.abs(true - predicted)
    shares = [100 * np.mean(steps == 0), 100 * np.mean(steps <= 1)]
    error = np.abs(stars[true] - stars[predicted]).mean()
    return [*shares, error, cohen_kappa_score(true, predicted, weights="quadratic")]


def measure(size: int, seed: int) -> dict[tuple[str, str], list[float]]:
    """Fit both models to as many reviews, and return the figures of both decisions of each."""
    split = published(f"stars-{size}", seed)
    rows = np.random.RandomState(seed).permutation(len(split.test_texts))[:N_TEST]
    texts, labels = [split.test_texts[row] for row in rows], split.test_labels[rows]
    models = {
        "TF-IDF(1-2) + LR": tfidf(),
        "`HANClassifier(ordered=True)`": HANClassifier(ordered=True, random_state=seed),
    }
    found = {}
    for name, model in models.items():
        p = model.fit(split.train_texts, split.train_labels).predict_proba(texts)
        true = np.searchsorted(model.classes_, labels)
        for decision, decide in DECISIONS.items():
            found[name, decision] = figures(true, decide(p), model.classes_)
            print(size, seed, name, decision, found[name, decision], file=sys.stderr, flush=True)
    return found


def wrong_labels(true: NDArray, kind: str, rng: np.random.RandomState) -> NDArray:
    """Give a tenth of the documents another label: any other one, the mirrored or the next one."""
    labels, n_classes = true.copy(), true.max() + 1
    rows = rng.permutation(len(true))[:N_WRONG]
    before = true[rows]
    if kind == "any other":
        labels[rows] = (before + rng.randint(1, n_classes, N_WRONG)) % n_classes
    elif kind == "mirrored":
        labels[rows] = n_classes - 1 - before
    else:
        labels[rows] = np.where(before > 0, before - 1, 1)
    return labels


def audited(kind: str, seed: int) -> list[float]:
    """Return the share of wrong labels among the first of each ranking, and steps they are off."""
    split = published(f"stars-{N_AUDITED}", seed)
    true = np.unique(split.train_labels, return_inverse=True)[1]
    labels = wrong_labels(true, kind, np.random.RandomState(seed))
    p = cross_val_predict(tfidf(), split.train_texts, labels, cv=5, method="predict_proba")
    firsts = [
        label_doubts(p, labels, ordered=ordered).order[:N_FIRST] for ordered in RANKINGS.values()
    ]
    off = np.abs(true - labels)
    return [100 * np.mean(off[rows] > 0) for rows in firsts] + [off[rows].sum() for rows in firsts]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--audit", action="store_true", help="rank labels, and fit no model")
    add_save(parser)
    arguments = parser.parse_args()
    rows = []
    if arguments.audit:
        heads = [f"wrong of the first 100 by {by}, %" for by in RANKINGS]
        heads += [f"steps off, by {by}" for by in RANKINGS]
        for kind in ("any other", "mirrored", "the next"):
            means = np.mean([audited(kind, seed) for seed in range(N_SEEDS)], axis=0)
            numbers = (round(float(mean)) for mean in means)
            rows.append({"wrong label": kind} | dict(zip(heads, numbers, strict=True)))
        publish("ratings_audit", rows, arguments.save)
        return
    for size in arguments.sizes:
        of_seeds = [measure(size, seed) for seed in range(N_SEEDS)]
        for model, decision in of_seeds[0]:
            means = np.mean([found[model, decision] for found in of_seeds], axis=0)
            rounded = map(round, means.tolist(), DIGITS.values())
            row = {"reviews": f"{size:,}", "model": model, "predicted": decision}
            rows.append(row | dict(zip(DIGITS, rounded, strict=True)))
    publish("ratings", rows, arguments.save)


if __name__ == "__main__":
    main()
