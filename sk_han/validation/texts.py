"""Raw documents in any container, checked and converted to a list of strings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from typing import Any

import numpy as np

from sk_han.documents import DocumentArray
from sk_han.utils.messages import a_kind, in_one_line

_CHUNK_SIZE = 10_000  # documents of an iterator that are in memory at once
_MOST_CHARACTERS = 1 << 25  # of these, but for the last one

_NO_DOCUMENTS = "Found 0 sample(s) while a minimum of 1 is required: {} has no documents."
_READ_BEFORE = "An iterator that was read before has none left"
NO_UNLABELLED = "X_unlabelled has no documents; leave it out if there are none."

_ONE_COLUMN = "pass the column that holds the text, for example df['text']"


def check_texts(X: Any, *, name: str = "X", first: int = 0) -> list[str]:
    """Return raw documents of any container as a list of strings, which is X if it is one.

    Messages number them from `first`, and say of which argument they are if it is not X.
    """
    documents = as_list(X, name)
    if not documents:
        raise ValueError(_NO_DOCUMENTS.format(name))
    return as_texts(documents, first, name)


def text_portions(X: Any) -> Iterable[list[str]]:
    """Check raw documents, all at once; those of an iterator in portions, while they are read."""
    if _has_length(X):
        return [check_texts(X)]
    if_none = f"{_NO_DOCUMENTS.format('X')} {_READ_BEFORE}: make it anew for each call."
    return _checked_chunks(X, "X", if_none)


def check_texts_without_labels(X: Any) -> Iterator[list[str]]:
    """Check raw documents, and yield lists of them, as of `text_portions`."""
    if_none = NO_UNLABELLED
    if not _has_length(X):
        if_none += f" {_READ_BEFORE}: a Pipeline or a search needs a list."
    return _checked_chunks(X, "X_unlabelled", if_none)


def _checked_chunks(X: Any, name: str, if_none: str) -> Iterator[list[str]]:
    n_documents = 0
    for chunk in _chunks(as_list(X, name) if _has_length(X) else X):
        yield as_texts(chunk, n_documents, name)
        n_documents += len(chunk)
    if n_documents == 0:
        raise ValueError(if_none)


def _has_length(X: Any) -> bool:
    return hasattr(X, "__len__") or hasattr(X, "collect") or not isinstance(X, Iterable)


def _chunks(X: Iterable[Any]) -> Iterator[list[Any]]:
    chunk: list[Any] = []
    n_characters = 0
    for document in X:
        chunk.append(document)
        n_characters += len(document) if isinstance(document, (str, bytes)) else 0
        if len(chunk) == _CHUNK_SIZE or n_characters >= _MOST_CHARACTERS:
            yield chunk
            chunk, n_characters = [], 0
    if chunk:
        yield chunk


def as_texts(documents: list[Any], first: int, name: str, called: str = "") -> list[str]:
    """Return the documents as strings; messages call each `called`, and number from `first`."""
    if set(map(type, documents)) == {str}:  # the usual case, 25,000 documents in a millisecond
        return documents
    called = called or ("Document {}" if name == "X" else f"Document {{}} of {name}")
    return [
        _as_text(document, called.format(i), name)
        for i, document in enumerate(documents, start=first)
    ]


def as_list(X: Any, name: str = "X") -> list[Any]:
    """Return the documents of any container with an order as a list."""
    if isinstance(X, list):
        return X
    of = "" if name == "X" else f"{name}: "
    if isinstance(X, (str, bytes, bytearray)):
        raise ValueError(
            f"{of}Iterable over raw text documents expected, string object received. "
            "Put a single document into a list: [text]."
        )
    if isinstance(X, (Mapping, Set)):
        raise TypeError(
            f"{of}Documents need an order; got {a_kind(X)}. Pass a list, for example "
            f"list({name}{'.values()' if isinstance(X, Mapping) else ''})."
        )
    if hasattr(X, "tocsr") or isinstance(X, DocumentArray):
        raise TypeError(
            f"{of}Raw text documents expected; got {a_kind(X)}, which holds numbers. "
            "Pass the texts from which it was made."
        )
    if hasattr(X, "collect"):  # lazy frames of polars
        raise TypeError(f"{of}Documents expected; got {a_kind(X)}. Call its collect() first.")
    if getattr(X, "ndim", 1) != 1 or hasattr(X, "columns"):
        X = _only_column(X, of)
    # Arrow yields scalar objects when iterated, and pandas and NumPy lists are faster.
    for method in ("to_pylist", "to_list", "tolist"):
        if hasattr(X, method):
            return list(getattr(X, method)())
    if not isinstance(X, Iterable):
        raise TypeError(
            f"{of}Iterable over raw text documents expected; got {X!r} of type {type(X).__name__}. "
            "Pass a list of strings."
        )
    return list(X)


def _only_column(X: Any, of: str) -> Any:
    """Return the single column of a frame (pandas, polars, Arrow) or array."""
    shape = tuple(X.shape)
    if len(shape) != 2 or shape[1] != 1:
        columns = getattr(X, "column_names", getattr(X, "columns", None))
        named = "" if columns is None else f" with the columns {list(map(str, columns))}"
        raise ValueError(
            f"{of}One text a document expected; got {a_kind(X)} of shape {shape}{named}: "
            f"{_ONE_COLUMN}."
        )
    if hasattr(X, "iloc"):  # pandas
        return X.iloc[:, 0]
    if hasattr(X, "to_series"):  # polars
        return X.to_series()
    if hasattr(X, "column"):  # Arrow
        return X.column(0)
    return np.asarray(X)[:, 0]


def _as_text(document: Any, called: str, name: str) -> str:
    if isinstance(document, str):
        return str.__str__(document)  # str() of a member of an Enum is its name
    if isinstance(document, (bytes, bytearray)):
        return _decoded(bytes(document), f"{called[0].lower()}{called[1:]}")
    kind = type(document).__name__
    if is_missing(document):
        raise TypeError(
            f"{called} is missing: {document!r} of type {kind}. Leave it out or make it "
            f"empty, with pandas by {name}.fillna('')."
        )
    repair = f"Convert it with str, or {_ONE_COLUMN}."
    if isinstance(document, Iterable):
        repair = (
            "Join its words with ' '.join(document), or pass word ids with "
            "DocumentArray.from_nested."
        )
    shown = in_one_line(repr(document), 60)
    raise TypeError(f"{called} is {a_kind(document)}, not a string: {shown}. {repair}")


def _decoded(document: bytes, called: str) -> str:
    try:
        return document.decode("utf-8")
    except UnicodeDecodeError as error:
        error.reason += f" ({called}; decode it with its own encoding first)"
        raise


def is_missing(document: Any) -> bool:
    """Return whether a document or label is None, NaN, pandas' NA or NaT."""
    if document is None or type(document).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(document, (float, np.floating)) and bool(np.isnan(document))
