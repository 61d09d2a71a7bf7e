"""The fitted state of an AttentionTranslator as arrays and plain values, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sk_han.inspection.results.training_summary import TrainingSummary
from sk_han.options.base import Choice, InstanceOf
from sk_han.storage.network_schema import check_weights, network_of
from sk_han.storage.schema import Array, Field, ListOf, Schema, Sizes, check
from sk_han.storage.training_record import TRAINING, check_best_epoch
from sk_han.text.tokenizer_state import FittedTokenizer
from sk_han.training.stateful import device_of, restored_training, restoring, training_state
from sk_han.translation.options import TranslationOptions, translation_shapes
from sk_han.translation.training import stored_translation_net

if TYPE_CHECKING:
    from sk_han.translation.translator import AttentionTranslator

__all__ = ["TRANSLATOR", "translator_attributes", "translator_state"]


def _summary(value: Any, where: str, sizes: Sizes) -> None:
    TrainingSummary.from_dict(value)


def _check_weights(state: Mapping[str, Any], where: str, sizes: Sizes) -> None:
    options = TranslationOptions.from_plain(state["network"]["options"])
    shapes = translation_shapes(sizes["V"], sizes["T"], options)
    check_weights(state["network"]["weights"], shapes)


# V word ids of sources, T of translations.
TRANSLATOR = Schema(
    (
        Field("source_tokenizer", FittedTokenizer("V")),
        Field("target_tokenizer", FittedTokenizer("T")),
        Field("forms", ListOf(InstanceOf(str), length="T")),
        Field("glued", Array("int64", "T", 0, 3)),
        Field("capitals", Choice((False, True))),
        Field("network", network_of(TranslationOptions)),
        Field("fit_summary", _summary, optional=True),
        *TRAINING,
    ),
    rules=(check_best_epoch, _check_weights),
)


def translator_state(translator: AttentionTranslator) -> dict[str, Any]:
    """Return the state of a fitted translator; see `AttentionTranslator.to_state`."""
    summary = translator.fit_summary_
    return {
        "source_tokenizer": translator.source_tokenizer_,
        "target_tokenizer": translator.target_tokenizer_,
        "forms": translator.forms_,
        "glued": translator.glued_,
        "capitals": translator.capitals_,
        "network": {
            "options": translator.net_.module_.options.to_plain(),
            "weights": translator.net_.weights,
        },
        "fit_summary": None if summary is None else summary.to_dict(),
        **training_state(translator),
    }


def translator_attributes(state: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fitted attributes of a translator's state, after a check of all its entries.

    Raises
    ------
    ModelFormatError
        If an entry is missing or invalid.
    """
    with restoring("AttentionTranslator"):
        sizes = check(TRANSLATOR, state)
        summary = state["fit_summary"]
        options = TranslationOptions.from_plain(state["network"]["options"])
        weights, n_ids = state["network"]["weights"], (sizes["V"], sizes["T"])
        net = stored_translation_net(n_ids, options, weights, device_of(state))
    own = ("source_tokenizer", "target_tokenizer", "forms", "capitals")
    return {
        **{f"{name}_": state[name] for name in own},
        "glued_": state["glued"].copy(),
        "net_": net,
        "fit_summary_": None if summary is None else TrainingSummary.from_dict(summary),
        **restored_training(state),
    }
