"""load: check a file of `save` completely, and create the estimator."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.pipeline import Pipeline

from sk_han.classifier import HANClassifier
from sk_han.persistence.archive import read_archive
from sk_han.persistence.fields import fields_of
from sk_han.persistence.format_1 import upgraded
from sk_han.persistence.json_values import from_plain
from sk_han.text.vocabulary import check_vocabulary
from sk_han.tokenizer import HierarchicalTokenizer, check_stored_params, with_named_tokens
from sk_han.utils.compat import validate_parameter_constraints
from sk_han.utils.model_format import ModelFormatError

__all__ = ["load", "restored"]

Arrays = dict[str, NDArray[Any]]

_KINDS = {stat.S_IFIFO: "pipe", stat.S_IFSOCK: "socket"}


def load(path: str | os.PathLike[str]) -> HANClassifier | HierarchicalTokenizer | Pipeline:
    """Load an estimator that `save` wrote. No code is run from the file.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    HANClassifier, HierarchicalTokenizer or Pipeline
        Fitted; on the machine that saved it, its predictions have the same bits. A classifier
        computes on the device it was fitted on, or on the CPU if that is absent.

    Raises
    ------
    ModelFormatError
        If the file is empty, cut off, damaged, no file of `save`, or of a newer format. It is a
        ValueError.
    OSError
        If the file cannot be read, or is a pipe or device; FileNotFoundError if there is none.

    See Also
    --------
    save : Write the file, with an example.

    Notes
    -----
    The SHA-256 in the file detects accidents, not attacks: whoever can change the file can change
    the SHA-256 too. A changed file can cause other predictions, or be slow on texts by a
    `token_pattern` made for that.

    Whatever the file holds, loading takes at most 64 times its size, and 4 MB. A vocabulary takes
    20 times its size in the file, weights 4 times.
    """
    _check_kind(Path(path))
    with open(Path(path), "rb") as file:
        try:
            return restored(*read_archive(file))
        except (ValueError, TypeError, OverflowError) as error:
            reason = _shortened(str(error).rstrip("."))
            raise ModelFormatError(f"{path} cannot be loaded: {reason}.") from error
        except RecursionError as error:
            raise ModelFormatError(f"{path} cannot be loaded: it is nested too deeply.") from error


def _check_kind(path: Path) -> None:
    """Refuse what is no file: to open a pipe would wait for someone who writes to it."""
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):  # open() has a good error for folders
        raise OSError(
            f"{path} is a {_KINDS.get(stat.S_IFMT(mode), 'device')}; give the name of a file. What "
            "comes through a pipe must be written to a file first."
        )


def _shortened(message: str) -> str:
    """Cut the middle out of a message that shows a value as long as the file."""
    return message if len(message) <= 1000 else f"{message[:700]} ... {message[-200:]}"


def restored(version: int, description: Any, arrays: Arrays) -> Any:
    """Create the estimator that a file describes.

    Raises
    ------
    ValueError, TypeError, OverflowError, RecursionError
        If the file does not describe a valid estimator of sk_han.
    """
    model = fields_of(description, "the description", ["versions", "model"])["model"]
    if version == 1:
        model = upgraded(model, arrays)
    if isinstance(model, dict) and model.get("class") == "Pipeline":
        estimator = _pipeline(model, arrays)
    else:
        estimator = _estimator(model, arrays)
    if arrays:
        raise ValueError(f"it has arrays that its model does not name: {sorted(arrays)}")
    return estimator


def _pipeline(model: dict[str, Any], arrays: Arrays) -> Pipeline:
    fields = fields_of(model, "the Pipeline", ["class", "params", "steps"])
    match fields["steps"]:
        case [[str(first), {} as tokenizer], [str(last), {} as classifier]] if first != last:
            steps = [
                (first, _estimator(tokenizer, arrays, only="HierarchicalTokenizer")),
                (last, _estimator(classifier, arrays, only="HANClassifier")),
            ]
        case _:
            raise ValueError("the Pipeline has other steps than a tokenizer and a classifier")
    names = ["transform_input", "verbose"]
    params = fields_of(fields["params"], "the Pipeline's params", [], names)
    return _made(Pipeline, {name: from_plain(value) for name, value in params.items()}, steps=steps)


def _estimator(data: Any, arrays: Arrays, *, only: str | None = None) -> Any:
    """Return a fitted tokenizer or classifier."""
    name = data.get("class") if isinstance(data, dict) else None
    if only not in (None, name):
        raise ValueError(f"it has {name!r} where a {only} should be")
    if name == "HierarchicalTokenizer":
        return _tokenizer(data)
    if name == "HANClassifier":
        return _classifier(data, arrays)
    raise ValueError(f"it holds a model of the class {name!r}, which sk_han.save does not write")


def _unfitted(cls: Any, data: Any, arrays: Arrays) -> Any:
    """Return an estimator with its parameters, checked by its own constraints."""
    name = cls.__name__
    known = cls._parameter_constraints
    stored = fields_of(data["params"], f"params of the {name}", [], known)
    params = {key: _parameter(key, value, arrays) for key, value in stored.items()}
    if cls is HierarchicalTokenizer:
        params = with_named_tokens(params)
    return _made(cls, cls().get_params(deep=False) | params)


def _made(cls: Any, params: dict[str, Any], **others: Any) -> Any:
    validate_parameter_constraints(cls._parameter_constraints, params, caller_name=cls.__name__)
    return cls(**params, **others)


def _parameter(name: str, value: Any, arrays: Arrays) -> Any:
    match value:
        case {"class": "HierarchicalTokenizer"} if name == "tokenizer":
            fields = fields_of(value, "the parameter tokenizer", ["class", "params"])
            return _unfitted(HierarchicalTokenizer, fields, arrays)
        case {"array": "embedding_init"} if name == "embedding_init":
            vectors = _taken(arrays, name)
            if vectors.dtype.kind not in "iuf":
                raise ValueError(f"the array {name!r} holds {vectors.dtype}, which are no numbers")
            return vectors.copy()  # writable, as the saved one
    return from_plain(value)


def _tokenizer(data: Any) -> HierarchicalTokenizer:
    fields = fields_of(data, "the tokenizer", ["class", "params", "fitted"])
    fitted = fields_of(fields["fitted"], "the fitted tokenizer", ["vocabulary"])
    vocabulary = from_plain(fitted["vocabulary"])
    if not isinstance(vocabulary, dict):
        raise ValueError("the tokenizer's vocabulary is no dict")
    tokenizer: HierarchicalTokenizer = _unfitted(HierarchicalTokenizer, fields, {})
    check_stored_params(tokenizer)
    tokenizer.vocabulary_ = check_vocabulary(vocabulary)
    return tokenizer


def _classifier(data: Any, arrays: Arrays) -> HANClassifier:
    fields = fields_of(data, "the classifier", ["class", "params", "requests", "fitted"])
    classifier: HANClassifier = _unfitted(HANClassifier, fields, arrays)
    _request(classifier, from_plain(fields["requests"]))
    if not isinstance(fields["fitted"], dict):
        raise ValueError("its fitted state is no object")
    state = {name: _decoded(value, arrays) for name, value in fields["fitted"].items()}
    return classifier.from_state(state)


def _decoded(data: Any, arrays: Arrays) -> Any:
    """Return the value in a fitted state that `data` describes."""
    match data:
        case {"state": dict(values)} if len(data) == 1:
            return {name: _decoded(value, arrays) for name, value in values.items()}
        case {"array": str(name)} if len(data) == 1:
            return _taken(arrays, name)
        case {"labels": list(labels)} if len(data) == 1:
            array = np.empty(len(labels), dtype=object)
            array[:] = from_plain(labels)
            return array
        case {"class": "HierarchicalTokenizer"}:
            return _tokenizer(data)
    return from_plain(data)


def _request(classifier: HANClassifier, requests: Any) -> None:
    """Set the metadata requests of `set_fit_request` and similar methods."""
    fields_of(requests, "the metadata requests", [], ["fit", "partial_fit", "score"])
    with config_context(enable_metadata_routing=True):
        for method, requested in requests.items():
            fields_of(requested, f"the requests of {method}", [], requested)
            if requested:
                getattr(classifier, f"set_{method}_request")(**requested)


def _taken(arrays: Arrays, name: str) -> NDArray[Any]:
    if name not in arrays:
        raise ValueError(f"it lacks the entry {name + '.npy'!r}")
    return arrays.pop(name)
