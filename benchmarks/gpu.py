"""How quick a GPU trains and predicts, beside the usual network and beside this machine's CPU.

``python benchmarks/gpu.py`` reads documents of IMDB (generated ones of like lengths where it is
absent). First the network alone: words a second in an epoch and in prediction, by our layers and by
the same network as it is usually written, over padded documents with packed `torch.nn.GRU`; batches
of each size, taking turns. Then whole default fits on the GPU and on the CPU, with the accuracy on
IMDB's test reviews. Where there is no GPU it says so and measures nothing; ``--device cpu`` tries
it.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import torch
from corpora import data_folder, imdb, reviews
from numpy.typing import NDArray
from results import add_save, publish
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from sk_han import DocumentArray, HANClassifier, HierarchicalTokenizer

EMBEDDING_DIM, HIDDEN, ATTENTION = 100, 50, 100  # of the defaults, and of Yang et al. (2016)
LR = 0.005


class Level(nn.Module):
    """A bidirectional GRU and additive attention over padded sequences."""

    def __init__(self, input_size: int) -> None:
        super().__init__()
        self.gru = nn.GRU(input_size, HIDDEN, batch_first=True, bidirectional=True)
        self.project = nn.Linear(2 * HIDDEN, ATTENTION)
        self.context = nn.Linear(ATTENTION, 1, bias=False)

    def forward(self, inputs: Tensor, lengths: Tensor) -> Tensor:
        """Pool sequences (N, L, E) of some lengths (N,), on the CPU, to vectors (N, 2H)."""
        packed = pack_padded_sequence(inputs, lengths, batch_first=True, enforce_sorted=False)
        states, _ = pad_packed_sequence(self.gru(packed)[0], batch_first=True)
        scores = self.context(torch.tanh(self.project(states))).squeeze(2)  # (N, L)
        padding = torch.arange(scores.shape[1]) >= lengths.unsqueeze(1)
        weights = scores.masked_fill(padding.to(scores.device), -torch.inf).softmax(1)
        return (weights.unsqueeze(2) * states).sum(1)


class UsualHAN(nn.Module):
    """The network of Yang et al. (2016) as it is usually written."""

    def __init__(self, vocabulary_size: int, n_classes: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary_size, EMBEDDING_DIM, padding_idx=0)
        self.words, self.sentences = Level(EMBEDDING_DIM), Level(2 * HIDDEN)
        self.output = nn.Linear(2 * HIDDEN, n_classes)

    def forward(self, padded: Tensor, sentence_lengths: Tensor, n_sentences: Tensor) -> Tensor:
        """Score documents (D, S, W); their sentences' lengths (N,) and numbers (D,) are on the CPU.

        No document is empty.
        """
        filled = torch.arange(padded.shape[1]) < n_sentences.unsqueeze(1)  # (D, S)
        filled = filled.to(padded.device)
        vectors = self.words(self.embedding(padded[filled]), sentence_lengths)  # (N, 2H)
        inputs = vectors.new_zeros(*filled.shape, vectors.shape[1])
        return self.output(
            self.sentences(inputs.masked_scatter(filled.unsqueeze(2), vectors), n_sentences)
        )


class Rates(NamedTuple):
    """Words a second."""

    training: float
    prediction: float


def rates_of_usual(
    documents: DocumentArray, targets: NDArray[Any], size: int, batch_size: int, device: str
) -> Rates:
    """Measure the usual network: an epoch of shuffled batches, then one without gradients."""
    torch.manual_seed(0)
    network = UsualHAN(size, int(targets.max()) + 1).to(device)
    optimizer = torch.optim.Adam(network.parameters(), lr=LR)
    labels = torch.from_numpy(targets)

    def scores(rows: NDArray[Any]) -> Tensor:
        some = documents[rows]
        padded = torch.from_numpy(some.pad().astype(np.int64)).to(device)
        return network(
            padded,
            torch.from_numpy(some.words_per_sentence),
            torch.from_numpy(some.sentences_per_document),
        )

    def step(rows: NDArray[Any]) -> None:
        optimizer.zero_grad()
        nn.functional.cross_entropy(scores(rows), labels[rows].to(device)).backward()
        optimizer.step()

    def read(rows: NDArray[Any]) -> None:
        with torch.inference_mode():
            scores(rows).cpu()

    order = np.random.RandomState(0).permutation(len(documents))
    batches = [order[i : i + batch_size] for i in range(0, len(order), batch_size)]
    step(batches[0])  # kernels are loaded, memory is reserved
    training = seconds(lambda: [step(rows) for rows in batches], device)
    network.eval()
    prediction = seconds(lambda: [read(rows) for rows in batches], device)
    return Rates(documents.n_words / training, documents.n_words / prediction)


def rates_of_ours(
    documents: DocumentArray, targets: NDArray[Any], batch_size: int, device: str
) -> Rates:
    """Measure our network, trained as the usual one: without noise, dropout, held-out documents."""
    model = HANClassifier(
        linear_ngrams=None,
        linear_chars=None,
        embedding_init="random",
        adversarial_noise=0.0,
        word_dropout=0.0,
        dropout=0.0,
        validation_fraction=None,
        max_epochs=2,  # the first loads kernels
        batch_size=batch_size,
        device=device,
        random_state=0,
    ).fit(documents, targets)
    model.predict(documents[:batch_size])
    prediction = seconds(lambda: model.predict(documents), device)
    training = model.history_[-1]["dur"]
    return Rates(documents.n_words / training, documents.n_words / prediction)


def seconds(run: Callable[[], Any], device: str) -> float:
    """Measure until the device has computed what was asked of it."""
    wait(device)
    start = perf_counter()
    run()
    wait(device)
    return perf_counter() - start


def wait(device: str) -> None:
    """Wait for a GPU, which computes while Python goes on."""
    if device != "cpu":
        torch.cuda.synchronize()


def rows_of_rates(
    documents: DocumentArray, targets: NDArray[Any], size: int, name: str, arguments: Any
) -> list[dict[str, Any]]:
    """Let both networks take turns, with batches of each size."""
    rows = []
    for batch_size in arguments.batch_sizes:
        usual, ours = [], []
        for _ in range(arguments.rounds):
            usual.append(rates_of_usual(documents, targets, size, batch_size, arguments.device))
            ours.append(rates_of_ours(documents, targets, batch_size, arguments.device))
        row: dict[str, Any] = {"device": name, "documents a batch": batch_size}
        for kind in Rates._fields:
            theirs = [getattr(each, kind) for each in usual]
            own = [getattr(each, kind) for each in ours]
            ratio = median(a / b for a, b in zip(own, theirs, strict=True))
            row[f"{kind}: packed nn.GRU, 1,000 words/s"] = round(median(theirs) / 1000)
            row[f"{kind}: ours, 1,000 words/s"] = round(median(own) / 1000)
            row[f"{kind}, ratio"] = round(ratio, 2)
        rows.append(row)
    return rows


def rows_of_fits(name: str, arguments: Any) -> list[dict[str, Any]]:
    """Fit with all defaults, on the device and on the CPU."""
    n, rows = arguments.fit_documents, []
    texts, labels, _ = reviews(n)
    test = imdb("test") if (data_folder() / "imdb").exists() else reviews(2 * n)[:2]
    for device in dict.fromkeys((arguments.device, "cpu")):
        model = HANClassifier(device=device, random_state=0)
        fit = seconds(lambda model=model: model.fit(texts, labels), arguments.device)
        start = perf_counter()
        found = model.predict(test[0])
        rows.append(
            {
                "documents": n,
                "device": "the CPU" if device == "cpu" else name,
                "fit, s": round(fit, 1),
                "of it the network, s": round(model.fit_summary_.seconds["network"], 1),
                "predict, s": round(perf_counter() - start, 1),
                "accuracy, %": round(100 * float(np.mean(found == test[1])), 2),
            }
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=3_000, help="of the rates")
    parser.add_argument("--fit-documents", type=int, default=25_000, help="to fit on")
    parser.add_argument("--batch-sizes", type=int, nargs="+", default=[16, 64, 256])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--device", default="cuda")
    add_save(parser)
    arguments = parser.parse_args()
    if arguments.device != "cpu" and not torch.cuda.is_available():
        print("There is no CUDA GPU here, so nothing is measured; --device cpu tries the script.")
        return
    n = arguments.documents
    texts, labels, what = reviews(n)
    name = "the CPU" if arguments.device == "cpu" else torch.cuda.get_device_name()
    print(f"{n:,} {what}; {name}")
    tokenizer = HierarchicalTokenizer()
    documents = tokenizer.fit_transform(texts)
    targets = np.unique(labels, return_inverse=True)[1]
    filled = documents.sentences_per_document > 0
    rates = rows_of_rates(
        documents[filled], targets[filled], len(tokenizer.vocabulary_) + 2, name, arguments
    )
    publish("gpu_rates", rates, arguments.save)
    publish("gpu_fits", rows_of_fits(name, arguments), arguments.save)


if __name__ == "__main__":
    main()
