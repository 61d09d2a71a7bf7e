"""A classifier in a file: its parameters and requests of metadata, checked without scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np

from sk_han.engines.engine_choice import ENGINES
from sk_han.options.base import Choice, Constraint, Either, InstanceOf, Range
from sk_han.options.network import NetworkOptions
from sk_han.storage.decoding import classifier_fields, fields_of, fitted_state
from sk_han.storage.json_values import from_plain
from sk_han.storage.model_file import Arrays, taken
from sk_han.storage.schema import Field, Schema, Sizes, check
from sk_han.text.tokenizer_state import tokenizer_params

_NONE, _FLAG, _AUTO = Choice((None,)), Choice((False, True)), Choice(("auto",))
_POSITIVE, _FRACTION = Range(Integral, 1), Range(Real, 0, 1, includes_low=False)
_DICT = InstanceOf(dict)

# What HANClassifier allows of what a file can hold; a test compares its constraints with these.
_PARAMETERS: dict[str, Constraint] = {
    **{n: c for n, c in NetworkOptions.constraints().items() if n != "embedding_dropout"},
    "tokenizer": Either((_DICT, _NONE)),  # the parameters of one
    "embedding_init": Either(
        tuple(InstanceOf(kind) for kind in (str, np.ndarray, dict, list, tuple))
    ),
    "freeze_embedding": Either((_FLAG, Range(Integral, 0))),
    "adversarial_noise": Range(Real, 0),
    "linear_ngrams": Either((InstanceOf(tuple), _NONE)),
    "linear_chars": Either((InstanceOf(tuple), _AUTO, _NONE)),
    "optimizer": Choice(("adam", "adamw", "sgd")),
    "lr": Range(Real, 0, 1e36, includes_low=False),
    "lr_schedule": Choice(("one_cycle", "constant")),
    "max_epochs": Either((_POSITIVE, _AUTO)),
    "batch_size": Either((_POSITIVE, _AUTO)),
    "class_weight": Either((_DICT, InstanceOf(list), Choice(("balanced", None)))),
    "threshold": Either((_FRACTION, *map(InstanceOf, (np.ndarray, list, tuple)), Choice(("f1",)))),
    "validation_fraction": Either((_FRACTION, _NONE)),
    "n_iter_no_change": Either((_POSITIVE, _NONE)),
    "warm_start": _FLAG,
    "random_state": Either((Range(Integral, 0, 1 << 32), _NONE)),
    "device": InstanceOf(str),
    "callbacks": Either((InstanceOf(list), _NONE)),
    "net_params": Either((_DICT, _NONE)),
    "engine": Choice(ENGINES),
    "n_threads": Either((_POSITIVE, _NONE)),
    "verbose": Either((_FLAG, Range(Integral, 0))),
}
_PARAMS = Schema(tuple(Field(*each) for each in _PARAMETERS.items()), may_lack=True)


def _request(value: Any, where: str, sizes: Sizes) -> None:
    is_name = isinstance(value, str) and value.isidentifier()
    if value is not None and not isinstance(value, bool) and not is_name:
        raise ValueError(f"its {where} is no request: True, False, None or a name")


# What metadata methods of HANClassifier take, which scikit-learn's routing asks about.
_METADATA = {
    "fit": (
        "X_unlabelled",
        "X_val",
        "groups",
        "sample_weight",
        "y_val",
    ),
    "partial_fit": ("X_unlabelled", "classes", "sample_weight"),
    "score": ("sample_weight",),
}
_REQUESTS = Schema(
    tuple(
        Field(method, Schema(tuple(Field(name, _request) for name in names), may_lack=True))
        for method, names in _METADATA.items()
    ),
    may_lack=True,
)
_PIPELINE = Schema(
    (Field("transform_input", Either((InstanceOf(list), _NONE))), Field("verbose", _FLAG)),
    may_lack=True,
)


class StoredClassifier(NamedTuple):
    """A classifier of a file."""

    params: dict[str, Any]  # plain values and an array; of a tokenizer its parameters
    requests: dict[str, dict[str, Any]]  # by method, those of its metadata
    state: dict[str, Any]  # the fitted one, still to be checked


def stored_classifier(
    data: Any, arrays: Arrays, make_tokenizer: Callable[[Any, Arrays], Any]
) -> StoredClassifier:
    """Return a described classifier, whose arrays are taken out."""
    fields = classifier_fields(data)
    stored = fields_of(fields["params"], "params of the classifier", [], _PARAMETERS)
    params = {name: _parameter(name, value, arrays) for name, value in stored.items()}
    check(_PARAMS, params, "params")
    requests = from_plain(fields["requests"])
    check(_REQUESTS, requests, "requests")
    return StoredClassifier(params, requests, fitted_state(fields, arrays, make_tokenizer))


def pipeline_params(model: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of a described Pipeline, without its steps."""
    names = [field.name for field in _PIPELINE.fields]
    stored = fields_of(model["params"], "the Pipeline's params", [], names)
    params = {name: from_plain(value) for name, value in stored.items()}
    check(_PIPELINE, params, "params")
    return params


def check_all_taken(arrays: Arrays) -> None:
    """Check that a model has named all arrays of its file."""
    if arrays:
        raise ValueError(f"it has arrays that its model does not name: {sorted(arrays)}")


def _parameter(name: str, value: Any, arrays: Arrays) -> Any:
    match value:
        case {"class": "HierarchicalTokenizer"} if name == "tokenizer":
            fields = fields_of(value, "the parameter tokenizer", ["class", "params"])
            return tokenizer_params(fields["params"], "params.tokenizer")
        case {"array": "embedding_init"} if name == "embedding_init":
            vectors = taken(arrays, name)
            if vectors.dtype.kind not in "iuf":
                raise ValueError(f"the array {name!r} holds {vectors.dtype}, which are no numbers")
            return vectors
    plain = from_plain(value)
    if name == "tokenizer" and plain is not None:
        raise ValueError("its params.tokenizer must be None or the parameters of a tokenizer")
    return plain
