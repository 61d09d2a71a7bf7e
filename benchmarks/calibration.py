"""How far confidence is from accuracy, by the number of training documents.

``OMP_NUM_THREADS=1 python benchmarks/calibration.py`` takes half an hour. Training documents alone
are used: some to fit, a fold of the others to score. The calibration error of finite samples is not
0 even where probabilities are right, and part of it no single scale of the logits mends: both are
shown next to it.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from itertools import compress

import numpy as np
from numpy.typing import NDArray
from results import add_save, publish
from scipy.optimize import minimize_scalar
from splits import N_SEEDS, held_out

from sk_han import HANClassifier
from sk_han._utils.metrics import calibration_error, figures

TITLES = {
    "imdb": "IMDB",
    "stars": "IMDB, 8 ratings",
    "20news": "20 newsgroups",
    "airline": "airline tweets",
    "nsmc": "nsmc",
}
SIZES = (500, 1_000, 2_000, 5_000)


def scaled(p: NDArray, scale: float) -> NDArray:
    """Multiply the logits of probabilities (D, K) by a common scale."""
    powers = p**scale
    return powers / powers.sum(axis=1, keepdims=True)


def best_scaled(p: NDArray, targets: NDArray) -> NDArray:
    """Scale by what is best for these very documents, which no fit can know."""

    def loss(log_scale: float) -> float:
        return figures(scaled(p, np.exp(log_scale)), targets)["log_loss"]

    return scaled(p, np.exp(minimize_scalar(loss, bounds=(-1.5, 1.5), method="bounded").x))


def drawn(p: NDArray, rng: np.random.RandomState) -> NDArray:
    """Draw labels for which the probabilities are right."""
    passed = p.cumsum(axis=1) < rng.random_sample((len(p), 1))
    return np.minimum(passed.sum(axis=1), p.shape[1] - 1)


def measure(corpus: str, size: int, seed: int) -> list[float]:
    """Fit and score once: what the columns of `main` are means of."""
    split = held_out(f"{corpus}-{size}", seed, seed)
    model = HANClassifier(random_state=seed).fit(split.train_texts, split.train_labels)
    known = np.isin(split.test_labels, model.classes_)
    targets = np.searchsorted(model.classes_, split.test_labels[known])
    p = model.predict_proba(list(compress(split.test_texts, known)))
    found = figures(p, targets)
    return [
        100 * (p.max(axis=1).mean() - found["accuracy"]),
        found["calibration_error"],
        calibration_error(best_scaled(p, targets), targets),
        calibration_error(p, drawn(p, np.random.RandomState(seed))),
        found["log_loss"],
        found["accuracy"],
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", nargs="+", type=int, default=SIZES)
    parser.add_argument("--data", nargs="+", choices=TITLES, default=list(TITLES))
    add_save(parser)
    arguments = parser.parse_args()
    rows = []
    for size in arguments.sizes:
        found = defaultdict(list)
        for corpus in arguments.data:
            for seed in range(N_SEEDS):
                found[corpus].append(measure(corpus, size, seed))
                said = " ".join(f"{value:.4f}" for value in found[corpus][-1])
                print(f"{corpus}-{size}, seed {seed}: {said}", file=sys.stderr, flush=True)
        gaps = {corpus: np.array(runs)[:, 0] for corpus, runs in found.items()}
        mean = np.mean(list(found.values()), axis=(0, 1))
        rows.append(
            {"training documents": f"{size:,}"}
            | {TITLES[name]: round(np.abs(each).mean(), 1) for name, each in gaps.items()}
            | {"largest": round(max(np.abs(each).max() for each in gaps.values()), 1)}
            | {"mean with sign": round(mean[0], 1), "calibration error": round(mean[1], 3)}
            | {"at the best scale": round(mean[2], 3), "by chance": round(mean[3], 3)}
        )
    publish("calibration", rows, arguments.save)


if __name__ == "__main__":
    main()
