"""The linear models of a stored classifier."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sk_han.parts.ngrams.model import NgramModel

__all__ = ["stored_models"]


def stored_models(state: Mapping[str, Any]) -> tuple[NgramModel | None, NgramModel | None]:
    """Return the n-gram model and the latent model of a checked fitted state."""
    ngrams, latent = state["ngram_model"], state["latent_model"]
    return (
        None if ngrams is None else NgramModel.from_state(ngrams),
        None if latent is None else NgramModel.from_state(latent),
    )
