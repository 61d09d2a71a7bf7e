"""What two worker processes of Dask bring on one machine: scoring, memory, and a search.

``python benchmarks/dask_scoring.py`` scores documents with a stored model in turns: by the `Scorer`
in this process, and by `sk_han.distributed.predict_proba` over a bag of 20 parts in two workers of
one thread, from a bag to probabilities in this process, the sending of texts and model included.
The ratio is the median of those of the rounds. Resident memory of a worker is read before the model
comes and at the highest while it scores. ``--search`` times a small `GridSearchCV` by joblib's
backends for loky and for Dask, in turns, once the workers of both have imported what they need.
"""

from __future__ import annotations

# The workers import this file too: what they do without is imported in functions.
import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from threading import Event, Thread
from time import perf_counter

import corpora
import dask.bag
import joblib
import numpy as np
import psutil
from dask.distributed import Client, LocalCluster

from sk_han.datasets import make_reviews
from sk_han.distributed import predict_proba
from sk_han.serving import Scorer

N_PARTS = 20


def seconds(work: Callable[[], object]) -> float:
    start = perf_counter()
    work()
    return perf_counter() - start


class HighestMemory:
    """The highest resident memory of a process while a block runs, in MB."""

    def __init__(self, pids: list[int]) -> None:
        self._processes = [psutil.Process(pid) for pid in pids]
        self._end = Event()
        self._thread = Thread(target=self._watch)
        self.megabytes = 0.0

    def __enter__(self) -> HighestMemory:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._end.wait(0.05):
            found = max(each.memory_info().rss for each in self._processes)
            self.megabytes = max(self.megabytes, found / 1e6)


def report_scoring(client: Client, path: Path, texts: list[str], n_rounds: int) -> None:
    """Print words a second here and over the workers, their ratio and the memory of a worker."""
    pids = list(client.run(os.getpid).values())
    before = max(psutil.Process(pid).memory_info().rss for pid in pids) / 1e6
    scorer, bag = Scorer.load(path), dask.bag.from_sequence(texts, npartitions=N_PARTS)
    n_words = sum(len(text.split()) for text in texts)
    here: list[float] = []
    there: list[float] = []
    with HighestMemory(pids) as memory:
        difference = np.abs(
            predict_proba(path, bag).compute() - scorer.predict_proba(texts)
        ).max()  # which warms both up
        for _ in range(n_rounds):
            here.append(seconds(lambda: scorer.predict_proba(texts)))
            there.append(seconds(lambda: predict_proba(path, bag).compute()))
    ratio = median(a / b for a, b in zip(here, there, strict=True))
    print(f"\n{'':32}{'words/s':>12}{'ratio':>8}")
    print(f"{'Scorer, this process':32}{n_words / median(here):12,.0f}{1:8.2f}")
    print(f"{'two workers of Dask':32}{n_words / median(there):12,.0f}{ratio:8.2f}")
    print(f"\nlargest difference of a probability: {difference:.1e}")
    print(f"MB of a worker: {before:.0f} before the model, {memory.megabytes:.0f} at the highest")
    with_torch = any(client.run(lambda: "torch" in sys.modules).values())
    print(f"PyTorch in a worker: {'yes' if with_torch else 'no'}")


def report_search(n_rounds: int) -> None:
    """Print the seconds of a search by each backend."""
    from sklearn.model_selection import GridSearchCV

    from sk_han import HANClassifier

    texts, labels = make_reviews(400, random_state=0)
    classifier = HANClassifier(random_state=0, max_epochs=2, device="cpu")
    taken: dict[str, list[float]] = {"loky": [], "dask": []}
    scores = {}
    for number in range(n_rounds + 1):
        for backend, found in taken.items():
            search = GridSearchCV(classifier, {"lr": [0.002, 0.01]}, cv=2, n_jobs=2, refit=False)
            with joblib.parallel_config(backend=backend):
                passed = seconds(lambda search=search: search.fit(texts, labels))
            scores[backend] = search.cv_results_["mean_test_score"].tolist()
            if number:  # the first round starts workers and imports
                found.append(passed)
    ratio = median(a / b for a, b in zip(taken["dask"], taken["loky"], strict=True))
    print(f"\nsearch of 4 fits: loky {median(taken['loky']):.1f} s, ", end="")
    print(f"Dask {median(taken['dask']):.1f} s, ratio {ratio:.2f}; ", end="")
    print(f"the same scores: {'yes' if scores['loky'] == scores['dask'] else 'no'}")


def main() -> None:
    from served import add_arguments, reviews, saved_model

    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add_arguments(parser)
    parser.add_argument("--scored", type=int, default=5_000, help="documents that are scored")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--search", action="store_true")
    arguments = parser.parse_args()
    with (
        TemporaryDirectory() as folder,
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        if arguments.search:
            report_search(arguments.rounds)
            return
        found = reviews(arguments)
        path = saved_model(arguments, found, Path(folder))
        texts = corpora.imdb("test")[0] if arguments.data == "imdb" else found.sent
        texts = texts[:: max(1, len(texts) // arguments.scored)]
        print(f"{found.what}; {path.stat().st_size / 1e6:.0f} MB; {len(texts):,} documents scored")
        report_scoring(client, path, texts, arguments.rounds)


if __name__ == "__main__":
    main()
