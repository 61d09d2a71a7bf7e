"""How long a search over settings of the network takes, against TF-IDF(1-2) + LR.

``python benchmarks/search.py`` fits five folds of ten settings, learning rates of 0.003 and 0.006
with a dropout of 0.1 to 0.5, to IMDB reviews (or generated ones of like lengths): by
`GridSearchCV` with each number of jobs. TF-IDF is searched over ten values of C. Seconds are those
that a user waits on a quiet machine, with the fit to all documents at the end.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from functools import partial
from time import perf_counter
from typing import Any

import linear
import numpy as np
from corpora import reviews
from results import add_save, publish
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, StratifiedKFold

from sk_han import HANClassifier

SETTINGS = {"lr": [0.003, 0.006], "dropout": [0.1, 0.2, 0.3, 0.4, 0.5]}
STRENGTHS = {"logisticregression__C": np.logspace(-1, 2, 10).tolist()}


def search(model: Any, grid: Mapping[str, Any], data: tuple[Any, Any], **options: Any) -> float:
    """Return the best accuracy of a search."""
    found = GridSearchCV(model, grid, **options).fit(*data)
    return float(found.best_score_)


def measured(n: int, folds: int, grid: Mapping[str, Any], jobs: Sequence[int]) -> list[Any]:
    """Search with each model in turn, and give a row for each."""
    texts, labels, what = reviews(n)
    print(f"{n:,} {what}", flush=True)
    data, cv = (texts, labels), StratifiedKFold(folds)
    model = HANClassifier(random_state=0, device="cpu")
    clone(model).set_params(max_epochs=1).fit(texts[:50], labels[:50])  # loads the kernels
    searches = {
        "TF-IDF(1-2) + LR": partial(search, linear.tfidf(), STRENGTHS, data, cv=cv),
    }
    for n_jobs in jobs:
        searches[f"HANClassifier, n_jobs={n_jobs}"] = partial(
            search, model, grid, data, cv=cv, n_jobs=n_jobs
        )
    rows: list[dict[str, Any]] = []
    reference = 0.0
    for name, run in searches.items():
        start = perf_counter()
        best, seconds = run(), perf_counter() - start
        reference = reference or seconds
        rows.append(
            {
                "documents": n,
                "": name,
                "seconds of a search": round(seconds, 1),
                "ratio": round(seconds / reference, 1),
                "best accuracy, %": round(100 * best, 1),
            }
        )
        print(rows[-1], flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, nargs="+", default=[1_000, 5_000])
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--dropouts", type=int, default=5, help="only the first so many")
    parser.add_argument("--jobs", type=int, nargs="+", default=[1, 2])
    add_save(parser)
    arguments = parser.parse_args()
    grid = {**SETTINGS, "dropout": SETTINGS["dropout"][: arguments.dropouts]}
    rows: list[dict[str, Any]] = []
    for n in arguments.documents:
        rows += measured(n, arguments.folds, grid, arguments.jobs)
    publish("search", rows, arguments.save)


if __name__ == "__main__":
    main()
