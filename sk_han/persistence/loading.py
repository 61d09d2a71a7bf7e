"""load: a file made by `save`, checked in every part, and made an estimator."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.pipeline import Pipeline

from sk_han.classifier import HANClassifier
from sk_han.documents import UNKNOWN_ID
from sk_han.linear.ngrams import NgramChannel, check_ngram_range
from sk_han.nn.shapes import weight_shapes
from sk_han.persistence.archive import read_archive
from sk_han.persistence.plain import from_plain
from sk_han.text.vocabulary import check_vocabulary
from sk_han.tokenizer import HierarchicalTokenizer
from sk_han.utils.compat import Interval, StrOptions, validate_parameter_constraints
from sk_han.utils.state import ModelFormatError, params_of_earlier_releases

__all__ = ["load", "restored"]

_Arrays = dict[str, NDArray[Any]]

_SIZES: dict[str, list[Any]] = {
    "module__vocabulary_size": [Interval(Integral, UNKNOWN_ID + 1, None, closed="left")],
    "module__n_classes": [Interval(Integral, 1, None, closed="left")],
    "module__embedding_dim": [Interval(Integral, 1, None, closed="left")],
    "module__word_hidden": [Interval(Integral, 1, None, closed="left")],
    "module__sentence_hidden": [Interval(Integral, 1, None, closed="left")],
    "module__attention_dim": [Interval(Integral, 1, None, closed="left")],
    "module__rnn": [StrOptions({"gru", "lstm", "rnn"})],
    "module__num_layers": [Interval(Integral, 1, None, closed="left")],
    "module__bidirectional": ["boolean"],
    "module__pooling": [StrOptions({"attention", "mean", "max", "last"})],
    "module__attention_hops": [Interval(Integral, 1, None, closed="left")],
    "module__context": [StrOptions({"forward", "bidirectional"}), None],
    "module__context_gated": ["boolean"],
}
# Parameters of a stored network; any but the sizes may be missing, as a later one would be.
_NETWORK = _SIZES | {
    "module__dropout": [Interval(Real, 0, 1, closed="both")],
    "module__word_dropout": [Interval(Real, 0, 1, closed="both")],
    "module__embedding_dropout": [Interval(Real, 0, 1, closed="left")],
    "module__attention": [StrOptions({"softmax", "sparsemax", "entmax15"})],
    "module__hop_penalty": [Interval(Real, 0, None, closed="left")],
    "module__diversity_penalty": [Interval(Real, 0, None, closed="left")],
    "module__context_pooling": [StrOptions({"mean", "sum"})],
    "module__unknown_id": [Interval(Integral, 0, None, closed="left")],
    "module__max_words": [Interval(Integral, 1, None, closed="left")],
    "module__freeze_embedding": ["boolean"],
    "module__sparse": ["boolean"],
    "valid_batch_size": [Interval(Integral, 1, None, closed="left")],
}


def load(path: str | os.PathLike[str]) -> HANClassifier | HierarchicalTokenizer | Pipeline:
    """Load an estimator that `save` wrote. No code is run from the file.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    HANClassifier, HierarchicalTokenizer or Pipeline
        Fitted; on the machine that saved it, it predicts the same bits. A classifier computes
        on the device it was fitted on, or on the CPU where that is absent.

    Raises
    ------
    ModelFormatError
        If the file is empty, cut off, damaged, no file of `save`, or of a newer format. It is a
        ValueError.
    OSError
        If the file cannot be read; FileNotFoundError if there is none.

    See Also
    --------
    save : Write the file, with an example.

    Notes
    -----
    The SHA-256 in the file tells accidents, not malice: whoever can change the file can change
    the sum, too. What a changed file can do is predict otherwise, or take long over texts with a
    `token_pattern` made for that.
    """
    with open(Path(path), "rb") as file:
        try:
            return restored(*read_archive(file))
        except (ValueError, TypeError, OverflowError) as error:
            raise ModelFormatError(f"{path} cannot be loaded: {str(error).rstrip('.')}.") from error
        except RecursionError as error:
            raise ModelFormatError(f"{path} cannot be loaded: it is nested too deeply.") from error


def restored(description: Any, arrays: _Arrays) -> Any:
    """Make the estimator that a file describes.

    Raises
    ------
    ValueError, TypeError, OverflowError, RecursionError
        If the file does not describe one of ours in every part.
    """
    model = _fields(description, "the description", ["versions", "model"])["model"]
    if isinstance(model, dict) and model.get("class") == "Pipeline":
        estimator = _pipeline(model, arrays)
    else:
        estimator = _estimator(model, arrays)
    if arrays:
        raise ValueError(f"it has arrays that its model does not name: {sorted(arrays)}")
    return estimator


def _pipeline(model: dict[str, Any], arrays: _Arrays) -> Pipeline:
    fields = _fields(model, "the Pipeline", ["class", "params", "steps"])
    match fields["steps"]:
        case [[str(first), {} as tokenizer], [str(last), {} as classifier]] if first != last:
            steps = [
                (first, _estimator(tokenizer, arrays, only="HierarchicalTokenizer")),
                (last, _estimator(classifier, arrays, only="HANClassifier")),
            ]
        case _:
            raise ValueError("the Pipeline has other steps than a tokenizer and a classifier")
    params = _fields(fields["params"], "the Pipeline's params", [], ["transform_input", "verbose"])
    return _made(Pipeline, {name: from_plain(value) for name, value in params.items()}, steps=steps)


def _estimator(data: Any, arrays: _Arrays, *, only: str | None = None) -> Any:
    """Give a fitted tokenizer or classifier."""
    name = data.get("class") if isinstance(data, dict) else None
    if only not in (None, name):
        raise ValueError(f"it has {name!r} where a {only} should be")
    if name == "HierarchicalTokenizer":
        return _tokenizer(data)
    if name == "HANClassifier":
        return _classifier(data, arrays)
    raise ValueError(f"it holds a model of the class {name!r}, which sk_han.save does not write")


def _unfitted(cls: Any, data: Any, arrays: _Arrays) -> Any:
    """Give an estimator with its parameters, checked by its own constraints."""
    name = cls.__name__
    known = cls._parameter_constraints
    stored = _fields(data["params"], f"params of the {name}", [], known)
    params = {key: _parameter(key, value, arrays) for key, value in stored.items()}
    return _made(cls, params_of_earlier_releases(cls) | params)


def _made(cls: Any, params: dict[str, Any], **others: Any) -> Any:
    validate_parameter_constraints(cls._parameter_constraints, params, caller_name=cls.__name__)
    return cls(**params, **others)


def _parameter(name: str, value: Any, arrays: _Arrays) -> Any:
    match value:
        case {"class": "HierarchicalTokenizer"} if name == "tokenizer":
            fields = _fields(value, "the parameter tokenizer", ["class", "params"])
            return _unfitted(HierarchicalTokenizer, fields, arrays)
        case {"array": "pretrained_embedding"} if name == "pretrained_embedding":
            vectors = _taken(arrays, name)
            if vectors.dtype.kind not in "iuf":
                raise ValueError(f"the array {name!r} holds {vectors.dtype}, which are no numbers")
            return vectors.copy()  # as writable as the one that was saved
    return from_plain(value)


def _tokenizer(data: Any) -> HierarchicalTokenizer:
    fields = _fields(data, "the tokenizer", ["class", "params", "fitted"])
    fitted = _fields(fields["fitted"], "the fitted tokenizer", ["vocabulary"])
    vocabulary = from_plain(fitted["vocabulary"])
    if not isinstance(vocabulary, dict):
        raise ValueError("the tokenizer's vocabulary is no dict")
    tokenizer: HierarchicalTokenizer = _unfitted(HierarchicalTokenizer, fields, {})
    tokenizer.vocabulary_ = check_vocabulary(vocabulary)
    return tokenizer


def _classifier(data: Any, arrays: _Arrays) -> HANClassifier:
    fields = _fields(data, "the classifier", ["class", "params", "requests", "fitted"])
    fitted = _fields(
        fields["fitted"],
        "the fitted classifier",
        ["classes", "tokenizer", "history", "device", "network", "ngrams", "logit_scales"],
    )
    classifier: HANClassifier = _unfitted(HANClassifier, fields, arrays)
    _request(classifier, from_plain(fields["requests"]))
    classes = _classes(fitted["classes"], arrays)
    network = _network(fitted["network"], len(classes))
    weights = _weights(network, arrays)
    n_ids = network["module__vocabulary_size"]
    tokenizer = None
    if fitted["tokenizer"] is not None:
        tokenizer = _estimator(fitted["tokenizer"], {}, only="HierarchicalTokenizer")
        if max(tokenizer.vocabulary_.values()) >= n_ids:
            raise ValueError(f"its vocabulary has ids beyond the {n_ids} word vectors")
    channel = None
    if fitted["ngrams"] is not None:
        channel = _channel(fitted["ngrams"], len(classes), arrays)
    scales = _scales(fitted["logit_scales"], n_scales=1 if channel is None else 2)
    history = _history(fitted["history"])
    if not isinstance(fitted["device"], str):
        raise ValueError("the name of its device is no string")
    classifier.__setstate__(
        classifier.__getstate__()
        | {
            "classes_": classes,
            "tokenizer_": tokenizer,
            "history_": history,
            "n_iter_": len(history),
            "device_": fitted["device"],
            "vocabulary_size_": n_ids,
            "_restoring_params": network,
            "_weights": weights,
            "_ngram_channel": None if channel is None else vars(channel),
            "logit_scales_": scales,
        }
    )
    return classifier


def _request(classifier: HANClassifier, requests: Any) -> None:
    """Set metadata requests as set_fit_request and its kin do."""
    _fields(requests, "the metadata requests", [], ["fit", "partial_fit", "score"])
    with config_context(enable_metadata_routing=True):
        for method, of_method in requests.items():
            _fields(of_method, f"the requests of {method}", [], of_method)
            if of_method:
                getattr(classifier, f"set_{method}_request")(**of_method)


def _classes(data: Any, arrays: _Arrays) -> NDArray[Any]:
    """Give the labels, which prediction takes for sorted and distinct."""
    if isinstance(data, list):
        labels = from_plain(data)
        kinds = {float if type(label) is int else type(label) for label in labels}
        if len(kinds) != 1 or not kinds <= {str, bool, float}:
            raise ValueError("its classes are not all strings, all numbers or all booleans")
        classes = np.empty(len(labels), dtype=object)
        classes[:] = labels
    elif data == {"array": "classes"}:
        classes = _taken(arrays, "classes").copy()
        _check_bits(classes)
    else:
        raise ValueError("its classes are neither a list nor an array")
    if classes.ndim != 1 or len(classes) == 0 or not np.all(classes[:-1] < classes[1:]):
        raise ValueError("its classes are not sorted and distinct")
    if any(isinstance(label, float) and not math.isfinite(label) for label in classes.tolist()):
        raise ValueError("its classes are not finite")
    return classes


def _check_bits(classes: NDArray[Any]) -> None:
    """Refuse bytes that are no character or no truth value: NumPy takes them on trust."""
    if classes.dtype.kind == "U":
        codes = np.frombuffer(classes.tobytes(), classes.dtype.byteorder + "u4")
        if codes.max(initial=0) > 0x10FFFF:
            raise ValueError("its classes hold what is no character")
    if classes.dtype.kind == "b" and classes.view(np.uint8).max(initial=0) > 1:
        raise ValueError("its classes hold what is neither true nor false")


def _network(data: Any, n_classes: int) -> dict[str, Any]:
    network = from_plain(data)
    optional = _NETWORK.keys() - _SIZES.keys()
    network = _fields(network, "the network", _SIZES, optional)
    validate_parameter_constraints(_NETWORK, network, caller_name="network")
    if network["module__n_classes"] != n_classes:
        raise ValueError(
            f"its network has {network['module__n_classes']} outputs for {n_classes} classes"
        )
    if network.get("module__unknown_id", UNKNOWN_ID) >= network["module__vocabulary_size"]:
        raise ValueError("the id of its unknown word is beyond the vocabulary")
    return network


def _weights(network: dict[str, Any], arrays: _Arrays) -> _Arrays:
    """Take the weights out of the arrays; their shapes are compared before a network is made."""
    if network["module__num_layers"] > len(arrays):
        raise ValueError(f"it has {len(arrays)} arrays for {network['module__num_layers']} layers")
    shapes = weight_shapes(**{name.removeprefix("module__"): network[name] for name in _SIZES})
    weights = {name: _taken(arrays, name) for name in shapes}
    for name, shape in shapes.items():
        weight = weights[name]
        if weight.shape != shape or weight.dtype != np.float32:
            raise ValueError(
                f"its weight {name} has the shape {weight.shape} and dtype {weight.dtype}; its "
                f"network needs {shape} and float32"
            )
        if not np.isfinite(weight).all():
            raise ValueError(f"its weight {name} holds values that are no finite numbers")
    return weights


def _channel(data: Any, n_classes: int, arrays: _Arrays) -> NgramChannel:
    ngram_range = _fields(data, "the n-gram channel", ["ngram_range"])["ngram_range"]
    if not isinstance(ngram_range, list):
        raise ValueError("its ngram_range is no list")
    check_ngram_range(ngram_range)
    taken = {name: _taken(arrays, f"ngrams.{name}") for name in NgramChannel.ARRAYS}
    return NgramChannel.checked(tuple(ngram_range), taken, n_classes)


def _scales(data: Any, n_scales: int) -> NDArray[np.float64]:
    numbers = data if isinstance(data, list) else []
    if len(numbers) != n_scales or not all(
        type(scale) in (int, float) and 0 <= scale < math.inf for scale in numbers
    ):
        raise ValueError(f"its scales of the logits are not {n_scales} numbers of at least 0")
    return np.array(numbers, dtype=np.float64)


def _history(data: Any) -> list[dict[str, Any]]:
    history = from_plain(data)
    for epoch in history if isinstance(history, list) else [None]:
        if not isinstance(epoch, dict) or not all(
            isinstance(name, str) and type(value) in (int, float) for name, value in epoch.items()
        ):
            raise ValueError("its history is no list of named numbers")
    return history


def _fields(
    data: Any, what: str, required: Iterable[str], optional: Iterable[str] = ()
) -> dict[str, Any]:
    """Give `data` if it is an object with these keys and no others."""
    if not isinstance(data, dict):
        raise ValueError(f"{what} is a {type(data).__name__}, and should be an object")
    lacking = [name for name in required if name not in data]
    if lacking:
        raise ValueError(f"{what} lacks {lacking}")
    unknown = [name for name in data if name not in {*required, *optional}]
    if unknown:
        shown = [name[:40] for name in unknown[:5]]
        raise ValueError(f"{what} has {shown}, which this release of sk_han does not know")
    return data


def _taken(arrays: _Arrays, name: str) -> NDArray[Any]:
    if name not in arrays:
        raise ValueError(f"it lacks the entry {name + '.npy'!r}")
    return arrays.pop(name)
