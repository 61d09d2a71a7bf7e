"""Parts of a model, which score documents, and the pool that adds up their scores."""

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

Scale = float | Floats  # one for all labels, or one for each, (K,)

# Names of parts: the network, and linear models.
NETWORK = "network"
NGRAMS, CHARACTERS = "ngrams", "characters"
LATENT, LATENT_CHARACTERS = "latent", "latent_characters"
VECTORS = "vectors"  # of sentences, by an encoder
COLUMNS = "columns"  # of a table next to its texts

_WORDS_AT_ONCE = 1 << 18  # of the documents made from coalitions
_LARGEST_SCALE = 1e6  # far beyond those of fits; products with logits stay finite


class Part(ABC):
    """A model that scores documents; a `Pool` adds up the scores of its parts.

    A fitted part does not change. Loading one loads neither PyTorch nor SciPy.
    """

    kind: ClassVar[str]  # its name in files
    SCHEMA: ClassVar[Schema]  # of its state; letters: K scores, B binary problems

    @property
    def sums_ngrams(self) -> bool:
        """Whether its scores are sums over n-grams of words.

        It then has `ngram_range`, `ngram_attributions` and `class_weights` of an `NgramModel`.
        """
        return False

    def check(self, documents: DocumentArray) -> None:  # noqa: B027  (most read word ids alone)
        """Check that a user's documents hold what the part reads, or raise a ValueError."""

    @abstractmethod
    def logits(self, documents: DocumentArray) -> Floats:
        """Score documents, shape (D, K)."""

    def coalitions(self, documents: DocumentArray, coalitions: Coalitions) -> Floats:
        """Score sets of sentences of the documents, shape (M, K)."""
        portions = coalitions.portions(documents.words_per_sentence, _WORDS_AT_ONCE)
        return np.concatenate([self.logits(some.documents(documents)) for some in portions])

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


# Takes logits (n, K) of the network and the rows of their documents in the batch; returns the
# factor of each logit in a score, or in its slope at these logits, (n, K).
Score = Callable[[Floats, Any], Floats]


class NetworkPart(Part):
    """A network of words, sentences and documents, which pools them by attention."""

    kind = "network"
    SCHEMA = NETWORK_STATE

    @property
    @abstractmethod
    def batch_size(self) -> int:
        """Number of documents that it reads at once."""

    @abstractmethod
    def attend(self, documents: DocumentArray) -> Attribution:
        """Return logits and attention, without contributions."""

    @abstractmethod
    def gradient_attention(self, documents: DocumentArray, score: Score) -> Attribution:
        """Multiply the attention by the gradient of a score at it."""

    def attributions(self, documents: DocumentArray, factors: Floats) -> Floats:
        """Divide a linear score of the logits among the words; see `Part.attributions`."""
        return self.gradient_attention(documents, lambda logits, rows: factors[rows]).words


@dataclass(frozen=True, eq=False)
class Pool:
    """Parts, their scales, and the target: a logarithmic opinion pool (Heskes, 1998)."""

    target: Target
    parts: Mapping[str, Part]
    scales: Mapping[str, Scale]  # at least 0
    shift: Floats | float = 0.0  # added to the logits for other shares of the classes, (K,)

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
        """The factor of the logits of columns; 0 without them."""
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

    def scaled(self, factor: Scale) -> Pool:
        """Return the same parts with scales that are `factor` times as large."""
        scales = {name: scale * factor for name, scale in self.scales.items()}
        return Pool(self.target, self.parts, scales)

    def combined_with(self, other: Pool) -> Pool:
        """Return these parts followed by those of another pool."""
        parts, scales = {**self.parts, **other.parts}, {**self.scales, **other.scales}
        return Pool(self.target, parts, scales)

    def checked(self, documents: DocumentArray) -> DocumentArray:
        """Return a user's documents if all parts can read them, or raise a ValueError."""
        for part in self.parts.values():
            part.check(documents)
        return documents

    def logits(self, documents: DocumentArray) -> Floats:
        """Compute the sum of the scaled logits, shape (D, K)."""
        total = np.zeros((len(documents), len(self.target.names))) + self.shift
        for name, part in self._counting.items():
            total += self.scales[name] * part.logits(documents).astype(np.float64)
        return total

    def coalitions(self, documents: DocumentArray, coalitions: Coalitions) -> Floats:
        """Compute the sums for sets of sentences of documents, shape (M, K)."""
        total = np.zeros((len(coalitions.lengths), len(self.target.names))) + self.shift
        for name, part in self._counting.items():
            total += self.scales[name] * part.coalitions(documents, coalitions)
        return total

    def attributions(self, documents: DocumentArray, factors: Floats) -> Floats:
        """Divide a linear score of the pooled logits among the words, shape (n_words,)."""
        contributions = np.zeros(documents.n_words)
        for name, part in self._counting.items():
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
        """Restore a checked pool; `kinds` are the classes of parts by the names of their kinds."""
        target, parts, scales = target_from_state(state["target"]), {}, {}
        for name, stored in state["parts"].items():
            parts[name] = kinds[stored["kind"]].from_state(stored["learnt"], target, device)
            scales[name] = stored["scale"]
        return cls(target, parts, scales)

    @property
    def _counting(self) -> dict[str, Part]:
        """The parts whose scale is not 0; others need not be computed."""
        return {name: part for name, part in self.parts.items() if np.any(self.scales[name])}


def pool_fields(parts: Mapping[str, Kind], targets: Mapping[str, Schema]) -> tuple[Field, ...]:
    """Return the fields of a stored pool, given the schemas of parts and of targets."""
    of_parts = {
        kind: Schema((Field("scale", _check_scale), Field("learnt", fitted)))
        for kind, fitted in parts.items()
    }
    return (
        Field("target", Variants("kind", targets)),
        Field("parts", ByName(Variants("kind", of_parts))),
    )


def _check_scale(value: Any, where: str, sizes: Sizes) -> None:
    """Check a number, or one for each label."""
    one = Range(Real, 0, _LARGEST_SCALE)
    check(
        Array("float64", "K", 0, _LARGEST_SCALE) if isinstance(value, np.ndarray) else one,
        value,
        where,
        **sizes,
    )
