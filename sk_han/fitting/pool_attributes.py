"""The fitted attributes of an estimator that are views of its pool."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from sk_han.parts import Pool
from sk_han.parts.ngrams.character_model import CharacterModel
from sk_han.parts.ngrams.model import NgramModel
from sk_han.parts.pool import CHARACTERS, LATENT, LATENT_CHARACTERS, NETWORK, NGRAMS, Scale
from sk_han.training.net import Net


class PoolViews:
    """What an estimator with a pool shows of it, read-only; see `HANClassifier`."""

    pool_: Pool

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels, in the order of the columns of `predict_proba`."""
        return self.pool_.target.names

    @property
    def net_(self) -> Net:
        """The fitted skorch net."""
        net: Net = self.pool_.network.net
        return net

    @property
    def ngram_model_(self) -> NgramModel | None:
        """The linear model on n-grams."""
        return self.pool_.parts.get(NGRAMS)  # type: ignore[return-value]

    @property
    def latent_model_(self) -> NgramModel | None:
        """The latent model."""
        return self.pool_.parts.get(LATENT)  # type: ignore[return-value]

    @property
    def character_model_(self) -> CharacterModel | None:
        """The linear model on characters."""
        return self.pool_.parts.get(CHARACTERS)  # type: ignore[return-value]

    @property
    def latent_character_model_(self) -> CharacterModel | None:
        """The latent model on characters."""
        return self.pool_.parts.get(LATENT_CHARACTERS)  # type: ignore[return-value]

    @property
    def network_scale_(self) -> Scale:
        """The factor of the network's logits."""
        return self.pool_.scales[NETWORK]

    @property
    def ngram_scale_(self) -> Scale:
        """The factor of the n-gram model's logits; 0 without one."""
        return self.pool_.scales.get(NGRAMS, 0.0)

    @property
    def latent_scale_(self) -> Scale:
        """The factor of the latent model's logits; 0 without one."""
        return self.pool_.scales.get(LATENT, 0.0)

    @property
    def character_scale_(self) -> Scale:
        """The factor of the logits of the model of characters; 0 without one."""
        return self.pool_.scales.get(CHARACTERS, 0.0)

    @property
    def latent_character_scale_(self) -> Scale:
        """The factor of the logits of the latent model of characters; 0 without one."""
        return self.pool_.scales.get(LATENT_CHARACTERS, 0.0)
