"""Base class of the parts of a model, and the pool that adds up their scores."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, replace
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from sk_han._documents import Coalitions, DocumentArray
from sk_han._options import Range
from sk_han._storage.schema import (
    NETWORK_STATE,
    Array,
    ByName,
    Field,
    Kind,
    Schema,
    Sizes,
    Variants,
    check,
)
from sk_han._targets import Target, target_from_state
from sk_han._utils.containers import Floats

if TYPE_CHECKING:
    from sk_han._parts.columns import ColumnModel

# A scale is one number for all labels, or one for each, (K,).
Scale = float | Floats

# Names of parts in a pool: the network, and linear models, of which `VECTORS` reads sentence
# vectors of an encoder and `COLUMNS` the columns of a table.
NETWORK = "network"
NGRAMS, CHARACTERS = "ngrams", "characters"
LATENT, LATENT_CHARACTERS = "latent", "latent_characters"
VECTORS = "vectors"
COLUMNS = "columns"

# Words of the documents that are made from coalitions at once, which limits the memory.
_WORDS_AT_ONCE = 1 << 18
# Limit for scales in a file, far beyond those of fits, so that products with logits stay finite.
_LARGEST_SCALE = 1e6


class Part(ABC):
    """A fitted model that scores documents; a `Pool` adds up the scores of its parts.

    It is immutable. Its module must not import PyTorch or SciPy when it is loaded.
    """

    # Name in files, and schema of the state, in which K is the number of scores and B that of
    # binary problems.
    kind: ClassVar[str]
    SCHEMA: ClassVar[Schema]

    @property
    def sums_ngrams(self) -> bool:
        """Whether its scores are sums over n-grams of words.

        It then has `ngram_range`, `ngram_attributions` and `class_weights` of an `NgramModel`.
        """
        return False

    def check(self, documents: DocumentArray) -> None:  # noqa: B027  (most read word ids alone)
        """Raise an error if a user's documents lack what the part reads."""

    @abstractmethod
    def logits(self, documents: DocumentArray) -> Floats:
        """Score documents, shape (D, K)."""

    def coalitions(self, documents: DocumentArray, coalitions: Coalitions) -> Floats:
        """Score sets of sentences of the documents, shape (M, K)."""
        portions = coalitions.portions(documents.words_per_sentence, _WORDS_AT_ONCE)
        return np.concatenate([self.logits(sets.documents(documents)) for sets in portions])

    @abstractmethod
    def attributions(self, documents: DocumentArray, factors: Floats) -> Floats:
        """Divide a linear score of the logits, by factors (D, K), among the words, (T,)."""

    @abstractmethod
    def to_state(self) -> dict[str, Any]:
        """Return the fitted state as arrays and plain values."""

    @classmethod
    @abstractmethod
    def from_state(cls, state: Any, target: Target, device: str) -> Part:
        """Restore a part for a device from a state that `SCHEMA` has checked."""


class Attribution(NamedTuple):
    """Logits and attention of a batch of documents, and the contribution of each word."""

    logits: Floats  # (D, K)
    word_attention: Floats  # (T,)
    sentence_attention: Floats  # (N,)
    words: Floats  # contributions (T,) to a score; zeros without one


# A function of the network's logits (n, K) and of the rows of their documents in the batch, which
# returns the factor of each logit in a linear score, or in the gradient of another one, (n, K).
Score = Callable[[Floats, Any], Floats]


class NetworkPart(Part):
    """The hierarchical network: its scores come with attention weights of words and sentences."""

    kind = "network"
    SCHEMA = NETWORK_STATE

    @property
    @abstractmethod
    def batch_size(self) -> int:
        """Number of documents of a batch."""

    @abstractmethod
    def attend(self, documents: DocumentArray) -> Attribution:
        """Return logits and attention, without contributions."""

    @abstractmethod
    def gradient_attention(self, documents: DocumentArray, score: Score) -> Attribution:
        """Multiply attention by the gradient of a score with respect to it."""

    def attributions(self, documents: DocumentArray, factors: Floats) -> Floats:
        """Divide a linear score of the logits among the words; see `Part.attributions`."""
        return self.gradient_attention(documents, lambda logits, rows: factors[rows]).words


