"""The fitted state of a SequenceTagger as arrays and plain values, and back."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import TYPE_CHECKING, Any

from sk_han.documents import UNKNOWN_ID
from sk_han.inspection.results.training_summary import TrainingSummary
from sk_han.options.base import Choice, Range
from sk_han.storage.network_schema import check_weights, network_of
from sk_han.storage.schema import Field, ListOf, Schema, Sizes, check
from sk_han.storage.stored_labels import labels
from sk_han.storage.training_record import TRAINING, check_best_epoch
from sk_han.tagging.attributes import N_FROM_WORD
from sk_han.tagging.options import TaggingOptions, tagging_shapes
from sk_han.tagging.token_checks import chunks_of
from sk_han.tagging.training import stored_tagging_net
from sk_han.text.tokenizer_state import words
from sk_han.training.stateful import device_of, restored_training, restoring, training_state

if TYPE_CHECKING:
    from sk_han.tagging.tagger import SequenceTagger

__all__ = ["TAGGER", "tagger_attributes", "tagger_state"]


def _n_values(vocabulary: dict[str, int]) -> int:
    return UNKNOWN_ID + 1 + len(vocabulary)


def _values(value: Any, where: str, sizes: Sizes) -> None:
    """Check the ids of an attribute's values: a kind of a schema."""
    if value != {}:  # no training token has one
        words(value, where, sizes)
        if max(value.values()) >= _n_values(value):
            raise ValueError(f"its {where} of {len(value)} values has an id beyond them")


def _check_attributes(state: Mapping[str, Any], where: str, sizes: Sizes) -> None:
    expected = N_FROM_WORD - 1 + state["n_columns"]
    if len(state["vocabularies"]) != expected:
        raise ValueError(f"its vocabularies must be a list of {expected}, one for each attribute")


def _summary(value: Any, where: str, sizes: Sizes) -> None:
    TrainingSummary.from_dict(value)


def _check_weights(state: Mapping[str, Any], where: str, sizes: Sizes) -> None:
    options = TaggingOptions.from_plain(state["network"]["options"])
    n_values = [_n_values(vocabulary) for vocabulary in state["vocabularies"]]
    check_weights(state["network"]["weights"], tagging_shapes(n_values, sizes["K"], options))


# K labels.
TAGGER = Schema(
    (
        Field("classes", labels),
        Field("n_columns", Range(Integral, 1)),
        Field("vocabularies", ListOf(_values)),
        Field("scheme", Choice(("iob2", None))),
        Field("network", network_of(TaggingOptions)),
        Field("fit_summary", _summary, optional=True),
        *TRAINING,
    ),
    rules=(check_best_epoch, _check_attributes, _check_weights),
)


def tagger_state(tagger: SequenceTagger) -> dict[str, Any]:
    """Return the state of a fitted tagger; see `SequenceTagger.to_state`."""
    network, summary = tagger.net_.module_, tagger.fit_summary_
    return {
        "classes": tagger.classes_,
        "vocabularies": tagger.vocabularies_,
        "n_columns": tagger.n_columns_,
        "scheme": "iob2" if network.has_rules else None,
        "network": {"options": network.options.to_plain(), "weights": tagger.net_.weights},
        "fit_summary": None if summary is None else summary.to_dict(),
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
        check(TAGGER, state)
        summary = state["fit_summary"]
        sizes = [_n_values(vocabulary) for vocabulary in state["vocabularies"]]
        options = TaggingOptions.from_plain(state["network"]["options"])
        chunks = chunks_of(state["classes"]) if state["scheme"] else None
        weights, device = state["network"]["weights"], device_of(state)
        net = stored_tagging_net(sizes, len(state["classes"]), chunks, options, weights, device)
    return {
        "classes_": state["classes"].copy(),
        "vocabularies_": state["vocabularies"],
        "n_columns_": state["n_columns"],
        "net_": net,
        "fit_summary_": None if summary is None else TrainingSummary.from_dict(summary),
        **restored_training(state),
    }
