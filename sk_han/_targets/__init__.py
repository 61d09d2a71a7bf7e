"""Targets, which give the scores of a model their meaning: labels, probabilities, losses."""

from typing import Any

from numpy.typing import NDArray

from sk_han._targets.any_of_labels import AnyOfLabels
from sk_han._targets.number import Number
from sk_han._targets.one_of_classes import OneOfClasses
from sk_han._targets.ordered_classes import OrderedClasses
from sk_han._targets.target import Target
from sk_han._validation.labels import refuse_collections

__all__ = [
    "TARGETS",
    "AnyOfLabels",
    "Number",
    "OneOfClasses",
    "OrderedClasses",
    "Target",
    "check_same_kind",
    "fit_target",
    "target_from_state",
]

# The kinds of target by their names in files. The last one that accepts the labels is used.
TARGETS: dict[str, type[Target]] = {
    kind.kind: kind for kind in (OneOfClasses, OrderedClasses, Number, AnyOfLabels)
}


def fit_target(
    y: Any,
    n_documents: int,
    classes: Any = None,
    *,
    kind: type[Target] | None = None,
    ordered: bool = False,
) -> tuple[Target, NDArray[Any]]:
    """Create the target for labels, and encode them; `classes` are those of `partial_fit`.

    Without `kind`, the class of the target is inferred from the labels.
    """
    return (kind or _target_class(y, ordered)).from_labels(y, n_documents, classes)


def check_same_kind(y: Any, target: Target, *, ordered: bool = False) -> None:
    """Raise a ValueError if labels are of another kind than those of a fitted model."""
    if y is None or target.is_number:
        return
    if (kind := _target_class(y, ordered)) is not type(target):
        raise ValueError(
            f"y has {kind.labelling}, and this model has learnt {target.labelling}. Fit a new "
            "HANClassifier, since a fit that continues cannot change that."
        )


def target_from_state(state: Any) -> Target:
    """Restore a target from a checked state of `Target.to_state`."""
    return TARGETS[state["kind"]].from_state(state)


def _target_class(y: Any, ordered: bool) -> type[Target]:
    """Return the class of target for these labels."""
    refuse_collections(y, "y")
    kind = next(kind for kind in reversed(TARGETS.values()) if kind.accepts(y))
    if ordered and kind is not OneOfClasses:
        raise ValueError(f"ordered=True is for one class a document, and y has {kind.labelling}.")
    return OrderedClasses if ordered else kind
