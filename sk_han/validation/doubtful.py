"""Training data that can be learnt from, and is doubtful all the same: warnings, and rare ones."""

from __future__ import annotations

import reprlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sk_han.documents import PADDING_ID, UNKNOWN_ID
from sk_han.utils.containers import Integers, listed
from sk_han.utils.messages import agreeing, warn_user

_FEWEST_ROWS, _MOST_ROWS, _MOST_GAPS = 20, 2000, 0.1  # the last of rows with words
# Who has a hundred classes of three documents knows that they are few; who has three classes of a
# thousand and one of three may not.
_FEW, _USUAL = 5, 20
# Short texts ("ok") may have two labels for good reasons; of 14,640 tweets (airline) 0.2 % have.
_SHORTEST, _DOUBTFUL_SHARE, _ENOUGH_DOCUMENTS = 10, 0.01, 50


def warn_of_features(X: Any) -> None:
    """Warn of an array of integers, (D, S, W) or (D, W), that no padded documents look like."""
    if not isinstance(X, np.ndarray) or len(X) < _FEWEST_ROWS or X.shape[-1] < 2:
        return
    rows = X[:_MOST_ROWS].reshape(-1, X.shape[-1])
    real = rows != PADDING_ID
    n_runs = (np.diff(real, axis=1) != 0).sum(axis=1)  # of words, and of padding, less one
    at_one_end = (n_runs == 0) | ((n_runs == 1) & (real[:, 0] | real[:, -1]))
    if real.any() and rows.max() <= UNKNOWN_ID:
        sign = "it holds 0 (padding) and 1 (the unknown word) alone"
    elif (~at_one_end).sum() > _MOST_GAPS * real.any(axis=1).sum():
        sign = "0, which is padding, stands among the other numbers and not at an end of the rows"
    else:
        return
    warn_user(
        f"X of shape {X.shape} is read as documents of word ids, but looks like a table of "
        f"features: {sign}. To HANClassifier a number is the name of a word, and its size "
        "means nothing: use another classifier for tables. If these are word ids, "
        "DocumentArray.from_padded(X) says so."
    )


def warn_of_order(X: Any, y: Any, name: str, documents: str = "X") -> None:
    """Warn of labels, or weights, whose index of pandas has the rows of X in another order."""
    of_documents: Any = getattr(X, "index", None)
    of_labels: Any = getattr(y, "index", None)
    # Lists have an `index`, too. Rows go by position: a filtered X and a reset y are usual.
    if not hasattr(of_documents, "is_unique") or not hasattr(of_labels, "is_unique"):
        return
    if len(of_documents) != len(of_labels) or of_documents.equals(of_labels):
        return
    if of_documents.nlevels != of_labels.nlevels or not of_documents.is_unique:
        return
    if of_labels.is_unique and of_labels.isin(of_documents).all():
        warn_user(
            f"{documents} and {name} have the same index in another order. They go together by "
            "position, so documents get what belongs to others. "
            f"{name}.loc[{documents}.index] has the order of {documents}; if positions are right, "
            f"{name}.set_axis({documents}.index) says so."
        )


def warn_of_names(names: NDArray[Any]) -> None:
    """Warn of names (C,) that differ by blanks or capitals alone, or are blank."""
    alike: dict[str, list[str]] = {}
    for name in names.tolist():
        if isinstance(name, str):
            alike.setdefault(" ".join(name.casefold().split()), []).append(name)
    found = [" and ".join(map(repr, each)) for each in alike.values() if len(each) > 1]
    if found:
        warn_user(
            f"Labels differ by blanks or capitals alone: {listed(found, write=str)}. They are "
            "learnt as different ones. If they are the same, write them in one way."
        )
    blank = [name for name in names.tolist() if isinstance(name, str) and not name.strip()]
    if blank:
        warn_user(
            f"A label is blank, {blank[0]!r}, and learnt as any other. If it stands for no label, "
            "leave it out of what is learnt."
        )


def warn_of_rare_classes(targets: Integers, classes: NDArray[np.generic]) -> None:
    """Warn of classes (C,) that have two to four of the targets (D,) among larger ones."""
    counts = np.bincount(targets, minlength=len(classes))
    rare = np.flatnonzero((counts > 1) & (counts < _FEW))
    if not len(rare) or counts.mean() < _USUAL:
        return
    names = classes.tolist()
    named = [f"{names[i]!r} ({counts[i]})" for i in rare.tolist()]
    warn_user(
        f"{len(rare):,} of {len(classes):,} classes {agreeing(len(rare), 'have')} fewer than "
        f"{_FEW} documents: {listed(named, write=str)}. That is too few to learn a class from, or "
        "to tell how well it is recognized. Give more documents of them, merge them, or leave them "
        "out."
    )


def warn_of_single_documents(targets: Integers, classes: NDArray[Any], *, given: bool) -> None:
    """Warn of classes of one document; with `given` documents, held-out ones are not needed."""
    single = classes[np.bincount(targets, minlength=len(classes)) == 1].tolist()
    if not single or len(classes) == 1:
        return
    not_held_out = (
        "It is trained on and not held out, so nothing tells how well such a class is recognized. "
    )
    repair = "Give more documents of these classes, merge them, or leave them out."
    warn_user(
        f"{len(single):,} of {len(classes):,} classes {agreeing(len(single), 'have')} a single "
        f"document: {listed(single, write=reprlib.repr)}. {'' if given else not_held_out}{repair}"
    )


def warn_of_conflicts(n_words: Integers, n_documents: int) -> None:
    """Warn if many documents have ten words or more, and the words of one of another class.

    `n_words` are those of each document with such another one.
    """
    n_conflicting = int(np.count_nonzero(n_words >= _SHORTEST))
    if n_documents < _ENOUGH_DOCUMENTS or n_conflicting <= _DOUBTFUL_SHARE * n_documents:
        return
    warn_user(
        f"{n_conflicting:,} of {n_documents:,} documents {agreeing(n_conflicting, 'have')} "
        f"{_SHORTEST} words or more, and the same words as one with another label: nothing can get "
        "both right. An audit lists them: audit_labels(...).conflicts, or sk-han audit."
    )


def warn_of_early_stopping(n_iter_no_change: int, units: str, why: str, repair: str) -> None:
    """Warn that training cannot stop early, since no units ("documents") are held out."""
    warn_user(
        f"n_iter_no_change={n_iter_no_change} has no effect without held-out {units}, and {why}. "
        f"{repair}, or set n_iter_no_change=None."
    )
