"""The fitted attributes of an estimator that are views of its pool."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from sk_han.parts import Pool
from sk_han.parts.pool import CHARACTERS, LATENT, NETWORK, NGRAMS
from sk_han.training.net import Net


def _part(name: str) -> Any:
    return property(lambda self: self.pool_.parts.get(name), doc=f"The part {name!r}, or None.")


def _scale(name: str) -> Any:
    doc = f"The factor of the logits of the part {name!r}; 0 without it."
    return property(lambda self: self.pool_.scales.get(name, 0.0), doc=doc)


class PoolViews:
    """What an estimator with a pool shows of it, read-only; see `HANClassifier`."""

    pool_: Pool

    ngram_model_, latent_model_, character_model_ = map(_part, (NGRAMS, LATENT, CHARACTERS))
    network_scale_, ngram_scale_ = _scale(NETWORK), _scale(NGRAMS)
    latent_scale_, character_scale_ = _scale(LATENT), _scale(CHARACTERS)

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels, in the order of the columns of `predict_proba`."""
        return self.pool_.target.names

    @property
    def net_(self) -> Net:
        """The fitted skorch net."""
        net: Net = self.pool_.network.net
        return net
