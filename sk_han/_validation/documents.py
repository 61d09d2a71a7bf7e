"""Checks and conversions of the user's documents, which are raw texts or word ids."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sk_han._documents import (
    PADDING_ID,
    UNKNOWN_ID,
    DocumentArray,
    EncoderIdentity,
    SentenceArray,
)
from sk_han._documents.sentences import check_same_encoder
from sk_han._utils.containers import listed, plain_label
from sk_han._utils.messages import a_kind, agreeing, in_one_line, plural, warn_user

# An iterator is read in portions of at most so many documents, which are in memory at once, and of
# about so many characters: the document that exceeds the limit still belongs to the portion.
_PORTION_SIZE = 10_000
_MAX_CHARACTERS = 1 << 25

_NO_DOCUMENTS = "Found 0 sample(s) while a minimum of 1 is required: {} has no documents."
_READ_BEFORE = "An iterator that was read before has none left"
_NO_UNLABELLED = "X_unlabelled has no documents; leave it out if there are none."

WRITTEN_MISSING = {"nan", "NaN", "None", "<NA>"}
_ONE_COLUMN = "pass the column that holds the text, for example df['text']"
# With the default embedding_dim, the vectors of so many words and their moments take 20 GB.
_MANY_IDS = 1 << 23
# `warn_of_features` examines between 20 and 2,000 rows, and tolerates padding between the words of
# 10 % of the rows that have words.
_FEWEST_ROWS, _MOST_ROWS, _MOST_GAPS = 20, 2000, 0.1


def holds_word_ids(X: Any) -> bool:
    """Return whether X is a DocumentArray or an array of integers, and not raw text."""
    return isinstance(X, DocumentArray) or (
        hasattr(X, "dtype") and getattr(X, "ndim", 0) in (2, 3) and np.asarray(X).dtype.kind in "iu"
    )


def check_documents(
    X: Any, name: str = "X"
) -> DocumentArray | NDArray[np.integer[Any]] | list[str]:
    """Check that X is not empty and return it; raw texts become a list, which has a length."""
    if not holds_word_ids(X):
        return check_texts(X, name=name)
    if len(X) == 0:
        raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required.")
    return X


def as_documents(X: Any, tokenizer: Any, columns: NDArray[np.int32] | None = None) -> DocumentArray:
    """Convert X, word ids or D raw texts for a fitted tokenizer, to documents (D,).

    `columns` are the other columns of the table that holds the texts; see `DocumentArray.columns`.
    """
    if not holds_word_ids(X):
        if tokenizer is None:
            raise TypeError(
                f"X is {a_kind(X)}, but this HANClassifier was fitted on word ids or on sentence "
                "vectors. Give it the output of the same tokenizer, or fit it on raw text."
            )
        documents: DocumentArray = tokenizer.transform_ragged(X)
        documents.columns = columns
        return documents
    if len(X) == 0:
        raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required.")
    return X if isinstance(X, DocumentArray) else DocumentArray.from_padded(X)


def check_sentence_vectors(
    X: Any, dimension: int, encoder: EncoderIdentity | None, name: str = "X"
) -> None:
    """Check that documents have sentence vectors of the encoder and dimension of the fit."""
    if not isinstance(X, SentenceArray):
        source = "" if encoder is None else f" from {encoder.name}"
        pipeline = "put both in a Pipeline"
        # A Pipeline transforms X alone, and passes other arguments through.
        if name != "X":
            pipeline = f"enable metadata routing and Pipeline(..., transform_input=[{name!r}])"
        raise TypeError(
            f"{name} is {a_kind(X)}, but this HANClassifier reads sentence vectors{source}. Give "
            f"it a SentenceArray of its SentenceEmbedder, or {pipeline}."
        )
    check_same_encoder(encoder, dimension, X, "the training documents")


def check_validation(X_val: Any, y_val: Any, X: Any, has_ids: bool) -> Any:
    """Check validation documents by themselves and against X; return them, or None without any.

    `has_ids` is whether the words of raw texts have ids before the fit, from a fitted tokenizer.
    """
    if (X_val is None) != (y_val is None):
        raise ValueError("X_val and y_val go together: give both or neither.")
    if X_val is None:
        return None
    X_val = check_documents(X_val, "X_val")
    if isinstance(X, SentenceArray):
        check_sentence_vectors(X_val, X.dimension, X.encoder, "X_val")
    if holds_word_ids(X_val) and not holds_word_ids(X) and not has_ids:
        raise TypeError(
            f"X_val is {a_kind(X_val)} of word ids, but X holds texts, whose words get ids in this "
            "fit. Give X_val as texts too."
        )
    return X_val


def check_word_ids(X: Any, name: str, request: str) -> None:
    """Raise a TypeError if an argument holds texts while X holds word ids.

    `request` is the argument of `set_fit_request` that the message advises.
    """
    if not holds_word_ids(X):
        raise TypeError(
            f"{name} is {a_kind(X)}, but X holds word ids. For a Pipeline to tokenize both, enable "
            f"metadata routing, Pipeline(..., transform_input=[{name!r}]) and "
            f"set_fit_request({request})."
        )


def check_unlabelled(X_unlabelled: Any, X: Any) -> None:
    """Check texts without labels; those of an iterator are checked while it is read."""
    if X_unlabelled is None:
        return
    if holds_word_ids(X):
        check_word_ids(X_unlabelled, "X_unlabelled", "X_unlabelled=True")
        if len(X_unlabelled) == 0:
            raise ValueError(_NO_UNLABELLED)
    elif holds_word_ids(X_unlabelled):
        raise TypeError(
            f"X_unlabelled is {a_kind(X_unlabelled)} of word ids, but X holds texts. Give "
            "texts without labels as texts too."
        )
    elif hasattr(X_unlabelled, "__len__"):
        # Exhausting the portions checks each text.
        deque(text_portions(X_unlabelled, "X_unlabelled"), maxlen=0)


def count_word_ids(
    documents: DocumentArray, unlabelled: DocumentArray | None, tokenizer: Any, vectors: Any
) -> int:
    """Return the highest word id of documents, tokenizer and vectors plus 1."""
    if tokenizer is not None:
        return max(tokenizer.vocabulary_.values()) + 1
    # The last words of the user's vectors may not occur in training.
    highest = [len(vectors) - 1 if isinstance(vectors, np.ndarray) else 0]
    for array in (documents, unlabelled):
        if array is not None:
            highest.append(int(array.word_ids.max(initial=UNKNOWN_ID)))
    size = max(highest) + 1
    if size > _MANY_IDS:
        warn_user(
            f"The highest word id is {size - 1:,}, and the network learns a vector for each id up "
            "to it. Number the words from 2 on without gaps, for example by np.unique."
        )
    return size


def replace_unknown_ids(documents: DocumentArray, vocabulary_size: int) -> DocumentArray:
    """Replace word ids beyond the vocabulary by the id of the unknown word."""
    beyond = documents.word_ids >= vocabulary_size
    if not beyond.any():
        return documents
    replaced = documents.with_word_ids(np.where(beyond, UNKNOWN_ID, documents.word_ids))
    # Character n-grams are read from the spelling, which an unknown word keeps.
    replaced.spelling = documents.spelling
    return replaced


def warn_of_features(X: Any) -> None:
    """Warn if an array of integers, (D, S, W) or (D, W), looks like features, not like word ids."""
    if not isinstance(X, np.ndarray) or len(X) < _FEWEST_ROWS or X.shape[-1] < 2:
        return
    rows = X[:_MOST_ROWS].reshape(-1, X.shape[-1])
    real = rows != PADDING_ID
    # Padded rows have one run of words and at most one of padding, at either end.
    n_changes = (np.diff(real, axis=1) != 0).sum(axis=1)
    at_one_end = (n_changes == 0) | ((n_changes == 1) & (real[:, 0] | real[:, -1]))
    if real.any() and rows.max() <= UNKNOWN_ID:
        sign = "it holds 0 (padding) and 1 (the unknown word) alone"
    elif (~at_one_end).sum() > _MOST_GAPS * real.any(axis=1).sum():
        sign = "0, which is padding, stands among the other numbers, not at an end of the rows"
    else:
        return
    warn_user(
        f"X of shape {X.shape} is read as documents of word ids, but looks like a table of "
        f"features: {sign}. Use another classifier for tables, since HANClassifier reads a number "
        "as the name of a word; for word ids, give DocumentArray.from_padded(X)."
    )


def row_names(X: Any) -> Callable[[int], str]:
    """Return a function that names a row by its position, or by its entry in a named index."""
    index: Any = getattr(X, "index", None)
    if getattr(index, "name", None) is None:
        return "row {}".format
    return lambda i: f"{index.name} {index[i]}"


def warn_of_no_words(names: Sequence[str], n_documents: int) -> None:
    """Warn of training documents without words; `names` are the names of their rows."""
    if names:
        warn_user(
            f"{len(names):,} of {plural(n_documents)} {agreeing(len(names), 'have')} no words, in "
            f"{listed(names, 10, str)}: their labels will be predicted for all blank texts. Leave "
            "them out, or fill them in."
        )


def warn_of_missing(X: Any) -> None:
    """Warn of texts such as "nan", which pandas' astype(str) makes of missing values."""
    texts = X if isinstance(X, list) else ()
    missing = [text.strip() for text in texts if text.strip() in WRITTEN_MISSING]
    if missing:
        warn_user(
            f"{len(missing):,} of {plural(len(texts), 'text')} {agreeing(len(missing), 'are')} "
            f"{listed([*dict.fromkeys(missing)])}, probably missing values: leave them out."
        )