@dataclass(frozen=True, eq=False)
class Pool:
    """A logarithmic opinion pool (Heskes, 1998): parts, their scales, and the target."""

    target: Target
    parts: Mapping[str, Part]
    scales: Mapping[str, Scale]  # at least 0
    shift: Floats | float = 0.0  # (K,), added to the logits to adjust to other class priors

    @property
    def network(self) -> Any:
        """The part with attention."""
        return self.parts[NETWORK]

    @property
    def columns(self) -> ColumnModel | None:
        """The part that reads a table, if there is one."""
        part: Any = self.parts.get(COLUMNS)
        return part

    @property
    def columns_scale(self) -> Scale:
        """The scale of the part that reads a table; 0 without it."""
        return self.scales.get(COLUMNS, 0.0)

    @property
    def others(self) -> Pool:
        """The parts other than the network, and the shift."""
        return replace(self.only(self.parts.keys() - {NETWORK}), shift=self.shift)

    def only(self, names: Container[str]) -> Pool:
        """Return a pool of the parts with these names."""
        parts = {name: part for name, part in self.parts.items() if name in names}
        return Pool(self.target, parts, {name: self.scales[name] for name in parts})

    def without(self, names: Container[str]) -> Pool:
        """Return a pool of the other parts."""
        return self.only([name for name in self.parts if name not in names])

    def rescale(self, factor: Scale) -> Pool:
        """Return the same parts with scales multiplied by `factor`."""
        scales = {name: scale * factor for name, scale in self.scales.items()}
        return Pool(self.target, self.parts, scales)

    def combined_with(self, other: Pool) -> Pool:
        """Return these parts followed by those of another pool."""
        parts, scales = {**self.parts, **other.parts}, {**self.scales, **other.scales}
        return Pool(self.target, parts, scales)

    def validate(self, documents: DocumentArray) -> DocumentArray:
        """Return a user's documents; raise an error if a part cannot read them."""
        for part in self.parts.values():
            part.check(documents)
        return documents

    def logits(self, documents: DocumentArray) -> Floats:
        """Compute the sum of the scaled logits, shape (D, K)."""
        total = np.zeros((len(documents), len(self.target.names))) + self.shift
        for name, part in self._weighted_parts.items():
            total += self.scales[name] * part.logits(documents).astype(np.float64)
        return total

    def coalitions(self, documents: DocumentArray, coalitions: Coalitions) -> Floats:
        """Compute the sums for sets of sentences of documents, shape (M, K)."""
        total = np.zeros((len(coalitions.lengths), len(self.target.names))) + self.shift
        for name, part in self._weighted_parts.items():
            total += self.scales[name] * part.coalitions(documents, coalitions)
        return total

    def attributions(self, documents: DocumentArray, factors: Floats) -> Floats:
        """Divide a linear score of the pooled logits among the words, shape (n_words,)."""
        contributions = np.zeros(documents.n_words)
        for name, part in self._weighted_parts.items():
            contributions += part.attributions(documents, self.scales[name] * factors)
        return contributions

    def to_state(self) -> dict[str, Any]:
        """Return the pool as arrays and plain values."""
        return {
            "target": self.target.to_state(),
            "parts": {
                name: {"kind": part.kind, "scale": self.scales[name], "learnt": part.to_state()}
                for name, part in self.parts.items()
            },
        }

    @classmethod
    def from_state(
        cls, state: Mapping[str, Any], kinds: Mapping[str, type[Part]], device: str = "cpu"
    ) -> Pool:
        """Restore a pool from a checked state; `kinds` are the classes of parts by kind."""
        target, parts, scales = target_from_state(state["target"]), {}, {}
        for name, stored in state["parts"].items():
            parts[name] = kinds[stored["kind"]].from_state(stored["learnt"], target, device)
            scales[name] = stored["scale"]
        return cls(target, parts, scales)

    @property
    def _weighted_parts(self) -> dict[str, Part]:
        """The parts whose scale is not 0; the others need not be computed."""
        return {name: part for name, part in self.parts.items() if np.any(self.scales[name])}


def pool_fields(parts: Mapping[str, Kind], targets: Mapping[str, Schema]) -> tuple[Field, ...]:
    """Return the fields of a stored pool, from the schemas of its parts and targets."""
    of_parts = {
        kind: Schema((Field("scale", _check_scale), Field("learnt", fitted)))
        for kind, fitted in parts.items()
    }
    return (
        Field("target", Variants("kind", targets)),
        Field("parts", ByName(Variants("kind", of_parts))),
    )


def _check_scale(value: Any, where: str, sizes: Sizes) -> None:
    """Check a scale: a number, or an array with a number for each label."""
    one = Range(Real, 0, _LARGEST_SCALE)
    check(
        Array("float64", "K", 0, _LARGEST_SCALE) if isinstance(value, np.ndarray) else one,
        value,
        where,
        **sizes,
    )
