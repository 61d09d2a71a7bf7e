"""Pairs of texts that users hand over, checked."""

from __future__ import annotations

from typing import Any

from sk_han.validation.texts import _as_list, _as_texts


def check_pairs(sources: Any, targets: Any, names: tuple[str, str]) -> tuple[list[str], list[str]]:
    """Return texts and their translations as lists of strings, by `check_texts`.

    Messages call them by these names, and tell the number of the pair.
    """
    if targets is None:
        raise ValueError(
            "This AttentionTranslator estimator requires y to be passed, but the target y is None: "
            f"give {names[1]}, the translations of {names[0]}."
        )
    lists = [_listed(texts, name) for texts, name in zip((sources, targets), names, strict=True)]
    lengths = [len(texts) for texts in lists]
    if lengths[0] != lengths[1]:
        raise ValueError(
            f"{names[0]} has {lengths[0]} texts and {names[1]} has {lengths[1]}; each source needs "
            "the target at the same place."
        )
    if not lengths[0]:
        raise ValueError(f"Found 0 pair(s) while a minimum of 1 is required: {names[0]} is empty.")
    first, second = (
        _as_texts(texts, 0, f"{name} of pair {{}}")
        for texts, name in zip(lists, names, strict=True)
    )
    return first, second


def _listed(texts: Any, name: str) -> list[Any]:
    try:
        return _as_list(texts)
    except (TypeError, ValueError) as error:
        if type(error) not in (TypeError, ValueError):  # of an iterator of the user
            raise
        raise type(error)(f"{name}: {error}") from None