def check_texts(
    X: Any, *, name: str = "X", first: int = 0, called: Callable[[int], str] | None = None
) -> list[str]:
    """Convert raw documents of any container to a list of strings; a list of strings is X itself.

    Messages number documents from `first` and name the argument if it is not X; `called` replaces
    these names of documents.
    """
    documents = X if isinstance(X, list) else as_list(X, name)
    if not documents:
        raise ValueError(_NO_DOCUMENTS.format(name))
    # This fast check of the usual case takes a millisecond for 25,000 documents.
    if set(map(type, documents)) == {str}:
        return documents
    if called is None:
        # A query to a database returns rows of one column.
        documents = [plain_label(document) for document in documents]
        called = ("Document {}" if name == "X" else f"Document {{}} of {name}").format
    return [
        _as_text(document, called(i), name) for i, document in enumerate(documents, start=first)
    ]


def text_portions(X: Any, name: str = "X") -> Iterable[list[str]]:
    """Check raw documents and return them in portions; an iterator is read portion by portion.

    An X with a length is checked at once and is one portion. Texts without labels always come in
    portions, since only the vocabulary is learnt from them.
    """
    is_iterator = (
        isinstance(X, Iterable) and not hasattr(X, "__len__") and not hasattr(X, "collect")
    )
    if is_iterator or name != "X":
        return _portions(X, name, is_iterator)
    return [check_texts(X)]


