"""load: check a file of `save` completely, and create the estimator."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn import config_context
from sklearn.pipeline import Pipeline

import sk_han
from sk_han.classifier import HANClassifier
from sk_han.serving.stored_classifier import check_all_taken, pipeline_params, stored_classifier
from sk_han.storage.decoding import (
    classifier_fields,
    fields_of,
    fitted_state,
    model_of,
    steps_of,
)
from sk_han.storage.json_values import from_plain
from sk_han.storage.model_file import Arrays, model_file, read_model
from sk_han.text.tokenizer_state import stored_tokenizer, tokenizer_params
from sk_han.tokenizer import HierarchicalTokenizer
from sk_han.utils.compat import validate_parameter_constraints

if TYPE_CHECKING:
    from sk_han.sentence_vectors import SentenceEmbedder
    from sk_han.tagging import SequenceTagger
    from sk_han.translation import AttentionTranslator

    Saved = (
        HANClassifier
        | HierarchicalTokenizer
        | SentenceEmbedder
        | SequenceTagger
        | AttentionTranslator
    )

# Names in `sk_han`, which loads each of them on first use.
ESTIMATORS = (
    "HANClassifier",
    "HierarchicalTokenizer",
    "SentenceEmbedder",
    "SequenceTagger",
    "AttentionTranslator",
)
_OF_EMBEDDER = ("tokenizer", "batch_size", "random_state", "verbose")


def load(path: str | os.PathLike[str], *, encoder: Any = None) -> Saved | Pipeline:
    """Load an estimator that `save` wrote. No code is run from the file.

    Parameters
    ----------
    path : str or path-like
    encoder : object, default=None
        The encoder that a `SentenceEmbedder` in the file was given, such as a
        ``SentenceTransformer``: no file holds it. Its vectors of three sentences must be those that
        it gave before.

    Returns
    -------
    HANClassifier, HierarchicalTokenizer, SentenceEmbedder, Pipeline, SequenceTagger or \
            AttentionTranslator
        Fitted; on the machine that saved it, its predictions have the same bits. A classifier
        computes on the device it was fitted on, or on the CPU if that is absent.

    Raises
    ------
    ModelFormatError
        If the file is empty, cut off, damaged, no file of `save`, or of a newer format; if it needs
        another encoder, or none. It is a ValueError.
    OSError
        If the file cannot be read, or is a pipe or device; FileNotFoundError if there is none.

    See Also
    --------
    save : Write the file, with an example.

    Notes
    -----
    The SHA-256 in the file detects accidents, not attacks: whoever changes the file can change it
    too, and cause other predictions, or slow ones by a `token_pattern` made for that. Whatever the
    file holds, loading takes at most 64 times its size, and 4 MB.
    """
    with model_file(path) as file:
        return restored(*read_model(file), encoder)


def restored(description: Any, arrays: Arrays, encoder: Any) -> Any:
    """Create the estimator that a file describes; errors are those of `model_file`."""
    model = model_of(description)
    is_pipeline = isinstance(model, dict) and model.get("class") == "Pipeline"
    first = steps_of(model)[0][1] if is_pipeline else model
    if isinstance(first, dict) and first.get("class") == "SentenceEmbedder":
        embedder = _embedder(first, arrays, encoder)
        estimator = _pipeline(model, arrays, embedder) if is_pipeline else embedder
    elif encoder is not None:
        raise ValueError("it holds no SentenceEmbedder, and takes no encoder")
    else:
        estimator = _pipeline(model, arrays) if is_pipeline else _estimator(model, arrays)
    check_all_taken(arrays)
    return estimator


def _pipeline(
    model: dict[str, Any], arrays: Arrays, embedder: SentenceEmbedder | None = None
) -> Pipeline:
    (first, tokenizer), (last, classifier) = steps_of(model)
    params = pipeline_params(model)
    steps = [
        (first, embedder or _estimator(tokenizer, arrays, only="HierarchicalTokenizer")),
        (last, _estimator(classifier, arrays, only="HANClassifier")),
    ]
    return _made(Pipeline, params, steps=steps)


def _embedder(data: Any, arrays: Arrays, encoder: Any) -> SentenceEmbedder:
    from sk_han.sentence_vectors.embedder import restore  # imports scikit-learn's decompositions

    fields = fields_of(data, "the SentenceEmbedder", ["class", "params", "fitted"])
    stored = fields_of(fields["params"], "params of the SentenceEmbedder", [], _OF_EMBEDDER)
    params = {name: _parameter(name, value) for name, value in stored.items()}
    embedder: SentenceEmbedder = _with_params(sk_han.SentenceEmbedder, params)
    fields_of(fields["fitted"], "the state of the SentenceEmbedder", ["embedder"])
    restore(embedder, fitted_state(fields, arrays, _tokenizer)["embedder"], encoder)
    return embedder


def _estimator(data: Any, arrays: Arrays, *, only: str | None = None) -> Any:
    """Return one of `ESTIMATORS`, fitted."""
    name = data.get("class") if isinstance(data, dict) else None
    if only not in (None, name):
        raise ValueError(f"it has {name!r} where a {only} should be")
    if name == "HierarchicalTokenizer":
        return _tokenizer(data, arrays)
    if name == "HANClassifier":
        return _classifier(data, arrays)
    if isinstance(name, str) and name in ESTIMATORS:
        return _sibling(getattr(sk_han, name), data, arrays)
    raise ValueError(f"it holds a model of the class {name!r}, which sk_han.save does not write")


def _made(cls: Any, params: dict[str, Any], **others: Any) -> Any:
    validate_parameter_constraints(cls._parameter_constraints, params, caller_name=cls.__name__)
    return cls(**params, **others)


def _tokenizer(data: Any, arrays: Arrays) -> HierarchicalTokenizer:
    stored = stored_tokenizer(data, arrays)
    tokenizer = _with_params(HierarchicalTokenizer, stored.params)
    tokenizer.vocabulary_ = stored.vocabulary
    return tokenizer


def _classifier(data: Any, arrays: Arrays) -> HANClassifier:
    stored = stored_classifier(data, arrays, _tokenizer)
    params = dict(stored.params)
    if isinstance(params.get("tokenizer"), dict):
        params["tokenizer"] = _with_params(HierarchicalTokenizer, params["tokenizer"])
    if isinstance(params.get("embedding_init"), np.ndarray):
        params["embedding_init"] = params["embedding_init"].copy()  # writable, as the saved one
    classifier = _with_params(HANClassifier, params)
    _request(classifier, stored.requests)
    return classifier.from_state(stored.state)


def _sibling(cls: Any, data: Any, arrays: Arrays) -> Any:
    """Return an estimator whose parameters are checked by its own constraints alone."""
    fields = classifier_fields(data)
    known = cls._parameter_constraints
    stored = fields_of(fields["params"], f"params of the {cls.__name__}", [], known)
    estimator = _with_params(cls, {key: _parameter(key, value) for key, value in stored.items()})
    _request(estimator, from_plain(fields["requests"]))
    return estimator.from_state(fitted_state(fields, arrays, _tokenizer))


def _parameter(name: str, value: Any) -> Any:
    match value:
        case {"class": "HierarchicalTokenizer"} if name.endswith("tokenizer"):
            fields = fields_of(value, f"the parameter {name}", ["class", "params"])
            params = tokenizer_params(fields["params"], f"params.{name}")
            return _with_params(HierarchicalTokenizer, params)
    return from_plain(value)


def _with_params(cls: Any, params: dict[str, Any]) -> Any:
    """Return an estimator with these parameters, and defaults for others."""
    return _made(cls, cls().get_params(deep=False) | params)


def _request(estimator: Any, requests: Any) -> None:
    """Set the metadata requests of `set_fit_request` and similar methods."""
    methods = [m for m in ("fit", "partial_fit", "score") if hasattr(estimator, m)]
    fields_of(requests, "the metadata requests", [], methods)
    with config_context(enable_metadata_routing=True):
        for method, requested in requests.items():
            fields_of(requested, f"the requests of {method}", [], requested)
            if requested:
                getattr(estimator, f"set_{method}_request")(**requested)
