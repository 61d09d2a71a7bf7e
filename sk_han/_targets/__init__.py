"""What the scores of a model mean: labels, probabilities, decisions, losses."""

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

# Kinds of target, by their names in files; the last one that accepts the labels is used.
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
    """Return the target of labels, and the encoded labels; `classes` are as in `partial_fit`.

    A `kind` that is None follows from the labels.
    """
    return (kind or _kind_of(y, ordered)).from_labels(y, n_documents, classes)


def check_same_kind(y: Any, target: Target, *, ordered: bool = False) -> None:
    """Raise a ValueError if labels are of another kind than those of a fitted model."""
    if y is None or target.is_number:
        return
    if (kind := _kind_of(y, ordered)) is not type(target):
        raise ValueError(
            f"y has {kind.labelling}, and this model has learnt {target.labelling}. A fit "
            "that continues keeps the kind. Fit a new HANClassifier to learn another."
        )


def target_from_state(state: Any) -> Target:
    """Restore a target from the result of `Target.to_state`, which has been checked."""
    return TARGETS[state["kind"]].from_state(state)


def _kind_of(y: Any, ordered: bool) -> type[Target]:
    """Return the class of the target that labels have."""
    refuse_collections(y, "y")
    kind = next(kind for kind in reversed(TARGETS.values()) if kind.accepts(y))
    if ordered and kind is not OneOfClasses:
        raise ValueError(f"ordered=True is for one class a document, and y has {kind.labelling}.")
    return OrderedClasses if ordered else kind
