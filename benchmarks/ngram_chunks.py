"""What learning n-grams in chunks costs, beside learning from all documents at once.

``python benchmarks/ngram_chunks.py`` fits the n-gram model to IMDB and 20 newsgroups, at once and
in chunks, and prints accuracy and log loss (scaled on the same documents, for all alike) and the
time of the processor. It scores a fifth of the training documents, on which the method was chosen;
``--test`` scores the published test documents. ``--memory`` prints the peak memory of a process
that fits linear models as `HANClassifier.fit` does, by number of words, beside that of the same
process without the fit: reviews are written to a file once and again, and read part by part.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter, process_time

import corpora
import numpy as np
from memory import peak_megabytes
from numpy.typing import NDArray
from scipy.special import log_softmax

from sk_han import DocumentArray, HierarchicalTokenizer
from sk_han.documents import LabelledDocuments
from sk_han.parts.calibration import fit_scales
from sk_han.parts.ngrams import chunks
from sk_han.parts.ngrams.model import NgramModel
from sk_han.parts.ngrams.ngram_fitting import fit_ngram_model, partial_fit_ngram_model
from sk_han.parts.ngrams.stacking import LinearKinds, fit_linear_parts
from sk_han.targets import OneOfClasses

CHUNKS = (2, 4, 20)  # of 5,000 IMDB reviews or so, with 4


def labelled(documents: DocumentArray, labels: NDArray) -> LabelledDocuments:
    targets = np.unique(labels, return_inverse=True)[1]
    return LabelledDocuments(documents, targets, np.ones(len(targets)))


def parts_of(name: str, test: bool) -> tuple[LabelledDocuments, LabelledDocuments]:
    """Give documents to learn from and documents to score."""
    read = {"imdb": corpora.imdb, "20news": corpora.newsgroups}[name]
    tokenizer = HierarchicalTokenizer()
    texts, labels = read("train")
    data = labelled(tokenizer.fit_transform(texts), labels)
    if test:
        texts, labels = read("test")
        return data, labelled(tokenizer.transform(texts), labels)
    order = np.random.RandomState(7).permutation(len(data))
    n_train = round(0.8 * len(order))
    return data[order[:n_train]], data[order[n_train:]]


def in_chunks(data: LabelledDocuments, ngram_range: tuple[int, int], n: int) -> NgramModel | None:
    with_chunks(data, ngram_range, n)
    n_classes, rows = int(data.targets.max()) + 1, np.arange(len(data))
    return chunks.fit_ngram_models_in_chunks(
        data, OneOfClasses(np.arange(n_classes)), ngram_range, [rows]
    )[0]


def in_portions(data: LabelledDocuments, ngram_range: tuple[int, int], n: int) -> NgramModel | None:
    """Learn as `partial_fit` does."""
    with_chunks(data, ngram_range, n)
    model = None
    for rows in chunks.rows_of_chunks(data.documents, ngram_range):
        n_classes = int(data.targets.max()) + 1
        model = partial_fit_ngram_model(
            model, data[rows], OneOfClasses(np.arange(n_classes)), ngram_range
        )
    return model


def with_chunks(data: LabelledDocuments, ngram_range: tuple[int, int], n: int) -> None:
    n_ngrams = data.documents.n_words * (ngram_range[1] - ngram_range[0] + 1)
    chunks._MOST_NGRAMS = chunks._MOST_NGRAMS_OF_CHUNK = -(-n_ngrams // n)


def compare(name: str, ngram_range: tuple[int, int], test: bool) -> None:
    data, others = parts_of(name, test)
    n_classes = int(data.targets.max()) + 1
    fits = {
        "at once": lambda: fit_ngram_model(data, OneOfClasses(np.arange(n_classes)), ngram_range)
    }
    for n in CHUNKS:
        fits[f"{n} chunks"] = lambda n=n: in_chunks(data, ngram_range, n)
    if n_classes == 2:  # twenty take an hour
        fits[f"{CHUNKS[-1]} portions"] = lambda: in_portions(data, ngram_range, CHUNKS[-1])
    print(f"\n{name}, n-grams of {ngram_range}, {len(data):,} documents, {len(others):,} scored")
    print(f"{'':14}{'accuracy':>10}{'log loss':>10}{'CPU s':>8}")
    for fit_name, fit in fits.items():
        start = process_time()
        model = fit()
        seconds = process_time() - start
        assert model is not None
        logits = model.logits(others.documents)
        scales = fit_scales(
            OneOfClasses(np.arange(logits.shape[1])),
            [logits],
            others.targets,
            others.weights,
            np.ones(1),
        )
        logs = log_softmax(scales[0] * logits, axis=1)[np.arange(len(others)), others.targets]
        accuracy = 100 * (logits.argmax(axis=1) == others.targets).mean()
        print(f"{fit_name:14}{accuracy:10.2f}{-logs.mean():10.4f}{seconds:8.1f}", flush=True)


class ReviewsOfFile(DocumentArray):
    """Reviews in files of word ids and offsets, in turn with others; read when arrays are asked."""

    __slots__ = ("arrays", "found", "rows")

    def __init__(self, arrays: tuple[NDArray, NDArray, NDArray], rows: NDArray) -> None:
        self.arrays, self.rows, self.found = arrays, rows, None

    def _take(self, rows: NDArray) -> ReviewsOfFile:
        return ReviewsOfFile(self.arrays, self.rows[rows])

    def _read(self) -> DocumentArray:
        if self.found is None:
            ids, sentences, documents = self.arrays
            some = object.__new__(DocumentArray)
            some.word_ids, some.sentence_starts, some.document_starts = ids, sentences, documents
            # Each copy has other words in places, so that it has n-grams of its own.
            of_file = some[self.rows % (len(documents) - 1)]
            copy = np.repeat(self.rows // (len(documents) - 1), of_file.words_per_document)
            changed = (np.arange(len(copy)) * 7 + copy) % 10 == 0
            word_ids = of_file.word_ids.copy()
            word_ids[changed & (copy > 0)] += copy[changed & (copy > 0)]
            self.found = DocumentArray(word_ids, of_file.sentence_starts, of_file.document_starts)
        return self.found

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def shape(self) -> tuple[int]:
        """As of DocumentArray."""
        return (len(self.rows),)

    @property
    def n_words(self) -> int:
        """Number of words of all documents; nothing is read."""
        return int(self.words_per_document.sum())

    @property
    def words_per_document(self) -> NDArray:
        """Number of words of each document; nothing is read."""
        _, sentences, documents = self.arrays
        return np.diff(sentences[documents])[self.rows % (len(documents) - 1)]

    @property
    def sentences_per_document(self) -> NDArray:
        """Number of sentences of each document; nothing is read."""
        return np.diff(self.arrays[2])[self.rows % (len(self.arrays[2]) - 1)]

    @property
    def word_ids(self) -> NDArray:
        """Words of all documents, which are read."""
        return self._read().word_ids

    @property
    def sentence_starts(self) -> NDArray:
        """Offsets of sentences; the documents are read."""
        return self._read().sentence_starts

    @property
    def document_starts(self) -> NDArray:
        """Offsets of documents; they are read."""
        return self._read().document_starts


def measure(folder: str, n_documents: int) -> None:
    """Fit linear models to reviews of the files; print memory before and at the peak, and time."""
    names = ("word_ids", "sentence_starts", "document_starts")
    ids, sentences, documents = (np.load(f"{folder}/{name}.npy", mmap_mode="r") for name in names)
    targets = np.load(f"{folder}/targets.npy")
    rows = np.arange(n_documents)
    data = LabelledDocuments(
        ReviewsOfFile((ids, np.array(sentences), np.array(documents)), rows),
        targets[rows % len(targets)],
        np.ones(n_documents),
    )
    before, start = peak_megabytes(), perf_counter()
    _, scored = fit_linear_parts(data, OneOfClasses(np.arange(2)), LinearKinds((1, 3)), rows[::10])
    seconds = perf_counter() - start
    assert scored is not None
    n_words, n_chunks = data.documents.n_words, chunks.n_chunks_of(data.documents, (1, 3))
    print(n_words, n_chunks, before, peak_megabytes(), seconds)


def memory(sizes: list[int]) -> None:
    texts, labels = corpora.imdb("train")
    order = np.random.RandomState(0).permutation(len(texts))
    documents = HierarchicalTokenizer().fit_transform([texts[i] for i in order])
    print(
        f"\n{'documents':>10}{'words':>14}{'chunks':>8}{'before, MB':>12}{'peak, MB':>10}{'s':>7}"
    )
    with tempfile.TemporaryDirectory() as folder:
        for name in ("word_ids", "sentence_starts", "document_starts"):
            np.save(Path(folder, f"{name}.npy"), getattr(documents, name))
        np.save(Path(folder, "targets.npy"), (labels[order] == "pos").astype(np.int64))
        for size in sizes:
            command = [sys.executable, __file__, "--measure", folder, str(size)]
            found = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            n_words, n_chunks, before, peak, seconds = map(float, found.split())
            print(
                f"{size:10,}{n_words:14,.0f}{n_chunks:8.0f}{before:12,.0f}{peak:10,.0f}{seconds:7.0f}"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--test", action="store_true", help="score the published test documents")
    parser.add_argument("--corpus", nargs="*", default=["imdb", "20news"])
    parser.add_argument("--memory", type=int, nargs="*", help="numbers of documents")
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        measure(arguments.measure[0], int(arguments.measure[1]))
        return
    if arguments.memory is not None:
        memory(arguments.memory or [25_000, 100_000, 1_000_000])
        return
    for name in arguments.corpus:
        compare(name, (1, 3), arguments.test)
        if name == "imdb":
            compare(name, (1, 1), arguments.test)


if __name__ == "__main__":
    main()
