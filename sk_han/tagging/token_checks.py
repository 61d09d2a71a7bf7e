"""Sentences of tokens and their labels, checked; the rules of IOB2."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from itertools import chain
from reprlib import repr as brief
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sk_han.utils.counts import a_kind, counted
from sk_han.validation.labels import as_labels

Token = tuple[str, ...]


def as_sentences(X: Any, n_columns: int | None = None) -> list[list[Token]]:
    """Return sentences as lists of tokens, each of `n_columns` strings, by default as the first."""
    sentences = []
    for i, sentence in enumerate(_listed(X, "X", "sentences, each a list of tokens")):
        tokens = list(_listed(sentence, f"Sentence {i} of X", "tokens"))
        found = [
            (token,) if type(token) is str else _token(token, i, j)
            for j, token in enumerate(tokens)
        ]
        for j, token in enumerate(found):
            n_columns = len(token) if n_columns is None else n_columns
            if len(token) != n_columns:
                raise ValueError(
                    f"Token {j} of sentence {i} of X has {counted(len(token), 'column')}: "
                    f"{brief(token)}; expected {n_columns}, as of the first token of the training "
                    "sentences. Give every token as many: the word, then its further columns."
                )
        sentences.append(found)
    return sentences


def as_tags(y: Any, lengths: Sequence[int]) -> NDArray[Any]:
    """Return the labels of all tokens as one array, shape (T,), checked."""
    if y is None:
        raise ValueError(
            "This SequenceTagger estimator requires y to be passed, but the target y is None."
        )
    sequences = [
        list(_listed(tags, f"Sentence {i} of y", "labels, one for each token"))
        for i, tags in enumerate(_listed(y, "y", "sentences, each a list of labels"))
    ]
    if len(sequences) != len(lengths):
        raise ValueError(
            "Found input variables with inconsistent numbers of samples: "
            f"{counted(len(lengths), 'sentence')} in X, {len(sequences):,} in y."
        )
    for i, (tags, n) in enumerate(zip(sequences, lengths, strict=True)):
        if len(tags) != n:
            raise ValueError(
                f"Sentence {i} has {counted(n, 'token')} in X and {counted(len(tags), 'label')} "
                "in y: give each token one label."
            )
        for j, tag in enumerate(tags):
            if not isinstance(tag, (str, int, np.integer, np.bool_)):
                raise TypeError(
                    f"Token {j} of sentence {i} has the label {brief(tag)} of type "
                    f"{type(tag).__name__} in y; labels are strings, integers or booleans. "
                    "Convert them, for example with str(label)."
                )
    return as_labels(list(chain.from_iterable(sequences)), "y")


def chunks_of(classes: NDArray[Any]) -> NDArray[np.int64]:
    """Return what label may follow what by IOB2 (Tjong Kim Sang and Veenstra, 1999), (C,).

    0 for ``O``, k for ``B-x`` of the k-th kind of chunk, and -k for its ``I-x``, before which
    ``B-x`` or ``I-x`` stands. A table of pairs would take the square of the labels of a file.
    """
    kinds: dict[str, int] = {}
    chunks = np.zeros(len(classes), dtype=np.int64)
    for i, label in enumerate(map(str, classes.tolist())):
        if label == "O":
            continue
        if label[:2] not in ("B-", "I-"):
            raise ValueError(
                f"scheme='iob2' needs the labels 'O', 'B-...' and 'I-...'; got {label!r}. Leave "
                "the scheme out (None) for other labels."
            )
        kind = kinds.setdefault(label[2:], len(kinds) + 1)
        chunks[i] = kind if label[0] == "B" else -kind
    return chunks


def check_iob2(
    targets: NDArray[np.int64], lengths: NDArray[np.int64], classes: NDArray[Any]
) -> None:
    """Check that labels of training sentences keep the rules of IOB2."""
    chunks = chunks_of(classes)[targets]
    starts = np.cumsum(lengths) - lengths
    before = np.concatenate([[0], chunks[:-1]])
    before[starts[lengths > 0]] = 0
    wrong = np.flatnonzero((chunks < 0) & (np.abs(before) != -chunks))
    if len(wrong):
        at = int(wrong[0])
        i = int(np.searchsorted(starts + lengths, at, side="right"))
        previous = repr(str(classes[targets[at - 1]])) if at > starts[i] else "the start"
        raise ValueError(
            f"Token {at - starts[i]} of sentence {i} in y has the label "
            f"{str(classes[targets[at]])!r} after {previous}, which IOB2 forbids: "
            "a chunk begins with 'B-'. Convert the labels, or leave the scheme out (None)."
        )


def _listed(value: Any, what: str, of: str) -> Any:
    """Return a value if it is a sequence, but no string, frame, or what has no order."""
    expected = f"expected a list of {of}."
    if isinstance(value, (str, bytes)):
        repair = " text.split() makes a list of a string's tokens." if "tokens" in of else ""
        raise TypeError(f"{what} is the string {brief(value)}; {expected}{repair}")
    is_iterable, is_frame = hasattr(value, "__iter__"), hasattr(value, "columns")
    has_order = hasattr(value, "__len__") and not isinstance(value, (Mapping, Set))
    if is_iterable and has_order and not is_frame:
        return value
    repair = " Give it an order, for example with list(...)." if is_iterable else ""
    if is_frame:  # to iterate one gives the names of its columns
        repair = (
            " Of a table with a token in each row, "
            "df.groupby('sentence')['word'].apply(list) makes one."
        )
    raise TypeError(f"{what} is {a_kind(value)}; {expected}{repair}")


def _token(token: Any, sentence: int, number: int) -> Token:
    if isinstance(token, str):
        return (str.__str__(token),)
    columns = tuple(token) if isinstance(token, (tuple, list, np.ndarray)) else ()
    if not columns or not all(isinstance(column, str) for column in columns):
        raise TypeError(
            f"Token {number} of sentence {sentence} of X is {brief(token)} of type "
            f"{type(token).__name__}; a token is a string, or a tuple of strings: the word, then "
            "its further columns. Convert it with str, or leave it out."
        )
    return tuple(str.__str__(column) for column in columns)
