"""What a second process brings in training, what it costs, and what 64 would cost by that.

``python benchmarks/data_parallel.py`` trains on reviews (IMDB, or generated ones where it is absent)
with the defaults, in a single process of one thread and in two of one thread each, in turns. Every
step of an epoch but the first is timed, and each collective within it.

The model of cost is ``seconds = a + b * words + c * bytes`` for one step, words and bytes being
those of a rank. The steps of a single process, with batches of several sizes, give a and b. What
is left of a step of two processes gives c.
For more ranks the bytes are computed from real batches of that size: the network's gradient, and
one row of vectors for each of the distinct words of the joint batch. Each rank sends and receives
``2 (n - 1) / n`` times these.
"""

from __future__ import annotations

import argparse
import multiprocessing
import tempfile
from collections.abc import Callable
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from corpora import reviews
from skorch.callbacks import Callback

from sk_han import DocumentArray, HANClassifier, HierarchicalTokenizer

RANKS = (1, 2, 4, 8, 16, 32, 64)


class Steps(Callback):
    """Words and seconds of each step, and bytes and seconds of its collectives."""

    def on_train_begin(self, net: Any, **kwargs: Any) -> None:
        self.rows_: list[list[float]] = []
        self.spent_ = [0.0, 0.0]
        if not dist.is_initialized():
            return
        reduce = self.reduce_ = dist.all_reduce

        def timed(values: torch.Tensor, *arguments: Any, **named: Any) -> None:
            start = perf_counter()
            reduce(values, *arguments, **named)
            self.spent_[0] += values.numel() * values.element_size()
            self.spent_[1] += perf_counter() - start

        dist.all_reduce = timed

    def on_batch_begin(
        self, net: Any, batch: Any = None, training: bool = False, **kwargs: Any
    ) -> None:
        self.spent_[:] = 0.0, 0.0
        self.start_ = perf_counter()

    def on_batch_end(
        self, net: Any, batch: Any = None, training: bool = False, **kwargs: Any
    ) -> None:
        if training and len(net.history) > 1:  # the first epoch warms up
            seconds = perf_counter() - self.start_
            self.rows_.append([batch[0].inputs.n_words, seconds, *self.spent_])

    def on_train_end(self, net: Any, **kwargs: Any) -> None:
        if hasattr(self, "reduce_"):
            dist.all_reduce = self.reduce_
        STEPS[:] = self.rows_


STEPS: list[list[float]] = []


def steps_of(documents: DocumentArray, targets: np.ndarray, batch_size: int) -> np.ndarray:
    """Return a row for each step: words, seconds, bytes and seconds of its collectives."""
    HANClassifier(
        batch_size=batch_size,
        max_epochs=2,
        linear_ngrams=None,
        embedding_init="random",
        validation_fraction=None,
        callbacks=[Steps()],
        device="cpu",
        random_state=0,
    ).fit(documents, targets)
    return np.array(STEPS)


def work(rank: int, n: int, address: str, pipe: Any) -> None:
    """Answer requests for measurements, in a group of processes if there are several."""
    torch.set_num_threads(1)
    if n > 1:
        dist.init_process_group("gloo", init_method=address, rank=rank, world_size=n)
    while (request := pipe.recv()) is not None:
        pipe.send(steps_of(*request))


class Processes:
    """Processes of one thread that measure."""

    def __init__(self, n: int, folder: str) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipes = []
        for rank in range(n):
            own, other = context.Pipe()
            address = f"file://{folder}/rendezvous"
            context.Process(target=work, args=(rank, n, address, other), daemon=True).start()
            self.pipes.append(own)

    def steps(self, *request: Any) -> np.ndarray:
        for pipe in self.pipes:
            pipe.send(request)
        return [pipe.recv() for pipe in self.pipes][0]


