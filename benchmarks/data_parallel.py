"""What a second process brings in training, what it costs, and what 64 would cost by that.

``python benchmarks/data_parallel.py`` trains on reviews (IMDB, or generated ones where it is
absent) with the defaults: in one process of one thread, in two of one thread each that train one
network, and in two that train a network each and share nothing, in turns. What the last two do
together is the most that two processes can reach on this machine: cores share its memory and its
clock. All steps of the second epoch are timed, from one to the next.

The model of cost is ``seconds = a + b * words + c * bytes`` for a step. Words are those that a rank
reads: steps of one process with smaller batches give a and b. Bytes are those of the array that
the ranks add up, which each sends and receives ``2 (n - 1) / n`` times: the gradients of the
network, and of one vector for each distinct word of the joint batch. Exchanges of made-up gradients
between two processes, clipping and the optimizer's step included, give c. A network
cable of so many bits a second adds its share to c. For more ranks the bytes are counted in real
batches. What this leaves out: ranks that wait for the slowest, and latency between machines.
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
from results import add_save, publish
from skorch.callbacks import Callback

from sk_han import DocumentArray, HANClassifier, HierarchicalTokenizer
from sk_han.nn.optimizers import RowwiseAdamW, clip_gradient_norm
from sk_han.training.data_parallel import Ranks, joined_ranks

RANKS = (1, 2, 4, 8, 16, 32, 64)
CABLES = {"one machine": float("inf"), "10 Gbit/s": 1e10, "1 Gbit/s": 1e9}
EMBEDDING_DIM = 200
EXCHANGES_OF_VECTORS = 1.5  # adversarial noise, in every other step, needs their gradient first


class Steps(Callback):
    """Record words and seconds of each step, and bytes and seconds of its collectives."""

    def on_train_begin(self, net: Any, **kwargs: Any) -> None:
        """Time the collectives."""
        self.spent_ = [0.0, 0.0]
        reduce = self.reduce_ = dist.all_reduce

        def timed(values: torch.Tensor, *arguments: Any, **named: Any) -> None:
            start = perf_counter()
            reduce(values, *arguments, **named)
            self.spent_[0] += values.numel() * values.element_size()
            self.spent_[1] += perf_counter() - start

        dist.all_reduce = timed

    def on_epoch_begin(self, net: Any, **kwargs: Any) -> None:
        """Start the clock; the steps of the last epoch count."""
        STEPS.clear()
        self.spent_[:] = 0.0, 0.0
        self.start_ = perf_counter()

    def on_batch_end(self, net: Any, batch: Any = None, **kwargs: Any) -> None:
        """Record a step."""
        seconds = perf_counter() - self.start_
        STEPS.append([batch[0].inputs.n_words, seconds, *self.spent_])
        self.spent_[:] = 0.0, 0.0
        self.start_ = perf_counter()

    def on_train_end(self, net: Any, **kwargs: Any) -> None:
        """Stop timing."""
        dist.all_reduce = self.reduce_


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


def exchanges_of(shapes: list[tuple[int, ...]], rows: int) -> np.ndarray:
    """Return bytes and seconds of exchanges of gradients of so many distinct words."""
    with joined_ranks() as ranks:
        assert ranks is not None
        return exchanges_by(ranks, shapes, rows)


def exchanges_by(ranks: Ranks, shapes: list[tuple[int, ...]], rows: int) -> np.ndarray:
    table, *small = [torch.nn.Parameter(torch.zeros(shape)) for shape in shapes]
    optimizer = RowwiseAdamW([table, *small], lr=1e-3, fused=True)
    found = []
    for _ in range(8):
        chosen = torch.randperm(len(table))[:rows].sort().values
        values = torch.randn(rows, table.shape[1])
        table.grad = torch.sparse_coo_tensor(chosen[None], values, table.shape)
        for weight in small:
            weight.grad = torch.randn_like(weight)
        ranks.any(False)  # so that none waits for the other within the clock
        start = perf_counter()
        ranks.sum_gradients([table, *small], table)
        clip_gradient_norm([table, *small], 1.0)
        n_bytes = 4 * (table.grad.values().numel() + sum(w.numel() for w in small))
        optimizer.step()
        found.append([n_bytes, perf_counter() - start])
    return np.array(found[2:])


def work(rank: int, n: int, address: str, pipe: Any) -> None:
    """Answer requests for measurements, in a group of processes if there are several."""
    torch.set_num_threads(1)
    if n > 1:
        dist.init_process_group("gloo", init_method=address, rank=rank, world_size=n)
    while True:
        try:
            function, arguments = pipe.recv()
        except EOFError:  # the benchmark is over
            return
        pipe.send(function(*arguments))


class Processes:
    """Processes of one thread that measure: `joined` to train one network, or each alone."""

    def __init__(self, n: int, folder: str, *, joined: bool = True) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipes = []
        for rank in range(n):
            own, other = context.Pipe()
            address = f"file://{folder}/rendezvous"
            given = rank, n if joined else 1, address, other
            context.Process(target=work, args=given, daemon=True).start()
            other.close()
            self.pipes.append(own)

    def run(self, function: Callable[..., np.ndarray], *arguments: Any) -> list[np.ndarray]:
        """Return what the function returns in each process."""
        for pipe in self.pipes:
            pipe.send((function, arguments))
        return [pipe.recv() for pipe in self.pipes]


def line(points: np.ndarray) -> tuple[float, float]:
    """Fit ``y = a + b x``, with errors relative to y."""
    x, y = points.T
    b, a = np.polyfit(x, y, 1, w=1 / y)
    return float(a), float(b)


def print_ranks(
    title: str,
    documents: DocumentArray,
    size_of: Callable[[int], int],
    n_network: int,
    cost: tuple[float, float, float],
) -> None:
    """Print what so many ranks would reach, on one machine and over network cables."""
    a, b, c = cost
    print(f"\n{title:28}{'documents':>10}{'MB':>8}" + "".join(f"{name:>22}" for name in CABLES))
    for n in RANKS:
        batch = documents[: size_of(n)]
        n_rows = len(np.unique(batch.word_ids)) * EXCHANGES_OF_VECTORS
        n_bytes = 4 * (n_network + n_rows * EMBEDDING_DIM)
        cells = []
        for bits in CABLES.values():
            alone = a + b * documents[: size_of(1)].n_words
            sent = 2 * (n - 1) / n * n_bytes
            seconds = a + b * batch.n_words / n + (n > 1) * (c * n_bytes + 8 * sent / bits)
            times = batch.n_words / seconds / (documents[: size_of(1)].n_words / alone)
            cells.append(f"{1000 * seconds:11.0f} ms {times:5.1f} x")
        print(
            f"{n:3} ranks{len(batch):29,}{n_bytes / 1e6:8.1f}" + "".join(f"{c:>22}" for c in cells)
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=3200)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--batch-size", type=int, default=64)
    add_save(parser)
    arguments = parser.parse_args()
    size = arguments.batch_size

    texts, labels, what = reviews(max(arguments.documents, RANKS[-1] * size))
    documents = HierarchicalTokenizer().fit_transform(texts)
    targets = (labels == "pos").astype(np.int64)
    some = documents[: arguments.documents], targets[: arguments.documents]
    print(f"{arguments.documents:,} {what}, batches of {size}, one thread a process, float32")
    network = HANClassifier(max_epochs=1, linear_ngrams=None, embedding_init="random", device="cpu")
    weights = network.fit(documents[:16], targets[:16]).net_.weights
    vocabulary_size = int(documents.word_ids.max()) + 1
    small = [weight.shape for name, weight in weights.items() if name != "embedding.weight"]
    shapes = [(vocabulary_size, EMBEDDING_DIM), *small]

    rates: dict[str, list[float]] = {name: [] for name in ("one", "two", "two apart")}
    joint, parts, exchanges = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        contestants = {
            "one": Processes(1, folder),
            "two": Processes(2, folder),
            "two apart": Processes(2, folder, joined=False),
        }
        for number in range(arguments.rounds + 1):
            for name, processes in contestants.items():
                found = processes.run(steps_of, *some, size)
                if not number:  # the first round compiles and warms up
                    continue
                each = [steps[:, 0].sum() / steps[:, 1].sum() for steps in found]
                rates[name].append(sum(each) if name == "two apart" else each[0])
                joint += found[:1] if name == "two" else []
        for part in (size // 16, size // 8, size // 4, size // 2, size):
            rows = slice(max(30 * part, size))
            (steps,) = contestants["one"].run(steps_of, some[0][rows], some[1][rows], part)
            parts.append(steps[:, :2].mean(axis=0))  # with and without noise
        for rows in (1000, 3000, 10_000, min(30_000, vocabulary_size)):
            first, _ = contestants["two"].run(exchanges_of, shapes, rows)
            exchanges.append(np.median(first, axis=0))
    ratios, ceiling = (
        [other / one for one, other in zip(rates["one"], rates[name], strict=True)]
        for name in ("two", "two apart")
    )
    _, seconds, exchanged, in_collectives = np.concatenate(joint).mean(axis=0)
    (a, b), (latency, c) = line(np.array(parts)), line(np.array(exchanges))
    step = f"{1000 * seconds:.1f} ms, of which {1000 * in_collectives:.1f} in collectives"
    found = {
        "one process": f"{median(rates['one']):,.0f} words/s",
        "two processes": f"{median(rates['two']):,.0f} words/s",
        **{
            name: f"{median(found):.2f} ({min(found):.2f} to {max(found):.2f})"
            for name, found in {"ratio": ratios, "ratio if they share nothing": ceiling}.items()
        },
        "a step of two processes": f"{step}, waiting included",
        "sent and received by each in a step": f"{exchanged / 1e6:.2f} MB",
        "seconds of a step": (
            f"{a:.4f} + {b:.3g} words + {c:.3g} bytes + {latency:.4f} for any exchange"
        ),
    }
    rows = [{"": name, "found": value} for name, value in found.items()]
    publish("data_parallel", rows, arguments.save)
    n_network = sum(int(np.prod(shape)) for shape in small)
    cost = a + latency, b, c
    print_ranks("a batch for each rank", documents, lambda n: size * n, n_network, cost)
    print_ranks("one batch for all", documents, lambda n: size, n_network, cost)


if __name__ == "__main__":
    main()
