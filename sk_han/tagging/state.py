"""The fitted state of a SequenceTagger as arrays and plain values, and back."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import TYPE_CHECKING, Any

import torch

from sk_han.fitting.single_network import fitted_state, network_fields, restored_attributes
from sk_han.options.base import Choice, Range
from sk_han.storage.network_schema import check_weights
from sk_han.storage.schema import Field, ListOf, Schema, Sizes, check
from sk_han.storage.stored_labels import labels
from sk_han.storage.training_record import check_best_epoch
from sk_han.tagging.attributes import N_FROM_WORD, n_values
from sk_han.tagging.options import TaggingOptions, tagging_shapes
from sk_han.tagging.token_checks import chunks_of
from sk_han.tagging.training import tagging_net
from sk_han.text.tokenizer_state import words
from sk_han.training.stateful import restoring

if TYPE_CHECKING:
    from sk_han.tagging.tagger import SequenceTagger


def _values(value: Any, where: str, sizes: Sizes) -> None:
    """Check the ids of an attribute's values: a kind of a schema."""
    if value != {}:  # no training token has one
        words(value, where, sizes)
        if max(value.values()) >= n_values(value):
            raise ValueError(f"its {where} of {len(value)} values has an id beyond them")


def _check_attributes(state: Mapping[str, Any], where: str, sizes: Sizes) -> None:
    expected = N_FROM_WORD - 1 + state["n_columns"]
    if len(state["vocabularies"]) != expected:
        raise ValueError(f"its vocabularies must be a list of {expected}, one for each attribute")


def _check_weights(state: Mapping[str, Any], where: str, sizes: Sizes) -> None:
    options = TaggingOptions.from_plain(state["network"]["options"])
    shapes = tagging_shapes([n_values(v) for v in state["vocabularies"]], sizes["K"], options)
    check_weights(state["network"]["weights"], shapes)


# K labels.
TAGGER = Schema(
    (
        Field("classes", labels),
        Field("n_columns", Range(Integral, 1)),
        Field("vocabularies", ListOf(_values)),
        Field("scheme", Choice(("iob2", None))),
        *network_fields(TaggingOptions),
    ),
    rules=(check_best_epoch, _check_attributes, _check_weights),
)


def tagger_state(tagger: SequenceTagger) -> dict[str, Any]:
    """Return the state of a fitted tagger; see `SequenceTagger.to_state`."""
    return {
        "classes": tagger.classes_,
        "vocabularies": tagger.vocabularies_,
        "n_columns": tagger.n_columns_,
        "scheme": "iob2" if tagger.net_.module_.has_rules else None,
        **fitted_state(tagger),
    }


def tagger_attributes(state: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fitted attributes of a tagger's state, or raise ModelFormatError."""
    with restoring("SequenceTagger"):
        check(TAGGER, state)
        classes, vocabularies = state["classes"], state["vocabularies"]
        return {
            "classes_": classes.copy(),
            "vocabularies_": vocabularies,
            "n_columns_": state["n_columns"],
            **restored_attributes(
                state,
                TaggingOptions.from_plain(state["network"]["options"]),
                tagging_net,
                sizes=[n_values(vocabulary) for vocabulary in vocabularies],
                n_classes=len(classes),
                chunks=torch.from_numpy(chunks_of(classes)) if state["scheme"] else None,
            ),
        }
