"""load: check a file of `save` completely, and create the estimator."""

from __future__ import annotations

import os
from typing import Any

from sklearn import config_context
from sklearn.pipeline import Pipeline

from sk_han.persistence.estimators import ESTIMATORS, Saved
from sk_han.storage.archive import read_archive
from sk_han.storage.decoding import (
    Arrays,
    classifier_fields,
    fitted_state,
    model_of,
    steps_of,
    taken,
)
from sk_han.storage.fields import fields_of
from sk_han.storage.json_values import from_plain
from sk_han.storage.opening import model_file
from sk_han.text.reading_params import check_reading
from sk_han.text.tokenizer_state import tokenizer_fields
from sk_han.tokenizer import HierarchicalTokenizer
from sk_han.utils.compat import validate_parameter_constraints

__all__ = ["load", "restored"]


def load(path: str | os.PathLike[str]) -> Saved | Pipeline:
    """Load an estimator that `save` wrote. No code is run from the file.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    HANClassifier, HierarchicalTokenizer, Pipeline, SequenceTagger or AttentionTranslator
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
    with model_file(path) as file:
        return restored(*read_archive(file))


def restored(description: Any, arrays: Arrays) -> Any:
    """Create the estimator that a file describes.

    Raises
    ------
    ValueError, TypeError, OverflowError, RecursionError
        If the file does not describe a valid estimator of sk_han.
    """
    model = model_of(description)
    if isinstance(model, dict) and model.get("class") == "Pipeline":
        estimator = _pipeline(model, arrays)
    else:
        estimator = _estimator(model, arrays)
    if arrays:
        raise ValueError(f"it has arrays that its model does not name: {sorted(arrays)}")
    return estimator


def _pipeline(model: dict[str, Any], arrays: Arrays) -> Pipeline:
    (first, tokenizer), (last, classifier) = steps_of(model)
    steps = [
        (first, _estimator(tokenizer, arrays, only="HierarchicalTokenizer")),
        (last, _estimator(classifier, arrays, only="HANClassifier")),
    ]
    names = ["transform_input", "verbose"]
    params = fields_of(model["params"], "the Pipeline's params", [], names)
    return _made(Pipeline, {name: from_plain(value) for name, value in params.items()}, steps=steps)


def _estimator(data: Any, arrays: Arrays, *, only: str | None = None) -> Any:
    """Return one of `ESTIMATORS`, fitted."""
    name = data.get("class") if isinstance(data, dict) else None
    if only not in (None, name):
        raise ValueError(f"it has {name!r} where a {only} should be")
    if name == "HierarchicalTokenizer":
        return _tokenizer(data)
    if isinstance(name, str) and name in ESTIMATORS:
        return _with_state(ESTIMATORS[name], data, arrays)
    raise ValueError(f"it holds a model of the class {name!r}, which sk_han.save does not write")


def _unfitted(cls: Any, data: Any, arrays: Arrays) -> Any:
    """Return an estimator with its parameters, checked by its own constraints."""
    name = cls.__name__
    known = cls._parameter_constraints
    stored = fields_of(data["params"], f"params of the {name}", [], known)
    params = {key: _parameter(key, value, arrays) for key, value in stored.items()}
    return _made(cls, cls().get_params(deep=False) | params)


def _made(cls: Any, params: dict[str, Any], **others: Any) -> Any:
    validate_parameter_constraints(cls._parameter_constraints, params, caller_name=cls.__name__)
    return cls(**params, **others)


def _parameter(name: str, value: Any, arrays: Arrays) -> Any:
    match value:
        case {"class": "HierarchicalTokenizer"} if name.endswith("tokenizer"):
            fields = fields_of(value, f"the parameter {name}", ["class", "params"])
            return _unfitted(HierarchicalTokenizer, fields, arrays)
        case {"array": "embedding_init"} if name == "embedding_init":
            vectors = taken(arrays, name)
            if vectors.dtype.kind not in "iuf":
                raise ValueError(f"the array {name!r} holds {vectors.dtype}, which are no numbers")
            return vectors.copy()  # writable, as the saved one
    return from_plain(value)


def _tokenizer(data: Any) -> HierarchicalTokenizer:
    fields, vocabulary, _ = tokenizer_fields(data)
    tokenizer: HierarchicalTokenizer = _unfitted(HierarchicalTokenizer, fields, {})
    check_reading(tokenizer.get_params(deep=False))
    tokenizer.vocabulary_ = vocabulary
    return tokenizer


def _with_state(cls: Any, data: Any, arrays: Arrays) -> Any:
    """Return an estimator whose fitted state is that of its `to_state`."""
    fields = classifier_fields(data)
    estimator = _unfitted(cls, fields, arrays)
    _request(estimator, from_plain(fields["requests"]))
    return estimator.from_state(fitted_state(fields, arrays, _tokenizer))


def _request(estimator: Any, requests: Any) -> None:
    """Set the metadata requests of `set_fit_request` and similar methods."""
    methods = [m for m in ("fit", "partial_fit", "score") if hasattr(estimator, m)]
    fields_of(requests, "the metadata requests", [], methods)
    with config_context(enable_metadata_routing=True):
        for method, requested in requests.items():
            fields_of(requested, f"the requests of {method}", [], requested)
            if requested:
                getattr(estimator, f"set_{method}_request")(**requested)