def fitted_cost(steps: np.ndarray) -> tuple[float, float]:
    """Fit a and b of ``seconds = a + b * words`` to the median step of each batch size."""
    words, seconds = steps.T
    b, a = np.polyfit(words, seconds, 1)
    return float(a), float(b)


def bytes_of_batch(documents: DocumentArray, n_network: int, embedding_dim: int) -> float:
    """Bytes of the gradients of a joint batch: the network's, and those of its distinct words."""
    return 4 * (n_network + len(np.unique(documents.word_ids)) * embedding_dim)


def table(
    title: str,
    sizes: Callable[[int], int],
    documents: DocumentArray,
    cost: tuple[float, float, float],
    n_network: int,
) -> None:
    a, b, c = cost
    print(
        f"\n{title:24}{'documents':>12}{'MB a rank':>12}{'ms a step':>12}{'words/s':>14}{'times':>8}"
    )
    alone = 0.0
    for n in RANKS:
        size = sizes(n)
        batch = documents[: min(size, len(documents))]
        words = batch.words_per_document.mean() * size
        sent = 2 * (n - 1) / n * bytes_of_batch(batch, n_network, 200)
        seconds = a + b * words / n + c * sent
        rate = words / seconds
        alone = alone or rate
        print(
            f"{n:>6} ranks{size:>24,}{sent / 1e6:12.2f}{1000 * seconds:12.1f}{rate:14,.0f}"
            f"{rate / alone:8.1f}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=3200)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--batch-size", type=int, default=64)
    arguments = parser.parse_args()
    size = arguments.batch_size

    texts, labels, what = reviews(max(arguments.documents, 64 * 64))
    documents = HierarchicalTokenizer().fit_transform(texts)
    targets = (labels == "pos").astype(np.int64)
    some = documents[: arguments.documents], targets[: arguments.documents]
    print(f"{arguments.documents:,} {what}, batches of {size}, one thread a process, float32")
    rates: dict[int, list[float]] = {1: [], 2: []}
    joint, lone, of_sizes = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        contestants = {n: Processes(n, folder) for n in rates}
        for number in range(arguments.rounds + 1):
            for n, processes in contestants.items():
                steps = processes.steps(*some, size)
                if number:  # the first round compiles and warms up
                    rates[n].append(steps[:, 0].sum() / steps[:, 1].sum())
                    (lone if n == 1 else joint).append(steps)
            if number:
                for part in (size // 4, size // 2, size, 2 * size):
                    steps = contestants[1].steps(*some, part)
                    of_sizes.append(np.median(steps[:-1, :2], axis=0))
    ratios = [two / one for one, two in zip(rates[1], rates[2], strict=True)]
    for n, values in rates.items():
        print(f"{n} process{'es' if n > 1 else '  '} {median(values):12,.0f} words/s")
    print(f"ratio       {median(ratios):12.2f}  ({min(ratios):.2f} to {max(ratios):.2f})")

    a, b = fitted_cost(np.array(of_sizes))
    words, seconds, exchanged, in_collectives = np.concatenate(joint).mean(axis=0)
    # With two ranks each sends and receives the whole array once.
    c = max(seconds - a - b * words / 2, 0.0) / exchanged
    print(
        f"a step of two processes: {1000 * seconds:.1f} ms, {exchanged / 1e6:.2f} MB sent and "
        f"received by each, {1000 * in_collectives:.1f} ms in collectives, waiting included"
    )
    print(f"seconds a step = {a:.4f} + {b:.3g} words + {c:.3g} bytes  (of a rank)")
    n_network = 180_000
    network = HANClassifier(max_epochs=1, linear_ngrams=None, embedding_init="random", device="cpu")
    weights = network.fit(documents[:16], targets[:16]).net_.weights
    n_network = sum(w.size for name, w in weights.items() if name != "embedding.weight")
    cost = a, b, c
    table("batch of 64 for each rank", lambda n: size * n, documents, cost, n_network)
    table("one batch of 64", lambda n: size, documents, cost, n_network)


if __name__ == "__main__":
    main()
