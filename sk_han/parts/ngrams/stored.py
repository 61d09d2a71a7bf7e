"""The linear models of a stored classifier."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sk_han.parts.ngrams.model import NgramModel

__all__ = ["stored_models"]


def stored_models(state: Mapping[str, Any]) -> tuple[NgramModel | None, NgramModel | None]:
    """Return the n-gram model and the latent model of a fitted state.

    Raises
    ------
    ValueError
        If one is invalid.
    """
    ngram_model, latent_model = (_restored(state, name) for name in ("ngram_model", "latent_model"))
    if latent_model is not None:
        _check_latent(latent_model)
    return ngram_model, latent_model


def _restored(state: Mapping[str, Any], name: str) -> NgramModel | None:
    model = state.get(name)  # older files have no latent model
    return None if model is None else NgramModel.from_state(model, len(state["classes"]))


def _check_latent(model: NgramModel) -> None:
    """Check a restored model for what distinguishes it from other n-gram models."""
    if model.ratios.shape[1] != 1 or model.counts is not None:
        raise ValueError("its latent model has ratios of each class, or counts")
    if model.ratios.min(initial=0) < 0:
        raise ValueError("the ratios of its latent model are squares, and some are negative")
