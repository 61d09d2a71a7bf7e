"""More text than memory: tokenized to a folder, and learnt from there.

``python benchmarks/large_collection.py --documents 1000000`` makes reviews as long as those of IMDB
from its 25,000 training reviews in ``$SK_HAN_DATA`` (else ``../shared/data``): the first of them as
they are, all others with a tenth of their words dropped, replaced by words of other reviews,
changed places with a neighbour or misspelt. Texts are made while they are read. They are tokenized
to a folder (``--folder``; by default a temporary one, of about 4.3 bytes a word) with one and with
two jobs; one epoch is then fitted on the folder, and on the first reviews in memory and on the
disk. Every stage is a process of its own, whose peak memory and anonymous part of it are printed
(anonymous: what no file stands for, and the disk cannot take back).
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import joblib
import numpy as np
from corpora import imdb
from memory import anonymous_megabytes, peak_megabytes
from results import add_save, publish

from sk_han import DocumentArray, HANClassifier, HierarchicalTokenizer

CHANGED = 0.1  # share of the words
MISSPELT = 0.01  # of these


def shuffled_training_reviews() -> tuple[list[str], np.ndarray]:
    texts, labels = imdb("train")
    rows = list(range(len(texts)))
    random.Random(0).shuffle(rows)
    return [texts[row] for row in rows], labels[rows]


def collection(texts: list[str], n_documents: int) -> Iterator[str]:
    """Yield the texts, and then changed ones, of which only one is in memory."""
    words_of_some = [word for text in texts[:1000] for word in text.split(" ")]
    for number in range(n_documents):
        text = texts[number % len(texts)]
        yield text if number < len(texts) else changed(text, number, words_of_some)


def changed(text: str, seed: int, others: list[str]) -> str:
    """Change words of a text: drop, replace or swap them, or misspell them now and then."""
    rng = random.Random(seed)
    words = text.split(" ")
    for _ in range(max(1, int(CHANGED * len(words)))):
        i, how = int(rng.random() * len(words)), rng.random()
        if how < MISSPELT:
            at = int(rng.random() * (len(words[i]) + 1))
            words[i] = words[i][:at] + rng.choice("etaoinshrdlu") + words[i][at:]
        elif how < 1 / 3:
            words[i] = ""
        elif how < 2 / 3:
            words[i] = others[int(rng.random() * len(others))]
        else:
            words[i - 1], words[i] = words[i], words[i - 1]
    return " ".join(words)


class Watch:
    """Seconds spent on making texts, and the highest anonymous memory of this process."""

    def __init__(self) -> None:
        self.making = self.anonymous = 0.0
        threading.Thread(target=self._look, daemon=True).start()

    def timed(self, texts: Iterator[str]) -> Iterator[str]:
        """Yield texts, and add the time that they take to be made."""
        while True:
            start = time.perf_counter()
            text = next(texts, None)
            self.making += time.perf_counter() - start
            if text is None:
                return
            yield text

    def _look(self) -> None:
        while True:
            self.anonymous = max(self.anonymous, anonymous_megabytes())
            time.sleep(0.05)

    def found(self) -> dict[str, float]:
        """Give the peaks so far, in MB."""
        return {"peak": peak_megabytes(), "anonymous": self.anonymous}


def tokenize(folder: Path, n_documents: int, n_jobs: int) -> dict[str, float]:
    watch = Watch()
    texts, _ = shuffled_training_reviews()
    before = peak_megabytes()
    start = time.perf_counter()
    # A vocabulary grows with the collection, and word vectors with it; the rarest words go.
    tokenizer = HierarchicalTokenizer(n_jobs=n_jobs, max_features=100_000)
    documents = tokenizer.fit_transform(
        watch.timed(collection(texts, n_documents)), out=folder / "train", overwrite=True
    )
    seconds = time.perf_counter() - start - watch.making
    tokenizer.transform(imdb("test")[0], out=folder / "test", overwrite=True)
    joblib.dump(tokenizer, folder / "tokenizer.joblib")
    size = sum(path.stat().st_size for path in (folder / "train").iterdir())
    return {
        "seconds": seconds,
        "making": watch.making,
        "words": documents.n_words,
        "types": len(tokenizer.vocabulary_),
        "bytes": size / documents.n_words,
        "before": before,
        **watch.found(),
    }


def fit(folder: Path, n_documents: int, where: str) -> dict[str, float]:
    documents = DocumentArray.open(folder / "train")[:n_documents]
    labels = shuffled_training_reviews()[1]
    y = labels[np.arange(n_documents) % len(labels)]
    if where == "memory":
        documents = documents.in_memory()
    watch = Watch()
    classifier = HANClassifier(max_epochs=1, random_state=0, device="cpu")
    start = time.perf_counter()
    classifier.fit(documents, y)
    seconds = time.perf_counter() - start
    found = watch.found()
    start = time.perf_counter()
    score = classifier.score(DocumentArray.open(folder / "test"), imdb("test")[1])
    return {
        "seconds": seconds,
        "epoch": classifier.history_[0]["dur"],
        "words": documents.n_words,
        "scoring": time.perf_counter() - start,
        "score": score,
        **found,
    }


def stage(*arguments: object) -> dict[str, float]:
    """Run one stage in a new process."""
    command = [sys.executable, __file__, "--stage", *map(str, arguments)]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    found: dict[str, float] = json.loads(output.splitlines()[-1])
    return found


def run_stage(name: str, folder: str, n_documents: str, how: str) -> None:
    if name == "tokenize":
        found = tokenize(Path(folder), int(n_documents), int(how))
    else:
        found = fit(Path(folder), int(n_documents), how)
    print(json.dumps(found))


def measure(folder: Path, n_documents: int, n_jobs: list[int], store: bool) -> None:
    print(f"{n_documents:,} documents\n")
    print(
        f"{'tokenized':24}{'s':>8}{'thousand words/s':>18}{'peak MB':>9}{'anonymous':>11}"
        f"{'before':>8}",
        flush=True,
    )
    for jobs in n_jobs:
        found = stage("tokenize", folder, n_documents, jobs)
        print(
            f"{f'n_jobs={jobs}':24}{found['seconds']:8.0f}"
            f"{found['words'] / found['seconds'] / 1e3:18,.0f}"
            f"{found['peak']:9,.0f}{found['anonymous']:11,.0f}{found['before']:8,.0f}",
            flush=True,
        )
    print(
        f"\n{found['words']:,.0f} words, {found['bytes']:.2f} bytes each on the disk; a vocabulary "
        f"of {found['types']:,.0f}; {found['making']:.0f} s to make the texts, not counted\n"
    )
    rows = []
    n_first = min(n_documents, 25_000)
    fits = dict.fromkeys([(n_first, "memory"), (n_first, "disk"), (n_documents, "disk")])
    for n, where in fits:
        found = stage("fit", folder, n, where)
        rows.append(
            {
                "one epoch": f"{n:,} {'in memory' if where == 'memory' else 'on the disk'}",
                "fit, s": round(found["seconds"]),
                "thousand words a second": round(found["words"] / found["epoch"] / 1e3),
                "peak MB": round(found["peak"]),
                "anonymous MB": round(found["anonymous"]),
                "test accuracy, %": round(100 * found["score"], 2),
            }
        )
    publish("large_collection", rows, store)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=50_000)
    parser.add_argument("--folder", type=Path, help="kept; by default a temporary one")
    parser.add_argument("--jobs", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--stage", nargs=4, help=argparse.SUPPRESS)
    add_save(parser)
    arguments = parser.parse_args()
    if arguments.stage:
        run_stage(*arguments.stage)
    elif arguments.folder:
        arguments.folder.mkdir(parents=True, exist_ok=True)
        measure(arguments.folder, arguments.documents, arguments.jobs, arguments.save)
    else:
        with tempfile.TemporaryDirectory() as folder:
            measure(Path(folder), arguments.documents, arguments.jobs, arguments.save)


if __name__ == "__main__":
    main()
