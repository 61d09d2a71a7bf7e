"""How long a fit takes, and how much memory: an estimate from words, documents and threads."""

from __future__ import annotations

import math

import torch

from sk_han.documents import DocumentArray
from sk_han.inspection.results.description import FitCost
from sk_han.parts.ngrams.chunks import n_chunks_of
from sk_han.parts.ngrams.memory_estimate import bytes_of_linear_model, bytes_of_sparse_model
from sk_han.parts.ngrams.ngram_fitting import MIN_DOCUMENTS
from sk_han.parts.ngrams.presence import document_counts
from sk_han.parts.ngrams.sparse_model import MOST_DENSE, range_of_sparse
from sk_han.parts.ngrams.stacking import MOST_CROSS_FITTED
from sk_han.targets.any_of_labels import ATTENDING
from sk_han.training.builder import batch_size_for, epochs_for

# Seconds of one thread and megabytes for one of each quantity, measured by benchmarks/fit_cost.py;
# docs/benchmarks.md has the table. The model of characters is not counted.
SECONDS = {
    "distinct words": 1.12e-4,
    "words of all epochs": 7.04e-6,
    "steps of all epochs": 0.0087,
}
MEGABYTES = {"fit": 556.0, "words": 0.00025, "distinct words": 0.0064}
# Of an n-gram of a document in a fit, for a class beyond the second: 5.6 s for 3.5 million n-grams
# of newsgroups and 20 classes.
_SECONDS_OF_NGRAM = 8e-8
# What an n-gram of a document costs where all classes share a vector, as a part of the above: C
# decides, so 0.26 to 0.9 was measured.
_OF_SPARSE = 0.48
# Of a fit, what more threads do not share: 1,000 reviews take 16.6 s with one and 12.6 with two.
_ALONE = 0.5
_NGRAM_RANGE = (1, 3)  # the default of linear_ngrams
# What an attention of each label adds for a word, a label and an epoch.
_SECONDS_OF_LABEL = 5.6e-8


def quantities(documents: DocumentArray, n_distinct_words: int) -> dict[str, float]:
    """Return what a fit of ``HANClassifier()`` takes time and memory for, by name."""
    n_learnt_from = max(1, round(0.9 * len(documents)))
    batch_size = batch_size_for("auto", n_learnt_from)
    epochs = epochs_for("auto", n_learnt_from, batch_size)
    return {
        "fit": 1,
        "words": documents.n_words,
        "distinct words": n_distinct_words,
        "epochs": epochs,
        "words of all epochs": epochs * documents.n_words,
        "steps of all epochs": epochs * math.ceil(n_learnt_from / batch_size),
    }


def of_classes(documents: DocumentArray, n_classes: int) -> tuple[float, float]:
    """Return what more than two classes or labels add: n-grams of all fits, megabytes."""
    if n_classes < 3:  # one model, which the other constants count
        return 0.0, 0.0
    is_sparse = n_classes > MOST_DENSE
    counts = document_counts(
        documents, range_of_sparse(_NGRAM_RANGE) if is_sparse else _NGRAM_RANGE
    )
    counts = counts[counts >= MIN_DOCUMENTS]
    if is_sparse:
        n_bytes = bytes_of_sparse_model(n_classes, documents.n_words, len(documents))
        # All documents and most of them once, and some classes at four strengths.
        n_problems = 2 * n_classes + 4 * min(n_classes, 30)
        return _OF_SPARSE * n_problems * int(counts.sum()), n_bytes / 1e6
    # All documents, and five times four fifths of them to know what the model is worth.
    n_fits = 5 if len(documents) <= MOST_CROSS_FITTED else 2
    n_chunks = n_chunks_of(documents, _NGRAM_RANGE)
    n_bytes = bytes_of_linear_model(n_classes, len(counts), len(documents), n_chunks)
    return n_fits * (n_classes - 1) * int(counts.sum()), n_bytes / 1e6


def estimated_cost(
    documents: DocumentArray, n_distinct_words: int, *, n_classes: int, several_labels: bool
) -> FitCost:
    """Estimate what a fit of ``HANClassifier()`` to these documents takes on a CPU."""
    found = quantities(documents, n_distinct_words)
    threads = torch.get_num_threads()
    alone = sum(seconds * found[name] for name, seconds in SECONDS.items())
    if several_labels and n_classes in ATTENDING:
        alone += _SECONDS_OF_LABEL * n_classes * found["words of all epochs"]
    ngrams_of_classes, megabytes_of_classes = of_classes(documents, n_classes)
    megabytes = sum(size * found[name] for name, size in MEGABYTES.items())
    return FitCost(
        seconds=alone * (_ALONE + (1 - _ALONE) / threads) + _SECONDS_OF_NGRAM * ngrams_of_classes,
        megabytes=megabytes + megabytes_of_classes,
        epochs=int(found["epochs"]),
        n_threads=threads,
    )
