"""How fast HANClassifier trains, against the HAN as it is usually written.

``python benchmarks/training_speed.py`` trains on reviews (IMDB, or generated ones of like lengths
where it is absent) in rounds of ten batches, the contestants taking turns, each round on other
documents. Only real words are counted. HANClassifier is timed through ``partial_fit`` with its
defaults: the epoch with skorch, collation, adversarial noise and progress bar. The linear model
learns outside of this epoch. "Bare step" is its network without all that. Both compute with each
engine.
"""

from __future__ import annotations

import argparse
import contextlib
import io
from collections.abc import Callable
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
import torch
from corpora import reviews
from padded_han import PaddedHAN
from results import add_save, publish

from sk_han import DocumentArray, HANClassifier, HierarchicalTokenizer
from sk_han.engines.loading import kernels
from sk_han.nn import HierarchicalAttentionNetwork
from sk_han.nn.optimizers import RowwiseAdamW, clip_gradient_norm
from sk_han.training.batches import document_tensors
from sk_han.training.computing import computing, torch_threads

BATCHES = 10
ENGINES = ("numba", "torch")


def padded(vocabulary_size: int, batch_size: int) -> Callable[[DocumentArray, np.ndarray], float]:
    """Train the usual HAN; the cube of a batch is built outside the clock: a gift."""
    network = PaddedHAN(vocabulary_size)
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)

    def train(documents: DocumentArray, targets: np.ndarray) -> float:
        seconds = 0.0
        for first in range(0, len(documents), batch_size):
            cube = torch.from_numpy(documents[first : first + batch_size].pad().astype(np.int64))
            target = torch.from_numpy(targets[first : first + batch_size])
            start = perf_counter()
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(network(cube), target).backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimizer.step()
            seconds += perf_counter() - start
        return seconds

    return train


def ragged(
    vocabulary_size: int, batch_size: int, fused: bool, engine: str = "torch"
) -> Callable[[DocumentArray, np.ndarray], float]:
    """Train our network without skorch; not `fused` is packed sequences through nn.GRU."""
    network = HierarchicalAttentionNetwork(
        vocabulary_size,
        2,
        dropout=0.3,
        word_dropout=0.2,
        sparse=fused,
        generator=torch.Generator().manual_seed(0),
    )
    kind = RowwiseAdamW if fused else torch.optim.AdamW
    optimizer = kind(network.parameters(), lr=1e-3, fused=True)

    def train(documents: DocumentArray, targets: np.ndarray) -> float:
        start = perf_counter()
        for first in range(0, len(documents), batch_size):
            batch = documents[first : first + batch_size]
            target = torch.from_numpy(targets[first : first + batch_size])
            with computing(engine), torch_threads(of_kernels=fused):
                optimizer.zero_grad()
                loss = torch.nn.functional.cross_entropy(
                    network(*document_tensors(batch, "cpu")), target
                )
                loss.backward()
                clip_gradient_norm(network.parameters(), 1.0)
                optimizer.step()
        return perf_counter() - start

    return train


def classifier(
    batch_size: int, engine: str, **params: float
) -> Callable[[DocumentArray, np.ndarray], float]:
    """Train HANClassifier, its progress bar drawn into memory."""
    model = HANClassifier(
        batch_size=batch_size,
        linear_ngrams=None,
        engine=engine,
        random_state=0,
        verbose=1,
        device="cpu",
        **params,
    )

    def train(documents: DocumentArray, targets: np.ndarray) -> float:
        with contextlib.redirect_stderr(io.StringIO()):
            model.partial_fit(documents, targets, classes=[0, 1])
        return model.history_[-1]["dur"]

    return train


