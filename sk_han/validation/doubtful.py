"""Training data that can be learnt from, and is doubtful all the same: warnings, and rare ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sk_han.documents import DocumentArray, SentenceArray
from sk_han.documents.repeated import conflicting_rows, first_of_same_words
from sk_han.utils.warnings import warn_user

__all__ = [
    "conflicting_documents",
    "warn_of_conflicts",
    "warn_of_early_stopping",
    "warn_of_rare_classes",
    "warn_of_single_documents",
]

# Who has a hundred classes of three documents knows that they are few; who has three classes of a
# thousand and one of three may not.
_FEW, _USUAL = 5, 20
# Short texts ("ok") may have two labels for good reasons; of 14,640 tweets (airline) 0.2 % have.
_SHORTEST, _DOUBTFUL_SHARE, _ENOUGH_DOCUMENTS = 10, 0.01, 50


def warn_of_rare_classes(targets: NDArray[np.int64], classes: NDArray[np.generic]) -> None:
    """Warn of classes of two to four documents among larger ones.

    Parameters
    ----------
    targets : ndarray of int64, shape (D,)
    classes : ndarray of shape (C,)
    """
    counts = np.bincount(targets, minlength=len(classes))
    rare = np.flatnonzero((counts > 1) & (counts < _FEW))
    if not len(rare) or counts.mean() < _USUAL:
        return
    some = rare[:5]
    pairs = zip(classes[some].tolist(), counts[some].tolist(), strict=True)
    named = ", ".join(f"{label!r} ({count})" for label, count in pairs)
    more = f" and {len(rare) - 5:,} more" if len(rare) > 5 else ""
    have = "has" if len(rare) == 1 else "have"
    warn_user(
        f"{len(rare):,} of {len(classes):,} classes {have} fewer than {_FEW} documents: {named}"
        f"{more}. That is too few to learn a class from, or to tell how well it is recognized. "
        "Give more documents of them, merge them, or leave them out."
    )


def warn_of_single_documents(
    targets: NDArray[np.int64], classes: NDArray[Any], *, given: bool
) -> None:
    """Warn of classes of one document; with `given` documents, held-out ones are not needed."""
    single = classes[np.bincount(targets, minlength=len(classes)) == 1].tolist()
    if not single or len(classes) == 1:
        return
    named = ", ".join(map(repr, single[:5]))
    more = f" and {len(single) - 5:,} more" if len(single) > 5 else ""
    not_held_out = (
        "It is trained on and not held out, so nothing tells how well such a class is recognized. "
    )
    warn_user(
        f"{len(single):,} of {len(classes):,} classes have a single document: {named}{more}. "
        f"{'' if given else not_held_out}Give more documents of these classes, merge them, or "
        "leave them out."
    )


def conflicting_documents(
    documents: DocumentArray, targets: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Find documents with the words of another one that has another class.

    Parameters
    ----------
    documents : DocumentArray of shape (D,)
    targets : ndarray of int64, shape (D,)

    Returns
    -------
    ndarray of int64
        Rows, ascending.
    """
    words = documents.words() if isinstance(documents, SentenceArray) else documents
    return conflicting_rows(first_of_same_words(words), targets)


def warn_of_conflicts(
    rows: NDArray[np.int64], n_words: NDArray[np.int64], n_documents: int
) -> None:
    """Warn if more than one in a hundred documents has ten words or more of one of another class.

    Parameters
    ----------
    rows : ndarray of int64
        Documents with the words of one of another class, numbered as the user's.
    n_words : ndarray of int64
        Number of words of each of these.
    n_documents : int
        Of all.
    """
    rows = rows[n_words >= _SHORTEST]
    if n_documents < _ENOUGH_DOCUMENTS or len(rows) <= _DOUBTFUL_SHARE * n_documents:
        return
    some = ", ".join(map(str, rows[:5].tolist()))
    warn_user(
        f"{len(rows):,} of {n_documents:,} documents have the same words as one with another "
        f"label (rows {some}{', ...' if len(rows) > 5 else ''}): nothing can get both right. Check "
        "the labels; sk_han.describe(texts, labels).conflicting has all rows."
    )


def warn_of_early_stopping(n_iter_no_change: int, units: str, why: str, repair: str) -> None:
    """Warn that training cannot stop early, since no units ("documents") are held out."""
    warn_user(
        f"n_iter_no_change={n_iter_no_change} has no effect without held-out {units}, and {why}. "
        f"{repair}, or set n_iter_no_change=None."
    )
