"""Documents as users hand them over: counted, taken in portions, as texts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from sk_han.validation.documents import holds_word_ids
from sk_han.validation.texts import check_texts


def refuse_lone_text(X: Any) -> None:
    """Refuse a string in place of documents, whose characters would be taken for them."""
    if isinstance(X, (str, bytes, bytearray)):
        check_texts(X)


def listed_documents(X: Any) -> Any:
    """Return documents that can be counted and read twice; refuse what are none."""
    refuse_lone_text(X)
    if hasattr(X, "shape") or hasattr(X, "__getitem__"):
        return X
    return list(X) if isinstance(X, Iterable) else check_texts(X)


def length_of(X: Any) -> int | None:
    """Return the number of documents, if it is known before they are read."""
    try:
        return len(X)
    except TypeError:  # an iterator, or what will be refused when it is read
        return None


def n_documents_of(X: Any) -> int:
    """Return the number of documents; a sparse matrix has a shape and no length."""
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def texts_of(X: Any) -> tuple[str, ...] | None:
    """Return documents as texts; None if they are word ids, or features of another estimator."""
    if holds_word_ids(X):
        return None
    try:
        return tuple(check_texts(X))
    except (TypeError, ValueError):
        return None


def in_portions(X: Any, size: int) -> Iterator[Any]:
    """Yield an iterator's documents in lists of `size`; yield any other X as it is."""
    if not isinstance(X, Iterator):
        yield X
        return
    first = 0
    while chunk := list(islice(X, size)):
        if any(document is None or isinstance(document, str) for document in chunk):
            chunk = check_texts(chunk, first=first)  # here their places in the iterator are known
        yield chunk
        first += len(chunk)
