"""The fitted state of an AttentionTranslator as arrays and plain values, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sk_han.fitting.single_network import fitted_state, network_fields, restored_attributes
from sk_han.options.base import Choice, InstanceOf
from sk_han.storage.network_schema import check_weights
from sk_han.storage.schema import Array, Field, ListOf, Schema, Sizes, check
from sk_han.storage.training_record import check_best_epoch
from sk_han.text.tokenizer_state import FittedTokenizer
from sk_han.training.stateful import restoring
from sk_han.translation.options import TranslationOptions, translation_shapes
from sk_han.translation.training import translation_net

if TYPE_CHECKING:
    from sk_han.translation.translator import AttentionTranslator


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
        *network_fields(TranslationOptions),
    ),
    rules=(check_best_epoch, _check_weights),
)


def translator_state(translator: AttentionTranslator) -> dict[str, Any]:
    """Return the state of a fitted translator; see `AttentionTranslator.to_state`."""
    return {
        "source_tokenizer": translator.source_tokenizer_,
        "target_tokenizer": translator.target_tokenizer_,
        "forms": translator.forms_,
        "glued": translator.glued_,
        "capitals": translator.capitals_,
        **fitted_state(translator),
    }


def translator_attributes(state: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fitted attributes of a translator's state, or raise ModelFormatError."""
    own = ("source_tokenizer", "target_tokenizer", "forms", "capitals")
    with restoring("AttentionTranslator"):
        sizes = check(TRANSLATOR, state)
        return {
            **{f"{name}_": state[name] for name in own},
            "glued_": state["glued"].copy(),
            **restored_attributes(
                state,
                TranslationOptions.from_plain(state["network"]["options"]),
                translation_net,
                source_size=sizes["V"],
                target_size=sizes["T"],
            ),
        }