def _portions(X: Any, name: str, is_iterator: bool) -> Iterator[list[str]]:
    portion: list[Any] = []
    n_read, n_characters = 0, 0
    for document in X if is_iterator else as_list(X, name):
        portion.append(document)
        n_characters += len(document) if isinstance(document, (str, bytes)) else 0
        if len(portion) == _PORTION_SIZE or n_characters >= _MAX_CHARACTERS:
            yield check_texts(portion, name=name, first=n_read)
            n_read += len(portion)
            portion, n_characters = [], 0
    if portion:
        yield check_texts(portion, name=name, first=n_read)
    elif n_read == 0 and name == "X":
        none = _NO_DOCUMENTS.format(name)
        raise ValueError(f"{none} {_READ_BEFORE}: create it for each call.")
    elif n_read == 0:
        if_read = f" {_READ_BEFORE}: a Pipeline or a search needs a list." if is_iterator else ""
        raise ValueError(f"{_NO_UNLABELLED}{if_read}")


def as_list(X: Any, name: str = "X") -> list[Any]:
    """Convert a column of any ordered container to a list; messages speak of documents."""
    if isinstance(X, list):
        return X
    of = "" if name == "X" else f"{name}: "
    if isinstance(X, (str, bytes, bytearray)) or getattr(X, "shape", None) == ():
        raise ValueError(
            f"{of}Iterable over raw text documents expected, string object received. "
            "Put a single document into a list: [text]. Files are read by sk_han.datasets.load_csv."
        )
    if isinstance(X, (Mapping, Set)):
        raise TypeError(
            f"{of}Documents need an order; got {a_kind(X)}. Pass a list, for example "
            f"list({name}{'.values()' if isinstance(X, Mapping) else ''})."
        )
    if isinstance(X, tuple) and len(X) == 2 and all(isinstance(x, (list, np.ndarray)) for x in X):
        raise TypeError(
            f"{of}Texts expected; got a pair, such as load_csv returns. Unpack it: texts, labels = "
            "load_csv(...)."
        )
    if hasattr(X, "tocsr") or isinstance(X, DocumentArray):
        raise TypeError(
            f"{of}Raw text documents expected; got {a_kind(X)}, which holds numbers. Pass the "
            "texts that it was made from."
        )
    kind = a_kind(X)
    if not isinstance(X, (tuple, np.ndarray)):
        import narwhals.stable.v2 as nw

        X = nw.from_native(X, allow_series=True, pass_through=True)
        if isinstance(X, nw.LazyFrame):
            raise TypeError(f"{of}Documents expected; got {kind}. Call its collect() first.")
    shape = tuple(getattr(X, "shape", (1,)))
    if len(shape) == 2 and shape[1] == 1:
        X = X[:, 0]
    elif len(shape) != 1:
        columns = getattr(X, "columns", None)
        named = "" if columns is None else f" with the columns {list(map(str, columns))}"
        raise ValueError(
            f"{of}One text a document expected; got {kind} of shape {shape}{named}: {_ONE_COLUMN}."
        )
    # These methods are faster than iterating, and convert items to Python's types.
    for method in ("to_list", "tolist"):
        if hasattr(X, method):
            return list(getattr(X, method)())
    if not isinstance(X, Iterable):
        raise TypeError(
            f"{of}Iterable over raw text documents expected; got {X!r} of type {type(X).__name__}. "
            "Pass a list of strings."
        )
    return list(X)


