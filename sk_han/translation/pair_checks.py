"""Pairs of texts that users hand over, checked."""

from __future__ import annotations

from typing import Any

from sk_han.validation.texts import _as_list, _as_texts

__all__ = ["check_pairs"]


def check_pairs(sources: Any, targets: Any, names: tuple[str, str]) -> tuple[list[str], list[str]]:
    """Check texts and their translations, and return both as lists of strings.

    Parameters
    ----------
    sources, targets : iterable of str
        As of `sk_han.validation.texts.check_texts`.
    names : tuple of str
        What messages call them, such as "source_texts".

    Raises
    ------
    ValueError, TypeError, UnicodeDecodeError
        As of `check_texts`, with the side and the number of the pair; or if there are no targets,
        or not as many as sources.

    Examples
    --------
    >>> from sk_han.translation.pair_checks import check_pairs
    >>> check_pairs(["Ein Hund."], ["A dog."], ("source_texts", "target_texts"))
    (['Ein Hund.'], ['A dog.'])
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
    checked = [
        _as_texts(texts, 0, f"{name} of pair {{}}")
        for texts, name in zip(lists, names, strict=True)
    ]
    return checked[0], checked[1]


def _listed(texts: Any, name: str) -> list[Any]:
    try:
        return _as_list(texts)
    except (TypeError, ValueError) as error:
        if type(error) not in (TypeError, ValueError):  # of an iterator of the user
            raise
        raise type(error)(f"{name}: {error}") from None
