"""The fitted state of an AttentionTranslator as arrays and plain values, and back."""

from __future__ import annotations

from collections.abc import Mapping
from reprlib import repr as brief  # a value from a file may be as long as the file
from typing import TYPE_CHECKING, Any

import numpy as np

from sk_han.fitted_state import device_of, restored_training, restoring, training_state
from sk_han.options.network_state import check_weights
from sk_han.translation.options import TranslationOptions, translation_shapes
from sk_han.translation.training import stored_translation_net
from sk_han.validation.fitted_state import check_names, check_training, checked_network

if TYPE_CHECKING:
    from sk_han.translation.translator import AttentionTranslator

__all__ = ["check_translator_state", "translator_attributes", "translator_state"]

_NAMES = {
    "best_epoch",
    "best_score",
    "capitals",
    "device",
    "forms",
    "glued",
    "history",
    "network",
    "source_tokenizer",
    "target_tokenizer",
}


def translator_state(translator: AttentionTranslator) -> dict[str, Any]:
    """Return the state of a fitted translator; see `AttentionTranslator.to_state`."""
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
        sizes, options = check_translator_state(state)
        net = stored_translation_net(sizes, options, state["network"]["weights"], device_of(state))
    own = ("source_tokenizer", "target_tokenizer", "forms", "capitals")
    return {
        **{f"{name}_": state[name] for name in own},
        "glued_": state["glued"].copy(),
        "net_": net,
        **restored_training(state),
    }


def check_translator_state(state: Any) -> tuple[tuple[int, int], TranslationOptions]:
    """Check the fitted state of an `AttentionTranslator`.

    Parameters
    ----------
    state : mapping
        As `AttentionTranslator.to_state` returns it.

    Returns
    -------
    sizes : tuple of int
        Vocabulary sizes of source and target.
    options : TranslationOptions

    Raises
    ------
    ValueError
        If an entry is missing or invalid; the message names it.
    """
    check_names(state, _NAMES)
    sizes = []
    for side in ("source", "target"):
        vocabulary = getattr(state[f"{side}_tokenizer"], "vocabulary_", None)
        if not vocabulary:
            raise ValueError(f"its {side} tokenizer is no fitted HierarchicalTokenizer")
        sizes.append(max(vocabulary.values()) + 1)
    forms, glued = state["forms"], state["glued"]
    if not isinstance(forms, list) or not all(isinstance(form, str) for form in forms):
        raise ValueError("its forms are no list of strings")
    if len(forms) != sizes[1]:
        raise ValueError(f"it has {len(forms)} forms for {sizes[1]} target words")
    if not isinstance(glued, np.ndarray) or (glued.shape, glued.dtype.kind) != ((sizes[1],), "i"):
        raise ValueError(f"its glued must be {sizes[1]} integers; got {brief(glued)}")
    if len(glued) and not (glued.min() >= 0 and glued.max() <= 3):
        raise ValueError("its glued holds numbers that are not from 0 to 3")
    if not isinstance(state["capitals"], bool):
        raise ValueError(f"its capitals must be true or false; got {brief(state['capitals'])}")
    network = checked_network(state)
    options = TranslationOptions.from_plain(network["options"])
    check_weights(network["weights"], translation_shapes(sizes[0], sizes[1], options))
    check_training(state)
    return (sizes[0], sizes[1]), options
