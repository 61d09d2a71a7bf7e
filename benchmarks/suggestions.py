"""What labels are worth that `suggest` asks for, beside as many random ones.

From 50 random documents of a corpus on, `HANClassifier` at its defaults is fitted, and the next
documents get their labels: those of `suggest` with its defaults, or random ones. Both begin with
the same documents, and are scored on up to 3,000 test documents. The pool has up to 10,000.
"""

from __future__ import annotations

import argparse

import numpy as np
from label_audit import read
from numpy.typing import NDArray
from results import add_save, publish

from sk_han import HANClassifier, suggest

N_POOL, N_TEST = 10_000, 3_000


def curves(name: str, sizes: list[int], seed: int) -> dict[str, list[float]]:
    """Give the accuracies with each number of labels, by how they were chosen."""
    (texts, labels), (test, truth) = read(name, seed)
    rng = np.random.RandomState(seed)
    order = rng.permutation(len(texts))[:N_POOL]
    of_test = rng.permutation(len(test))[:N_TEST]
    found: dict[str, list[float]] = {"random": [], "suggest": []}
    for how, scores in found.items():
        rows, model = order[: sizes[0]], None
        for size in sizes:
            if how == "random":
                rows = order[:size]
            elif model is not None:
                rows = np.append(rows, asked(model, texts, order, rows, size - len(rows), seed))
            model = HANClassifier(random_state=seed)
            model.fit([texts[row] for row in rows], labels[rows])
            scores.append(model.score([test[row] for row in of_test], truth[of_test]))
            print(name, seed, how, size, round(scores[-1], 4), flush=True)
    return found


def asked(
    model: HANClassifier,
    texts: list[str],
    order: NDArray[np.int64],
    rows: NDArray[np.int64],
    n: int,
    seed: int,
) -> NDArray[np.int64]:
    """Give the rows that are suggested of those without labels."""
    pool = order[~np.isin(order, rows)]
    labelled = [texts[row] for row in rows]
    found = suggest(model, [texts[row] for row in pool], n, X_labelled=labelled, random_state=seed)
    return pool[found.documents]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", choices=["imdb", "20news", "airline"], default="airline")
    parser.add_argument("--labels", nargs="+", type=int, default=[50, 100, 200, 400, 800])
    parser.add_argument("--seeds", type=int, default=3)
    add_save(parser)
    arguments = parser.parse_args()
    found = [curves(arguments.data, arguments.labels, seed) for seed in range(arguments.seeds)]
    mean = {how: np.mean([one[how] for one in found], axis=0) for how in found[0]}
    rows = []
    for place, size in enumerate(arguments.labels):
        # So many random labels give this accuracy, by lines between the points of their curve.
        reached = mean["suggest"][place]
        rising = np.maximum.accumulate(mean["random"])
        needed = float(np.interp(reached, rising, arguments.labels))
        if reached > rising[-1]:
            needed = float("inf")
        rows.append(
            {
                "labels": size,
                **{f"{how}, accuracy": round(float(mean[how][place]), 3) for how in mean},
                "random labels for the same": f"{needed:.0f}" if needed < np.inf else "more",
            }
        )
    publish(f"suggestions-{arguments.data}", rows, arguments.save)


if __name__ == "__main__":
    main()
