"""The description of a model in a file: its estimators, their parameters and state, its table.

The parameters of the classifier and of its tokenizer are declared here once: `load` and the Scorer
check a file by them, and the estimators take scikit-learn's constraints from them.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

import numpy as np

from sk_han._options import Choice, Constraint, Either, InstanceOf, NetworkOptions, Range
from sk_han._storage.model_file import Arrays, from_plain, taken
from sk_han._storage.schema import ByName, Field, Kind, ListOf, Schema, Sizes, check, fields_of

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
# The parameters that both have.
COMMON: dict[str, Constraint] = {
    "tokenizer": _NONE,
    "text_column": Either((_STRING, _NONE)),
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
    "warm_start": _FLAG,
    "random_state": Either((Range(Integral, 0, 2**32), _NONE)),
    "device": _STRING,
    "callbacks": Either((_LIST, _NONE)),
    "net_params": Either((_DICT, _NONE)),
    "engine": Choice(("auto", "numba", "torch")),
    "n_threads": _COUNT_OR_NONE,
    "verbose": Either((_FLAG, Range(Integral, 0))),
}
del COMMON["embedding_dropout"]  # one of `net_params`
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

# The constraints of the parameters of each class in `sk_han`. None: only its constructor has them.
ESTIMATORS: dict[str, dict[str, Constraint] | None] = {
    "HANClassifier": CLASSIFIER,
    "HANRegressor": REGRESSOR,
    "HierarchicalTokenizer": TOKENIZER,
    "SentenceEmbedder": {"tokenizer": _NONE, "verbose": CLASSIFIER["verbose"]},
    "SequenceTagger": None,
    "AttentionTranslator": None,
}
_TOKENIZERS = "tokenizer", "source_tokenizer", "target_tokenizer"  # parameters


def _request(value: Any, where: str, sizes: Sizes) -> None:
    is_name = isinstance(value, str) and value.isidentifier()
    if not is_name and value not in (None, True, False):
        raise ValueError(f"its {where} is not a metadata request")


def _optional(**kinds: Kind) -> Schema:
    return Schema(tuple(Field(*each) for each in kinds.items()), may_lack=True)


_OTHERS = _optional(fit=ByName(_request), score=ByName(_request))
_WEIGHT, _FIT = {"sample_weight": _request}, ("X_val", "y_val", "X_unlabelled", "groups")
_OF_PARTS = _optional(
    fit=_optional(**_WEIGHT, **dict.fromkeys(_FIT, _request)),
    partial_fit=_optional(**_WEIGHT, classes=_request, X_unlabelled=_request),
    score=_optional(**_WEIGHT),
)
_REQUESTS = {
    "HANClassifier": _OF_PARTS,
    "HANRegressor": _OF_PARTS,
    "SequenceTagger": _OTHERS,
    "AttentionTranslator": _OTHERS,
}
_PIPELINE = _optional(transform_input=Either((_LIST, _NONE)), verbose=_FLAG)
_TABLE = Schema(
    (
        *(Field("text", ListOf(_STRING)), Field("label", _STRING)),
        *(Field(name, _STRING, True) for name in ("sep", "encoding", "separator")),
        Field("decimal", Choice((".", ",")), True),
    )
)


# Parameters of a Pipeline, if the model is one; the name and description of each step; how the
# table of the fit was read, if that is known.
StoredModel = tuple[dict[str, Any] | None, list[tuple[str, dict[str, Any]]], dict[str, Any] | None]


def stored_model(description: Any) -> StoredModel:
    """Return a described model, whose steps `stored_estimator` reads."""
    fields = fields_of(description, "the description", ["versions", "model"], ["table"])
    model, table = fields["model"], from_plain(fields.get("table"))
    if table is not None:
        check(_TABLE, table, "table")
    kind = model.get("class") if isinstance(model, dict) else None
    if kind in [*ESTIMATORS]:
        return None, [("", model)], table
    if kind != "Pipeline":
        raise ValueError(f"it holds a model of the class {kind!r}, which save does not write")
    fields = fields_of(model, "the Pipeline", ["class", "params", "steps"])
    params = fields_of(fields["params"], "the Pipeline's params", [], fields["params"])
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
    """Return parameters and metadata requests of a described estimator, and its state as it is.

    The array that a parameter may be is taken out.
    """
    kind, requests = data["class"], {}
    routing = _REQUESTS.get(kind)
    entries = ["class", "params", "fitted"] + ["requests"] * (routing is not None)
    fields = fields_of(data, f"the {kind}", entries)
    if routing is not None:
        requests = from_plain(fields["requests"])
        check(routing, requests, "requests")
    return stored_params(fields["params"], kind, arrays), requests, fields["fitted"]


def stored_params(stored: Any, kind: str, arrays: Arrays) -> dict[str, Any]:
    """Return described parameters: plain values, an array, and of a tokenizer its parameters."""
    params: dict[str, Any] = {}
    constraints = ESTIMATORS[kind]
    stored = fields_of(stored, f"params of the {kind}", [], constraints or stored)
    for name, value in stored.items():
        constraint = None if constraints is None else constraints[name]
        match value:
            case {"class": "HierarchicalTokenizer"} if name in _TOKENIZERS:
                fields = fields_of(value, f"the parameter {name}", ["class", "params"])
                params[name] = stored_params(fields["params"], fields["class"], arrays)
                continue
            case {"array": "embedding_init"} if name == "embedding_init":
                params[name] = taken(arrays, name)
                if params[name].dtype.kind not in "iuf":
                    dtype = params[name].dtype
                    raise ValueError(f"the array {name!r} holds {dtype}, which are not numbers")
            case _:
                params[name] = from_plain(value)
                constraint = _NONE if name in _TOKENIZERS else constraint
        if constraint is not None:
            check(constraint, params[name], f"params.{name}")
    return params


def check_class(kind: str, target: Any) -> None:
    """Check that the target of a model is one of its class."""
    if target.is_number != (kind == "HANRegressor"):
        raise ValueError(f"it is a {kind} that has learnt {target.labelling}")


def fitted_state(
    stored: Any, arrays: Arrays, make_tokenizer: Callable[[Any, Arrays], Any]
) -> dict[str, Any]:
    """Return a described state, unchecked; its arrays are taken out."""
    if not isinstance(stored, dict):
        raise ValueError("its fitted state is not an object")

    def decoded(data: Any) -> Any:
        match data:
            case {"state": dict(values)} if len(data) == 1:
                return {name: decoded(value) for name, value in values.items()}
            case {"array": str(name)} if len(data) == 1:
                return taken(arrays, name)
            case {"labels": list(labels)} if len(data) == 1:
                array = np.empty(len(labels), dtype=object)
                array[:] = from_plain(labels)
                return array
            case {"class": "HierarchicalTokenizer"}:
                return make_tokenizer(data, arrays)
        return from_plain(data)

    return {name: decoded(value) for name, value in stored.items()}


def check_all_taken(arrays: Arrays) -> None:
    """Check that a model has named all arrays of its file."""
    if arrays:
        raise ValueError(f"it has arrays that its model does not name: {sorted(arrays)}")
