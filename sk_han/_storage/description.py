"""The description of a model in a file: its estimators, their parameters and state, and its table.

The constraints of the parameters of each estimator are declared here once: `load` and the Scorer
check a file against them, and the estimators derive scikit-learn's constraints from them.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

import numpy as np

from sk_han._options import Choice, Constraint, Either, InstanceOf, NetworkOptions, Range
from sk_han._storage.model_file import Arrays, from_plain, pop_array
from sk_han._storage.schema import ByName, Field, Kind, ListOf, Schema, Sizes, check, check_fields

_NONE, _FLAG, _STRING = Choice((None,)), Choice((False, True)), InstanceOf(str)
_COUNT, _SHARE = Range(Integral, 1), Range(Real, 0, 1, includes_low=False)
_COUNT_OR_NONE, _COUNT_OR_AUTO = Either((_COUNT, _NONE)), Either((_COUNT, Choice(("auto",))))
_TUPLE, _LIST, _DICT = map(InstanceOf, (tuple, list, dict))

TOKENIZER: dict[str, Constraint] = {
    "lowercase": _FLAG,
    "strip_accents": Choice(("ascii", "unicode", None)),
    "tokens": Choice(("words+marks", "words", "web")),
    "token_pattern": Either((_STRING, _NONE)),
    "stop_words": Either((_LIST, Choice(("english", None)))),
    "min_df": Either((_COUNT, Range(float, 0, 1), Choice((1.0,)))),
    "max_features": _COUNT_OR_NONE,
    "max_sentences": _COUNT_OR_NONE,
    "max_words": _COUNT_OR_NONE,
    "vocabulary": Either((_DICT, _LIST, _TUPLE, _NONE)),
    "sentence_splitter": _NONE,
    "word_tokenizer": _NONE,
    "n_jobs": Either((InstanceOf(Integral), _NONE)),
    "output": Choice(("ragged", "padded")),
}
WITH_PARTS = "HANClassifier", "HANRegressor"  # whose state is a `FittedModel`
# The parameters that HANClassifier and HANRegressor share.
COMMON: dict[str, Constraint] = {
    "tokenizer": _NONE,
    "text_column": Either((_STRING, _LIST, _NONE)),
    "columns": Either((_LIST, _DICT, _NONE)),
    **NetworkOptions.constraints(),
    "embedding_init": Choice(("cooccurrence", "random"), (np.ndarray,)),
    "freeze_embedding": Either((_FLAG, Range(Integral, 0))),
    "adversarial_noise": Range(Real, 0),
    "linear_ngrams": Either((_TUPLE, _NONE)),
    "linear_chars": Either((_TUPLE, Choice(("auto", None)))),
    "optimizer": Choice(("adamw", "adam", "sgd")),
    "lr": Range(Real, 0, 1e36, includes_low=False),
    "lr_schedule": Choice(("one_cycle", "constant")),
    "max_epochs": _COUNT_OR_AUTO,
    "batch_size": _COUNT_OR_AUTO,
    "validation_fraction": Either((_SHARE, _NONE)),
    "n_iter_no_change": _COUNT_OR_NONE,
    "time_limit": Either((Range(Real, 0, 1e9, includes_low=False), _NONE)),
    "warm_start": _FLAG,
    "random_state": Either((Range(Integral, 0, 2**32), _NONE)),
    "device": _STRING,
    "callbacks": Either((_LIST, _NONE)),
    "net_params": Either((_DICT, _NONE)),
    "engine": Choice(("auto", "numba", "torch")),
    "n_threads": _COUNT_OR_NONE,
    "verbose": Either((_FLAG, Range(Integral, 0))),
}
# The network has this option, but the estimators take it in `net_params`.
del COMMON["embedding_dropout"]
CLASSIFIER: dict[str, Constraint] = {
    **COMMON,
    "class_weight": Either((_DICT, _LIST, Choice(("balanced", None)))),
    "threshold": Either((_SHARE, _LIST, Choice(("f1",)))),
    "priors": Either((_DICT, _NONE)),
    "ordered": _FLAG,
}
REGRESSOR: dict[str, Constraint] = {
    **COMMON,
    "n_bins": Either((Range(Integral, 2), Choice(("auto",)))),
    "scale": Choice(("linear", "log")),
}

# The constraints of the parameters of each estimator that `save` writes. With None, they are not
# checked here; `load` checks them once it has created the estimator, by those of its class.
ESTIMATORS: dict[str, dict[str, Constraint] | None] = {
    "HANClassifier": CLASSIFIER,
    "HANRegressor": REGRESSOR,
    "HierarchicalTokenizer": TOKENIZER,
    "SentenceEmbedder": {"tokenizer": _NONE, "verbose": CLASSIFIER["verbose"]},
    "SequenceTagger": None,
    "AttentionTranslator": None,
}
# The parameters whose value may be a HierarchicalTokenizer.
_TOKENIZERS = "tokenizer", "source_tokenizer", "target_tokenizer"


def _request(value: Any, where: str, sizes: Sizes) -> None:
    is_name = isinstance(value, str) and value.isidentifier()
    if not is_name and value not in (None, True, False):
        raise ValueError(f"its {where} is not a metadata request")


def _optional(**kinds: Kind) -> Schema:
    return Schema(tuple(Field(name, kind) for name, kind in kinds.items()), may_lack=True)


_REQUESTS_OF_SEQUENCES = _optional(fit=ByName(_request), score=ByName(_request))
_WEIGHT, _FIT = {"sample_weight": _request}, ("X_val", "y_val", "X_unlabelled", "groups")
_REQUESTS_OF_HAN = _optional(
    fit=_optional(**_WEIGHT, **dict.fromkeys(_FIT, _request)),
    partial_fit=_optional(**_WEIGHT, classes=_request, X_unlabelled=_request),
    score=_optional(**_WEIGHT),
)
_REQUESTS = {
    "HANClassifier": _REQUESTS_OF_HAN,
    "HANRegressor": _REQUESTS_OF_HAN,
    "SequenceTagger": _REQUESTS_OF_SEQUENCES,
    "AttentionTranslator": _REQUESTS_OF_SEQUENCES,
}
_PIPELINE = _optional(transform_input=Either((_LIST, _NONE)), verbose=_FLAG)
_TABLE = Schema(
    (
        *(Field("text", ListOf(_STRING)), Field("label", _STRING)),
        *(Field(name, _STRING, True) for name in ("sep", "encoding", "separator")),
        Field("decimal", Choice((".", ",")), True),
    )
)


# The parameters of the Pipeline, or None without a Pipeline; the name and description of each step;
# the options by which the command line read the training table, or None.
StoredModel = tuple[dict[str, Any] | None, list[tuple[str, dict[str, Any]]], dict[str, Any] | None]


def stored_model(description: Any) -> StoredModel:
    """Check the description of a model and split it into steps, which `stored_estimator` reads."""
    fields = check_fields(description, "the description", ["versions", "model"], ["table"])
    model, table = fields["model"], from_plain(fields.get("table"))
    if table is not None:
        check(_TABLE, table, "table")
    kind = model.get("class") if isinstance(model, dict) else None
    if kind in [*ESTIMATORS]:
        return None, [("", model)], table
    if kind != "Pipeline":
        raise ValueError(f"it holds a model of the class {kind!r}, which save does not write")
    fields = check_fields(model, "the Pipeline", ["class", "params", "steps"])
    params = check_fields(fields["params"], "the Pipeline's params", [], fields["params"])
    params = {name: from_plain(value) for name, value in params.items()}
    check(_PIPELINE, params, "params")
    match fields["steps"]:
        case [
            [str(first), {"class": "HierarchicalTokenizer" | "SentenceEmbedder"} as reader],
            [str(last), {"class": "HANClassifier" | "HANRegressor"} as classifier],
        ] if first != last:
            return params, [(first, reader), (last, classifier)], table
    raise ValueError("the Pipeline has other steps than a tokenizer and a classifier")


def stored_estimator(data: Any, arrays: Arrays) -> tuple[dict[str, Any], dict[str, Any], Any]:
    """Return the parameters, the metadata requests and the still encoded state of an estimator.

    If a parameter is an array, it is removed from `arrays`.
    """
    kind, requests = data["class"], {}
    routing = _REQUESTS.get(kind)
    entries = ["class", "params", "fitted"] + ["requests"] * (routing is not None)
    fields = check_fields(data, f"the {kind}", entries)
    if routing is not None:
        requests = from_plain(fields["requests"])
        check(routing, requests, "requests")
    return stored_params(fields["params"], kind, arrays), requests, fields["fitted"]


def stored_params(stored: Any, kind: str, arrays: Arrays) -> dict[str, Any]:
    """Decode and check parameters; a tokenizer among them becomes the dict of its parameters."""
    params: dict[str, Any] = {}
    constraints = ESTIMATORS[kind]
    stored = check_fields(stored, f"params of the {kind}", [], constraints or stored)
    for name, value in stored.items():
        constraint = None if constraints is None else constraints[name]
        match value:
            case {"class": "HierarchicalTokenizer"} if name in _TOKENIZERS:
                fields = check_fields(value, f"the parameter {name}", ["class", "params"])
                params[name] = stored_params(fields["params"], fields["class"], arrays)
                continue
            case {"array": "embedding_init"} if name == "embedding_init":
                params[name] = pop_array(arrays, name)
                if params[name].dtype.kind not in "iuf":
                    dtype = params[name].dtype
                    raise ValueError(f"the array {name!r} is of dtype {dtype}, not of numbers")
            case _:
                params[name] = from_plain(value)
                constraint = _NONE if name in _TOKENIZERS else constraint
        if constraint is not None:
            check(constraint, params[name], f"params.{name}")
    return params


def check_class(kind: str, target: Any) -> None:
    """Check that a regressor has a target of numbers, and any other estimator one of labels."""
    if target.is_number != (kind == "HANRegressor"):
        raise ValueError(f"it is a {kind} that has learnt {target.labelling}")


def fitted_state(
    stored: Any, arrays: Arrays, make_tokenizer: Callable[[Any, Arrays], Any]
) -> dict[str, Any]:
    """Decode a fitted state, without checking it; its arrays are removed from `arrays`."""
    if not isinstance(stored, dict):
        raise ValueError("its fitted state is not an object")

    def decode(data: Any) -> Any:
        match data:
            case {"state": dict(values)} if len(data) == 1:
                return {name: decode(value) for name, value in values.items()}
            case {"array": str(name)} if len(data) == 1:
                return pop_array(arrays, name)
            case {"labels": list(labels)} if len(data) == 1:
                array = np.empty(len(labels), dtype=object)
                array[:] = from_plain(labels)
                return array
            case {"class": "HierarchicalTokenizer"}:
                return make_tokenizer(data, arrays)
        return from_plain(data)

    return {name: decode(value) for name, value in stored.items()}


def check_none_left(arrays: Arrays) -> None:
    """Check that the description of the model refers to every array of its file."""
    if arrays:
        raise ValueError(f"it has arrays that its model does not name: {sorted(arrays)}")
