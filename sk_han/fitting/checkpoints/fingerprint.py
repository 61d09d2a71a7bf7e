"""What tells one fit from another: parameters, versions and data, as short strings."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
from numpy.typing import NDArray

import sk_han
from sk_han.documents import DocumentArray
from sk_han.documents.lazy import LazyDocuments
from sk_han.engines.engine_choice import engine_in_use
from sk_han.parts.ngrams.hashing import batches
from sk_han.storage.json_values import to_plain

_PACKAGES = ("numba", "numpy", "scikit-learn", "scipy", "skorch", "torch")
_LONGEST = 1000  # characters of the description of a parameter


def settings_fingerprint(
    params: Mapping[str, Any], device: str, weights: Mapping[str, NDArray[Any]] | None
) -> dict[str, str]:
    """Describe what a fit computes with: parameters, device, weights that it goes on from."""
    weights = weights or {}
    return {
        # verbose changes no number
        **{name: _shortened(described(v)) for name, v in params.items() if name != "verbose"},
        "the device": device,
        "the engine": engine_in_use(),
        "the weights to start from": crc_of(weights[name] for name in sorted(weights)),
        "the version of sk_han": sk_han.__version__,
        **{f"the version of {name}": _version(name) for name in _PACKAGES},
    }


def described(value: Any) -> str:
    """Describe a value the same in every process, and so without its address."""
    try:
        return repr(to_plain(value))
    except TypeError:
        pass
    if isinstance(value, np.ndarray):
        crc = crc_of([value]) if value.dtype != object else ""
        return f"array of {value.dtype}, shape {value.shape}, {crc}"
    if isinstance(value, Mapping):  # vectors of words too
        return "{" + ", ".join(f"{key!r}: {described(each)}" for key, each in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(described, value)) + "]"
    if hasattr(value, "key_to_index"):  # vectors of Gensim
        words = value.key_to_index
        return f"{crc_of_words(words)}, {crc_of(np.asarray(value[word]) for word in words)}"
    named = value if hasattr(value, "__qualname__") else type(value)
    module = getattr(named, "__module__", None) or "builtins"  # str.split has none
    name = f"{module}.{named.__qualname__}"
    # A callback of the user's may count in its parameters, and `StopAfter` goes on for longer.
    if not name.startswith("skorch.callbacks.") or named is value:
        return name
    return f"{name}({described(value.get_params(deep=False))})"


def _shortened(text: str) -> str:
    """Tell a long text by its beginning and a hash; a file of vectors would be told in 30 MB."""
    if len(text) <= _LONGEST:
        return text
    return f"{text[:60]}... {len(text)} {crc_of_words([text])}"


def crc_of_documents(documents: DocumentArray) -> str:
    """Return a checksum of documents, which are read batch by batch."""
    return crc_of(
        array
        for batch in batches(documents)
        for array in (batch.word_ids, batch.words_per_sentence, batch.sentences_per_document)
    )


def crc_of_spelling(documents: DocumentArray) -> str:
    """Return a checksum of how words are written, batch by batch; that of nothing if unknown."""
    crc = ""
    if isinstance(documents, LazyDocuments):
        return crc
    for batch in batches(documents):
        spelling = batch.spelling
        if spelling is not None:
            types, words = spelling
            crc = crc_of_words([crc, *(words[i] if i >= 0 else "" for i in types.tolist())])
    return crc


def crc_of_words(words: Iterable[str]) -> str:
    """Return a checksum of words in their order."""
    crc = 0
    for word in words:
        crc = zlib.crc32(word.encode("utf-8", "surrogatepass") + b"\n", crc)
    return f"{crc:08x}"


def crc_of(arrays: Iterable[NDArray[Any]]) -> str:
    """Return the number of entries and a checksum of arrays."""
    crc, n_entries = 0, 0
    for array in arrays:
        crc = zlib.crc32(np.ascontiguousarray(array).data, crc)
        n_entries += array.size
    return f"{n_entries} {crc:08x}"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
