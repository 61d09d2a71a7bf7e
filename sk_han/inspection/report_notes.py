"""What a reader of a report must know of its documents, labels and groups, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sk_han.inspection.doubts import ENOUGH_RIGHT, may_be_chance
from sk_han.rendering.numbers import percent
from sk_han.utils.containers import listed
from sk_han.utils.counts import agreeing, counted
from sk_han.utils.metrics import effective_groups

_FEW = 30  # documents or groups
_FEW_COPIES = 0.8  # of the documents without copies: intervals are up to 12 % too narrow then


def note_on_units(
    groups: NDArray[np.int64] | None, same: Sequence[Sequence[int]], n_documents: int
) -> Iterator[str]:
    """Say what intervals are samples of, and whether there are few; `same` are rows of copies."""
    n, units = float(n_documents), "documents"
    if groups is not None:
        n, units = int(groups.max()) + 1, "groups"
        yield (
            f"Intervals are those of samples of groups, of which there are {n:,}: documents of "
            "one group tell less than as many of others. Whether the model has learnt from these "
            "groups is not known."
        )
    else:
        first = np.arange(n_documents)
        for rows in same:
            first[rows] = rows[0]
        n = effective_groups(first)
        if n < _FEW_COPIES * n_documents:
            yield (
                "Many documents have the words of another one: all together they tell about as "
                f"much as {round(n):,} without copies, and the intervals, which count each, are "
                "too narrow. Give groups, one number for each different text, to mend that."
            )
    if n < _FEW:
        yield f"So few {units} tell little about others: mind the intervals."


def note_on_words(n_without: int, n_not_compared: int) -> Iterator[str]:
    """Say how many documents have no words, and how many too few that the model knows."""
    if n_without:
        yield f"{documents_have(n_without)} no words."
    if n_not_compared:
        yield (
            f"{documents_have(n_not_compared)} too few known words to be compared with what the "
            "model has learnt from."
        )


def note_on_suspects(is_right: NDArray[np.bool_], targets: NDArray[np.int64]) -> Iterator[str]:
    """Say how far documents can be asked that look mislabelled."""
    share = float(is_right.mean())
    if may_be_chance(is_right, targets):
        yield (
            "The model may know no more here than which label is frequent: by such a model no "
            "label can be doubted, and those listed as mislabelled say nothing."
        )
    elif share < ENOUGH_RIGHT:
        yield (
            f"The model is right on {percent(share)} of the documents: those listed as mislabelled "
            "may well be mistakes of its own."
        )


def note_on_weak_labels(weak: list[Any]) -> Iterator[str]:
    """Name the labels, of several a document, whose doubtful marks say little."""
    if weak:
        yield (
            "Of these labels the model may know no more here than how frequent they are, and their "
            f"marks that are listed as doubtful say little: {listed(weak)}."
        )


def note_on_missing(counts: NDArray[np.int64], labels: list[Any]) -> Iterator[str]:
    """Name the labels that no document has, by the numbers of documents of each."""
    missing = np.flatnonzero(counts == 0).tolist()
    if missing:
        label, it_is = ("the label", "it is") if len(missing) == 1 else ("the labels", "they are")
        yield (
            f"No document has {label} {listed([labels[i] for i in missing])}: nothing here tells "
            f"how well {it_is} found."
        )


def documents_have(n: int) -> str:
    """Return the beginning of a sentence on what documents have."""
    return f"{counted(n)} {agreeing(n, 'have')}"