def flops(
    documents: DocumentArray, batch_size: int, E: int = 200, H: int = 100, A: int = 100
) -> int:
    """Count what the fused step multiplies and adds: distinct words are projected once.

    Two operations a product, three passes (forward, and two products backward for each).
    """
    total = 0
    for first in range(0, len(documents), batch_size):
        batch = documents[first : first + batch_size]
        U, T, N = len(np.unique(batch.word_ids)), batch.n_words, batch.n_sentences
        word_level = U * E * 3 * H + T * (3 * H * H // 2 + H * A)
        sentence_level = N * (H * 3 * H + 3 * H * H // 2 + H * A)
        total += 3 * 2 * (word_level + sentence_level)
    return total


def peak_rate() -> float:
    """Measure what float32 products reach, in operations a second: the machine's limit.

    The faster of PyTorch's product, of the size of a batch's, and of the kernels' product in fast
    memory, on all threads.
    """
    a, b = torch.randn(4000, 200), torch.randn(200, 300)
    rates = [_rate(lambda: torch.mm(a, b), 2 * 4000 * 200 * 300)]
    vectors = kernels("vectors")
    if vectors is not None:
        threads = torch.get_num_threads()
        sums, left, right = (vectors.buffer(n) for n in (500 * 304, 500 * 200, 200 * 304))
        arguments = 500, sums, 0, 304, left, 0, 200, 1, right, 0, 304, 200, 19
        one = _rate(lambda: vectors.multiply_add(*arguments), 2 * 500 * 200 * 304)
        rates.append(one * threads)
    return max(rates)


def _rate(function: Callable[[], object], operations: int) -> float:
    times = []
    for _ in range(30):
        start = perf_counter()
        function()
        times.append(perf_counter() - start)
    return operations / median(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    add_save(parser)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    size, n = arguments.batch_size, BATCHES * arguments.batch_size

    texts, labels, what = reviews(min(20_000, (arguments.rounds + 1) * n))
    targets = (labels == "pos").astype(np.int64)
    whole = HierarchicalTokenizer(max_features=49_998).fit(texts)
    cut = HierarchicalTokenizer(vocabulary=whole.vocabulary_, max_sentences=15, max_words=30)
    documents = {"15x30": cut.fit(texts).transform(texts), "whole": whole.transform(texts)}
    V = 50_000
    print(f"{what}, vocabulary {V:,}, batch {size}, {arguments.threads} threads, float32")

    contestants: dict[tuple[str, str], Callable[[DocumentArray, np.ndarray], float]] = {}
    for layout in documents:
        contestants[layout, "padded nn.GRU, Adam"] = padded(V, size)
        contestants[layout, "packed nn.GRU, fused AdamW"] = ragged(V, size, fused=False)
        for engine in ENGINES:
            contestants[layout, f"bare step, {engine}"] = ragged(V, size, True, engine)
            contestants[layout, f"HANClassifier, {engine}"] = classifier(size, engine)
            contestants[layout, f"without noise, {engine}"] = classifier(
                size, engine, adversarial_noise=0
            )
    rates: dict[tuple[str, str], list[float]] = {key: [] for key in contestants}
    shares: dict[tuple[str, str], list[float]] = {key: [] for key in contestants}
    for number in range(arguments.rounds + 1):
        rows = slice(number * n % len(texts), number * n % len(texts) + n)
        for (layout, name), train in contestants.items():
            batch = documents[layout][rows]
            # A whole cube has 20 to 30 slots a word: two of its batches take as long as all else.
            few = 2 * size if (layout, name) == ("whole", "padded nn.GRU, Adam") else n
            seconds = train(batch[:few], targets[rows][:few])
            if number:  # the first round warms up
                rates[layout, name].append(batch[:few].n_words / seconds / 1000)
                if name.startswith("bare step"):
                    shares[layout, name].append(flops(batch, size) / seconds / peak_rate())

    rows: list[dict[str, Any]] = []
    for layout in documents:
        reference = median(rates[layout, "padded nn.GRU, Adam"])
        for (found, name), values in rates.items():
            if found == layout:
                row = {"documents": layout, "": name}
                row["thousand words a second"] = round(median(values), 1)
                rows.append(row | {"ratio": round(median(values) / reference, 1)})
        for engine in ENGINES:
            bare, ours = f"bare step, {engine}", f"without noise, {engine}"
            pairs = zip(rates[layout, bare], rates[layout, ours], strict=True)
            overhead = median(fast / slow - 1 for fast, slow in pairs)
            share = median(shares[layout, bare])
            print(
                f"{engine}: overhead of HANClassifier without noise {100 * overhead:.1f} %; bare "
                f"step's share of the float32 limit {100 * share:.0f} %"
            )
    publish("training_speed", rows, arguments.save)


if __name__ == "__main__":
    main()
