"""The fitted state of a SequenceTagger as arrays and plain values, and back."""

from __future__ import annotations

from collections.abc import Mapping
from reprlib import repr as brief  # a value from a file may be as long as the file
from typing import TYPE_CHECKING, Any

from sk_han.documents import UNKNOWN_ID
from sk_han.fitted_state import device_of, restored_training, restoring, training_state
from sk_han.options.network_state import check_weights
from sk_han.tagging.attributes import N_FROM_WORD
from sk_han.tagging.options import TaggingOptions, tagging_shapes
from sk_han.tagging.token_checks import forbidden_by_iob2
from sk_han.tagging.training import stored_tagging_net
from sk_han.text.vocabulary import check_vocabulary
from sk_han.validation.fitted_state import (
    check_classes,
    check_names,
    check_training,
    checked_network,
)

if TYPE_CHECKING:
    from sk_han.tagging.tagger import SequenceTagger

__all__ = ["check_tagger_state", "tagger_attributes", "tagger_state"]

_NAMES = {
    "best_epoch",
    "best_score",
    "classes",
    "device",
    "history",
    "n_columns",
    "network",
    "scheme",
    "vocabularies",
}


def tagger_state(tagger: SequenceTagger) -> dict[str, Any]:
    """Return the state of a fitted tagger; see `SequenceTagger.to_state`."""
    network = tagger.net_.module_
    return {
        "classes": tagger.classes_,
        "vocabularies": tagger.vocabularies_,
        "n_columns": tagger.n_columns_,
        "scheme": "iob2" if bool(network.forbidden.any()) else None,
        "network": {"options": network.options.to_plain(), "weights": tagger.net_.weights},
        **training_state(tagger),
    }


def tagger_attributes(state: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fitted attributes of a tagger's state, after a check of all its entries.

    Raises
    ------
    ModelFormatError
        If an entry is missing or invalid.
    """
    with restoring("SequenceTagger"):
        sizes, options = check_tagger_state(state)
        forbidden = forbidden_by_iob2(state["classes"]) if state["scheme"] else None
        weights, device = state["network"]["weights"], device_of(state)
        net = stored_tagging_net(sizes, len(state["classes"]), forbidden, options, weights, device)
    return {
        "classes_": state["classes"].copy(),
        "vocabularies_": state["vocabularies"],
        "n_columns_": state["n_columns"],
        "net_": net,
        **restored_training(state),
    }


def check_tagger_state(state: Any) -> tuple[list[int], TaggingOptions]:
    """Check the fitted state of a `SequenceTagger`.

    Parameters
    ----------
    state : mapping
        As `SequenceTagger.to_state` returns it.

    Returns
    -------
    sizes : list of int
        Number of values of each attribute.
    options : TaggingOptions

    Raises
    ------
    ValueError
        If an entry is missing or invalid; the message names it.
    """
    check_names(state, _NAMES)
    classes, vocabularies, n_columns = state["classes"], state["vocabularies"], state["n_columns"]
    check_classes(classes)
    if type(n_columns) is not int or n_columns < 1:
        raise ValueError(f"its number of columns must be at least 1; got {brief(n_columns)}")
    n = N_FROM_WORD - 1 + n_columns
    if not isinstance(vocabularies, list) or len(vocabularies) != n:
        raise ValueError(f"its vocabularies must be a list of {n}, one for each attribute")
    sizes = []
    for vocabulary in vocabularies:
        if not isinstance(vocabulary, dict):
            raise ValueError(f"its vocabularies must be dicts; got {brief(vocabulary)}")
        size = UNKNOWN_ID + 1 + len(vocabulary)
        if vocabulary and max(check_vocabulary(vocabulary).values()) >= size:
            raise ValueError(f"its vocabulary of {len(vocabulary)} values has an id beyond {size}")
        sizes.append(size)
    if state["scheme"] not in (None, "iob2"):
        raise ValueError(f"its scheme must be 'iob2' or None; got {brief(state['scheme'])}")
    network = checked_network(state)
    options = TaggingOptions.from_plain(network["options"])
    check_weights(network["weights"], tagging_shapes(sizes, len(classes), options))
    check_training(state)
    return sizes, options
