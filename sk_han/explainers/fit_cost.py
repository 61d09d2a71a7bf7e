"""How long a fit takes, and how much memory: an estimate from words, documents and threads."""

from __future__ import annotations

import math

import torch

from sk_han.documents import DocumentArray
from sk_han.inspection.results.description import FitCost
from sk_han.training.builder import batch_size_for, epochs_for

__all__ = ["MEGABYTES", "SECONDS", "estimated_cost", "quantities"]

# Seconds of one thread and megabytes for one of each quantity, measured by benchmarks/fit_cost.py;
# docs/how_to/how_long.md has the table.
SECONDS = {
    "words": 5.3e-6,
    "distinct words": 4.1e-5,
    "words of all epochs": 6.0e-6,
    "steps of all epochs": 0.0077,
}
MEGABYTES = {"fit": 656.0, "words": 0.00015, "distinct words": 0.0053}
# Of a fit, what more threads do not share: 2.79 s with one and 2.41 with two (docs/benchmarks.md).
_ALONE = 0.73


def quantities(documents: DocumentArray, n_distinct_words: int) -> dict[str, float]:
    """Return what a fit of ``HANClassifier()`` takes time and memory for.

    Parameters
    ----------
    documents : DocumentArray of shape (D,)
    n_distinct_words : int

    Returns
    -------
    dict of str to float
        Names are those of `SECONDS` and `MEGABYTES`.
    """
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


def estimated_cost(
    documents: DocumentArray, n_distinct_words: int, n_threads: int | None = None
) -> FitCost:
    """Estimate what a fit of ``HANClassifier()`` to these documents takes on a CPU.

    Parameters
    ----------
    documents : DocumentArray of shape (D,)
    n_distinct_words : int
    n_threads : int, optional
        By default the number that PyTorch is set to.

    Returns
    -------
    FitCost
    """
    found = quantities(documents, n_distinct_words)
    threads = torch.get_num_threads() if n_threads is None else n_threads
    alone = sum(seconds * found[name] for name, seconds in SECONDS.items())
    return FitCost(
        seconds=alone * (_ALONE + (1 - _ALONE) / threads),
        megabytes=sum(size * found[name] for name, size in MEGABYTES.items()),
        epochs=int(found["epochs"]),
        n_threads=threads,
    )
