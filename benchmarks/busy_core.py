"""How much slower a fit and a prediction are beside a program that occupies a core.

``python benchmarks/busy_core.py`` fits and predicts alone and beside a process that computes all
the time, in turns, with each engine and number of threads. On a machine with two cores half of the
computing power is left, less what the threads lose by waiting for each other.
"""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
from collections.abc import Iterator
from statistics import median
from time import perf_counter

import torch
from corpora import reviews

from sk_han import HANClassifier


def _burn() -> None:
    while True:
        pass


@contextlib.contextmanager
def busy_core() -> Iterator[None]:
    """Occupy a core inside of the block."""
    process = multiprocessing.get_context("spawn").Process(target=_burn, daemon=True)
    process.start()
    try:
        yield
    finally:
        process.kill()
        process.join()


def timed(model: HANClassifier, texts: list[str], labels: list[str]) -> dict[str, float]:
    start = perf_counter()
    model.fit(texts, labels)
    fitted = perf_counter()
    model.predict_proba(texts)
    return {"fit": fitted - start, "predict": perf_counter() - fitted}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    texts, labels, what = reviews(arguments.documents)
    cores = torch.get_num_threads()
    contestants = {
        (engine, threads): HANClassifier(
            engine=engine, n_threads=threads, max_epochs=2, random_state=0, device="cpu"
        )
        for engine in ("numba", "torch")
        for threads in sorted({1, cores})
    }
    alone: dict[tuple[str, int, str], list[float]] = {}
    beside: dict[tuple[str, int, str], list[float]] = {}
    for number in range(arguments.rounds + 1):
        for (engine, threads), model in contestants.items():
            for seconds, block in ((alone, contextlib.nullcontext()), (beside, busy_core())):
                with block:
                    found = timed(model, texts, labels)
                for part, taken in found.items():
                    if number:  # the first round warms up
                        seconds.setdefault((engine, threads, part), []).append(taken)
    print(f"{len(texts):,} {what}, {cores} threads at most, 2 epochs, medians")
    print(f"{'':24}{'alone s':>9}{'beside s':>10}{'slowdown':>10}")
    for key, values in alone.items():
        engine, threads, part = key
        quiet, busy = median(values), median(beside[key])
        name = f"{part}, {engine}, {threads} thread{'s' if threads > 1 else ''}"
        print(f"{name:24}{quiet:9.2f}{busy:10.2f}{busy / quiet:10.2f}")


if __name__ == "__main__":
    main()
