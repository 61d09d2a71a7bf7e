"""What tells one fit from another: parameters, versions and data, as short strings."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import sk_han
from sk_han.documents import DocumentArray
from sk_han.engines.loading import engine_in_use
from sk_han.parts.ngrams.hashing import batches
from sk_han.storage.json_values import to_plain

if TYPE_CHECKING:
    from sk_han.classifier import HANClassifier
    from sk_han.fit_data import FitData

__all__ = ["data_fingerprint", "settings_fingerprint"]

_PACKAGES = ("numba", "numpy", "scikit-learn", "scipy", "skorch", "torch")
_LONGEST = 1000  # characters of the description of a parameter


def settings_fingerprint(classifier: HANClassifier, device: str, resume: bool) -> dict[str, str]:
    """Describe what a fit computes with.

    Parameters
    ----------
    classifier : HANClassifier
    device : str
        That computes.
    resume : bool
        Whether the fit goes on from fitted weights, which then belong to it.

    Returns
    -------
    dict of str to str
    """
    params = classifier.get_params(deep=True)
    del params["verbose"]  # changes no number
    weights = classifier.net_.weights if resume else {}
    return {
        **{name: _shortened(_described(value)) for name, value in params.items()},
        "the device": device,
        "the engine": engine_in_use(),
        "the weights to start from": _crc(weights[name] for name in sorted(weights)),
        "the version of sk_han": sk_han.__version__,
        **{f"the version of {name}": _version(name) for name in _PACKAGES},
    }


def data_fingerprint(given: FitData) -> dict[str, str]:
    """Describe what a fit learns from; documents are read batch by batch.

    Returns
    -------
    dict of str to str
    """
    validation = given.given_validation
    words = () if given.tokenizer is None else given.tokenizer.vocabulary_
    return {
        "the documents": _crc_of_documents(given.data.documents),
        "the vocabulary": f"{given.vocabulary_size} {_crc_of_words(words)}",
        "the classes": _described(given.classes.tolist()),
        "the labels": _crc([given.data.targets]),
        "the weights of documents": _crc([given.data.weights]),
        "X_val": "" if validation is None else _crc_of_documents(validation.documents),
        "y_val": "" if validation is None else _crc([validation.targets]),
        "X_unlabelled": "" if given.unlabelled is None else _crc_of_documents(given.unlabelled),
    }


def _described(value: Any) -> str:
    """Describe a value the same in every process, and so without its address."""
    try:
        return repr(to_plain(value))
    except TypeError:
        pass
    if isinstance(value, np.ndarray):
        crc = _crc([value]) if value.dtype != object else ""
        return f"array of {value.dtype}, shape {value.shape}, {crc}"
    if isinstance(value, Mapping):  # vectors of words too
        return "{" + ", ".join(f"{key!r}: {_described(each)}" for key, each in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_described, value)) + "]"
    named = value if hasattr(value, "__qualname__") else type(value)
    module = getattr(named, "__module__", None) or "builtins"  # str.split has none
    return f"{module}.{named.__qualname__}"


def _shortened(text: str) -> str:
    """Tell a long text by its beginning and a hash; a file of vectors would be told in 30 MB."""
    if len(text) <= _LONGEST:
        return text
    return f"{text[:60]}... {len(text)} {_crc_of_words([text])}"


def _crc_of_documents(documents: DocumentArray) -> str:
    return _crc(
        array
        for batch in batches(documents)
        for array in (batch.word_ids, batch.words_per_sentence, batch.sentences_per_document)
    )


def _crc_of_words(words: Iterable[str]) -> str:
    crc = 0
    for word in words:
        crc = zlib.crc32(word.encode("utf-8", "surrogatepass") + b"\n", crc)
    return f"{crc:08x}"


def _crc(arrays: Iterable[NDArray[Any]]) -> str:
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
