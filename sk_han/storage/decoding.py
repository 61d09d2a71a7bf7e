"""The parts of a stored model: descriptions of its estimators, and its fitted state."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from sk_han.storage.json_values import from_plain
from sk_han.storage.model_file import Arrays, taken


def fields_of(
    data: Any, what: str, required: Iterable[str], optional: Iterable[str] = ()
) -> dict[str, Any]:
    """Return `data` if it is an object with these keys and no others; errors name `what`."""
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


def model_of(description: Any) -> Any:
    """Return the described model."""
    return fields_of(description, "the description", ["versions", "model"])["model"]


def steps_of(model: dict[str, Any]) -> tuple[tuple[str, Any], tuple[str, Any]]:
    """Return the names and descriptions of the two steps of a described Pipeline."""
    fields = fields_of(model, "the Pipeline", ["class", "params", "steps"])
    match fields["steps"]:
        case [[str(first), {} as tokenizer], [str(last), {} as classifier]] if first != last:
            return (first, tokenizer), (last, classifier)
    raise ValueError("the Pipeline has other steps than a tokenizer and a classifier")


def classifier_fields(data: Any) -> dict[str, Any]:
    """Return a described classifier by its fields."""
    fields = fields_of(data, "the classifier", ["class", "params", "requests", "fitted"])
    if not isinstance(fields["fitted"], dict):
        raise ValueError("its fitted state is no object")
    return fields


def fitted_state(
    fields: dict[str, Any], arrays: Arrays, make_tokenizer: Callable[[Any, Arrays], Any]
) -> dict[str, Any]:
    """Return the unchecked fitted state of `classifier_fields`; its arrays are taken out."""

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

    return {name: decoded(value) for name, value in fields["fitted"].items()}
