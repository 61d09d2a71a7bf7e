"""What checkpoints cost: seconds to write one, its size, and the share of the time of training.

``python benchmarks/checkpoints.py`` trains on reviews (IMDB, or generated ones where it is absent)
for some epochs with a checkpoint, and takes the time within `fit` that goes into writing. One is
written behind the first step and at the end of each epoch; within an epoch every ten minutes. Then
the fit goes on from the last checkpoint of all, to take the time of reading.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from corpora import reviews
from results import add_save, publish

from sk_han import Checkpoint, DocumentArray, HANClassifier, HierarchicalTokenizer
from sk_han.training.callbacks.checkpointing import Checkpointing

MINUTES = Checkpoint("folder").minutes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=25_000)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--folder", type=Path, help="on the disk to measure")
    add_save(parser)
    options = parser.parse_args()
    texts, labels, kind = reviews(options.documents)
    documents = HierarchicalTokenizer().fit_transform(texts)
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        rows = measure(documents, labels, kind, options.epochs, Path(folder) / "fit")
    publish("checkpoints", rows, options.save)


def measure(
    documents: DocumentArray, labels: Any, kind: str, epochs: int, folder: Path
) -> list[dict[str, str]]:
    written: list[float] = []
    sizes: list[int] = []
    last = b""
    write, begin = Checkpointing._write, Checkpointing.on_train_begin
    restored: list[float] = []

    def timed_write(callback: Checkpointing, state: dict[str, Any]) -> None:
        nonlocal last
        start = perf_counter()
        write(callback, state)
        written.append(perf_counter() - start)
        last = Checkpoint(folder).path.read_bytes()
        sizes.append(len(last))

    def timed_begin(callback: Checkpointing, *args: Any, **kwargs: Any) -> None:
        start = perf_counter()
        begin(callback, *args, **kwargs)
        restored.append(perf_counter() - start)

    Checkpointing._write, Checkpointing.on_train_begin = timed_write, timed_begin
    params = {"max_epochs": epochs, "linear_ngrams": None, "random_state": 0, "device": "cpu"}
    fitted = HANClassifier(**params).fit(documents, labels, checkpoint=folder)
    seconds = [epoch["dur"] for epoch in fitted.history_]
    Checkpoint(folder).path.write_bytes(last)
    start = perf_counter()
    HANClassifier(**params).fit(documents, labels, checkpoint=folder)
    again = perf_counter() - start
    each, words = median(written), documents.n_words
    print(f"{len(documents):,} {kind}, {words:,} words, {fitted.vocabulary_size_:,} in vocabulary")
    found = {
        "a checkpoint": f"{max(sizes) / 1e6:.0f} MB",
        "to write one (median; largest)": f"{each:.1f} s; {max(written):.1f} s",
        "an epoch": f"{median(seconds):.0f} s",
        "share of the time of an epoch that one at its end takes": (
            f"{sum(written) / sum(seconds):.1%}"
        ),
        "share of long epochs, with one every ten minutes": f"{each / (60 * MINUTES):.1%}",
        "to restore one": f"{restored[-1]:.1f} s",
        "a fit from the last one": f"{again:.0f} s",
    }
    return [{"": name, "found": value} for name, value in found.items()]


if __name__ == "__main__":
    main()
