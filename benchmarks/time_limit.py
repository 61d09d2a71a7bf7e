"""Do fits keep to `time_limit`? Their limits are multiples of the seconds of the linear models.

Each corpus is fitted once without a limit; the seconds of reading and of the linear models of that
fit, with the trial of characters, times 3 to 10 are the limits of the others. Half the fits have
5,000 texts without labels. A fit is in time if it takes at most 10 % or 2 seconds longer.
"""

from __future__ import annotations

import argparse
from time import perf_counter
from typing import Any

import corpora
import numpy as np
from results import add_save, publish

from sk_han import HANClassifier

CORPORA = {
    "IMDB": lambda: corpora.imdb("train"),
    "airline": corpora.airline,
    "NSMC": lambda: corpora.nsmc("train"),
    "20 newsgroups": lambda: corpora.newsgroups("train"),
}
OF_LINEAR = "texts", "trial of characters", "linear models"


def row(name: str, n_fits: int, size: int, n_unlabelled: int) -> dict[str, Any]:
    """Fit with limits of 3 to 10 times the seconds of the linear models."""
    texts, labels = CORPORA[name]()
    order = np.random.RandomState(0).permutation(len(texts))
    texts, labels = [texts[i] for i in order], np.asarray(labels)[order]
    X, y, others = texts[:size], labels[:size], texts[size : size + n_unlabelled]
    HANClassifier(max_epochs=1).fit(X[:100], y[:100])  # loads kernels
    seconds = HANClassifier(random_state=0).fit(X, y).fit_summary_.seconds
    linear = sum(seconds[stage] for stage in OF_LINEAR)
    over, n_in_time, n_cut = [], 0, 0
    for i, limit in enumerate(linear * np.linspace(3, 10, n_fits)):
        start = perf_counter()
        model = HANClassifier(random_state=i, time_limit=limit)
        try:
            model.fit(X, y, X_unlabelled=others if i % 2 else None)
        except ValueError:  # the limit is too short today: not in time
            continue
        taken, summary = perf_counter() - start, model.fit_summary_
        over.append(taken - limit)
        n_in_time += taken <= max(1.1 * limit, limit + 2)
        n_cut += bool(summary.cuts) or summary.ended == "the time"
    return {
        "corpus": name,
        "fits": n_fits,
        "linear seconds": round(linear, 1),
        "in time": n_in_time,
        "longest over": round(max(over), 1),
        "cut": n_cut,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fits", type=int, default=10, help="of each corpus")
    parser.add_argument("--size", type=int, default=1_000)
    parser.add_argument("--unlabelled", type=int, default=5_000)
    add_save(parser)
    arguments = parser.parse_args()
    sizes = arguments.fits, arguments.size, arguments.unlabelled
    publish("time_limit", [row(name, *sizes) for name in CORPORA], arguments.save)


if __name__ == "__main__":
    main()
