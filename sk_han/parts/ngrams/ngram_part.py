"""What the dense and the sparse n-gram model share: hash values that they know, state, words."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sk_han.documents import DocumentArray
from sk_han.parts.ngrams.hashing import (
    BITS,
    Occurrences,
    batches,
    check_ngram_range,
    column_table,
    known_ngrams,
)
from sk_han.parts.pool import Part
from sk_han.storage.schema import Array, Field, Sizes
from sk_han.targets import Target
from sk_han.utils.containers import Floats, Integers

_MOST_WORDS = 1 << 31  # of an n-gram that a document can have

# Far beyond what fits find: ratios are logarithms of counts, or their squares. Sums of these and of
# their squares over the n-grams of a document stay within single precision.
LARGEST_RATIO, LARGEST_WEIGHT = 1e6, 1e12


class NgramAttributions(NamedTuple):
    """What each occurrence of a known n-gram brings to a score."""

    keys: NDArray[np.uint64]  # as of `hashing.keyed_ngrams`
    first_words: Integers  # positions in `DocumentArray.word_ids`
    sizes: Integers  # in words
    values: Floats


def _check_range(value: Any, where: str, sizes: Sizes) -> None:
    """Check a range of a state."""
    # What is no number is not shown: it may be as long as the file.
    is_pair = isinstance(value, list) and [type(n) for n in value] == [int, int]
    if not is_pair or value[0] > _MOST_WORDS:
        raise ValueError(f"its {where} is no range: it must be two numbers of words")
    try:
        check_ngram_range(tuple(value))
    except ValueError as error:
        raise ValueError(f"its {where} is no range: {error}") from error


# Of the schema of each kind; f n-grams.
NGRAM_FIELDS = (
    Field("ngram_range", _check_range),
    Field("buckets", Array("int64", "f", 0, (1 << BITS) - 1, rising=True)),
)


@dataclass(frozen=True)
class NgramPart(Part):
    """A part whose scores are sums over the n-grams of a document that it knows."""

    target: Target
    ngram_range: tuple[int, int]
    buckets: Integers  # (F,), hash values of the known n-grams, in rising order

    sums_ngrams = True

    @cached_property
    def _column_table(self) -> NDArray[np.int32]:
        """Look-up table of `column_table`; a binary search took a third of the time."""
        return column_table(self.buckets)

    def to_state(self) -> dict[str, Any]:
        """Return the learnt state as arrays and plain values."""
        state = {field.name: getattr(self, field.name) for field in fields(self)}
        del state["target"]
        return state | {"ngram_range": list(self.ngram_range)}

    @classmethod
    def from_state(cls, state: Mapping[str, Any], target: Target, device: str = "cpu") -> Any:
        """Create a model from the result of `to_state`, which has been checked by `SCHEMA`."""
        learnt = {name: state[name].copy() for name in state if name != "ngram_range"}
        return cls(target, tuple(state["ngram_range"]), **learnt)

    def attributions(self, documents: DocumentArray, factors: Floats) -> Floats:
        """Divide a linear score of the logits among the words, exactly, (T,).

        That of an n-gram is divided evenly among its occurrences and, there, among its words. The
        intercept belongs to no word.
        """
        pairs = zip(batches(documents), batches(factors), strict=True)
        return np.concatenate(
            [_over_words(self.ngram_attributions(*pair), pair[0].n_words) for pair in pairs]
        )

    @abstractmethod
    def ngram_attributions(self, documents: DocumentArray, factors: Floats) -> NgramAttributions:
        """Divide a linear score of the logits of a batch among the occurrences of n-grams."""

    def _known(self, documents: DocumentArray) -> Occurrences:
        return known_ngrams(documents, self.ngram_range, self._column_table)


def _over_words(found: NgramAttributions, n_words: int) -> Floats:
    """Divide what n-grams bring evenly among their words, (T,)."""
    word_values = found.values / found.sizes
    contributions = np.zeros(n_words)
    for k in range(int(found.sizes.max(initial=0))):
        reaches = found.sizes > k
        contributions += np.bincount(found.first_words[reaches] + k, word_values[reaches], n_words)
    return contributions
