"""The members of the family, and which of their options go together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["CHOICES", "STRUCTURE", "check_choice", "check_family", "check_same_structure"]

CHOICES: dict[str, tuple[str | None, ...]] = {
    "rnn": ("gru", "lstm", "rnn"),
    "pooling": ("attention", "mean", "max", "last"),
    "attention": ("softmax", "sparsemax", "entmax15"),
    "context": (None, "forward", "bidirectional"),
    "context_pooling": ("mean", "sum"),
}

# Parameters that say what the weights of a network are, and so cannot change while it learns on.
STRUCTURE = (
    "embedding_dim",
    "word_hidden",
    "sentence_hidden",
    "attention_dim",
    "rnn",
    "num_layers",
    "bidirectional",
    "pooling",
    "attention",
    "attention_hops",
    "context",
    "context_pooling",
    "context_gated",
)


def check_family(
    *,
    rnn: str,
    pooling: str,
    attention: str,
    attention_hops: int,
    diversity_penalty: float,
    context: str | None,
    context_pooling: str,
) -> None:
    """Refuse options that do not exist or exclude each other.

    Several hops and context are kinds of attention, and each is a kind of its own. The diversity
    penalty is for attention as well, and without it would change the loss all the same. Settings
    of a kind that is switched off have no effect, as everywhere in scikit-learn.

    Raises
    ------
    ValueError
        Naming the options and the repair.
    """
    given = {
        "rnn": rnn,
        "pooling": pooling,
        "attention": attention,
        "context": context,
        "context_pooling": context_pooling,
    }
    for name, value in given.items():
        check_choice(name, value, CHOICES[name])
    if attention_hops < 1:
        raise ValueError(f"attention_hops must be at least 1; got {attention_hops}.")
    if attention != "softmax" and pooling != "attention":
        raise ValueError(
            f"attention={attention!r} says how attention weighs, and pooling={pooling!r} has none. "
            "Set attention='softmax', or pooling='attention'."
        )
    if attention_hops > 1 and pooling != "attention":
        raise ValueError(
            f"attention_hops={attention_hops} asks for attention, and pooling={pooling!r} has "
            "none. Set attention_hops=1, or pooling='attention'."
        )
    if diversity_penalty > 0 and pooling != "attention":
        raise ValueError(
            f"diversity_penalty={diversity_penalty} keeps the states apart that attention chooses "
            f"from, and pooling={pooling!r} has none. Set diversity_penalty=0, or "
            "pooling='attention'."
        )
    if context is not None and pooling != "attention":
        raise ValueError(
            f"context={context!r} stands inside attention, and pooling={pooling!r} has none. Set "
            "context=None, or pooling='attention'."
        )
    if context is not None and attention_hops > 1:
        raise ValueError(
            f"context={context!r} and attention_hops={attention_hops} are two kinds of attention. "
            "Set context=None, or attention_hops=1."
        )


def check_choice(name: str, value: str | None, choices: tuple[str | None, ...]) -> None:
    """Refuse a value that is none of these.

    Raises
    ------
    ValueError
        Naming the option, the values there are and the one that was given.
    """
    if value not in choices:
        options = ", ".join(map(repr, choices))
        raise ValueError(f"{name} must be one of {options}; got {value!r}.")


def check_same_structure(params: Mapping[str, Any], fitted: Mapping[str, Any]) -> None:
    """Refuse to go on training with a network of another structure than the fitted one."""
    for name in STRUCTURE:
        if params[name] != fitted[name]:
            raise ValueError(
                f"{name} is {params[name]!r} now, and {fitted[name]!r} in the fitted network, "
                "which training cannot go on from. Set it back, or fit anew."
            )