def _as_text(document: Any, called: str, name: str) -> str:
    if isinstance(document, str):
        # str() of a member of an Enum would return its name, not its value.
        return str.__str__(document)
    if isinstance(document, (bytes, bytearray, memoryview)):
        return _decode(bytes(document), f"{called[0].lower()}{called[1:]}")
    kind = type(document).__name__
    if is_missing(document):
        raise TypeError(
            f"{called} is missing: {document!r} of type {kind}. Leave it out or make it "
            f"empty, with pandas by {name}.fillna('')."
        )
    repair = f"Convert it with str, or {_ONE_COLUMN}."
    if isinstance(document, Mapping):
        repair = f"Take the text out of each, for example [row['text'] for row in {name}]."
    elif isinstance(document, Iterable):
        repair = (
            "Join its words with ' '.join(document), or pass word ids with "
            "DocumentArray.from_nested."
        )
    shown = in_one_line(repr(document), 60)
    raise TypeError(f"{called} is {a_kind(document)}, not a string: {shown}. {repair}")


def _decode(document: bytes, called: str) -> str:
    try:
        return document.decode("utf-8")
    except UnicodeDecodeError as error:
        error.reason += f" ({called}; decode it with its own encoding first)"
        raise


def is_missing(value: Any) -> bool:
    """Return whether a value is None, NaN, pandas' NA, or NaT."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, (float, np.floating, Decimal, np.datetime64)) and bool(value != value)
