"""The model of characters: n-grams within words, for texts that are full of new words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sk_han.documents import (
    UNKNOWN_ID,
    DocumentArray,
    LabelledDocuments,
    code_points,
    concatenated_ranges,
    divided,
    starts_of,
)
from sk_han.parts.ngrams.model import NgramModel
from sk_han.parts.ngrams.ngram_part import NgramPart
from sk_han.parts.ngrams.sparse_model import SparseNgramModel
from sk_han.parts.pool import Part
from sk_han.storage.schema import Array, Field, Schema, Sizes, Variants
from sk_han.targets import Target
from sk_han.utils.containers import Floats

_BOUNDARY = 1  # stands before and behind each word
_FIRST = 2  # number of the first character of Unicode
_WORDS_AT_ONCE = 1 << 17  # of documents whose characters are in memory
_LONGEST = 1_000  # characters of a word that are read


class WordTable(NamedTuple):
    """How the words of a vocabulary are written, for words of documents that do not know it."""

    characters: NDArray[np.int32]  # code points, word after word
    lengths: NDArray[np.int32]  # (V,), of each word id; 0 of ids without a word

    @classmethod
    def of(cls, words: Mapping[str, int], vocabulary_size: int) -> WordTable:
        """Return the table of words with their ids."""
        of_id = [""] * vocabulary_size
        for word, number in words.items():
            of_id[number] = word[:_LONGEST]
        return cls(*code_points(of_id))

    def read(self, documents: DocumentArray) -> DocumentArray:
        """Return the same documents with words for sentences, and their characters for words."""
        codes, lengths, rows = *self, documents.word_ids
        if documents.spelling is not None:
            types, words = documents.spelling.used()
            found = code_points([word[:_LONGEST] for word in words])
            rows = np.where(types >= 0, types, len(words) + documents.word_ids)
            codes, lengths = (np.concatenate(pair) for pair in zip(found, self, strict=True))
        of_word = lengths[rows].astype(np.int64)
        starts = starts_of(of_word + 2)
        characters = np.full(starts[-1], _BOUNDARY, dtype=np.int32)
        inside = concatenated_ranges(starts[:-1] + 1, of_word)
        characters[inside] = codes[concatenated_ranges(starts_of(lengths)[rows], of_word)] + _FIRST
        return DocumentArray._checked(characters, starts, documents.word_starts)

    def read_labelled(self, data: LabelledDocuments) -> LabelledDocuments:
        """Return the same for documents with labels."""
        return LabelledDocuments(self.read(data.documents), data.targets, data.weights, data.groups)


def knows_words(documents: DocumentArray) -> bool:
    """Return whether the vocabulary or the documents know how all words are written."""
    unknown = documents.word_ids == UNKNOWN_ID
    if documents.spelling is not None:
        unknown &= documents.spelling.types < 0
    return not unknown.any()


def n_characters(documents: DocumentArray) -> int:
    """Count the characters of documents that know how their words are written."""
    assert documents.spelling is not None
    types, words = documents.spelling
    counts = np.bincount(types[types >= 0], minlength=len(words))
    return int(counts @ np.fromiter(map(len, words), np.int64, len(words)))


def words_by_id(documents: DocumentArray) -> dict[str, int]:
    """Return the words of documents that know how they are written, with their ids."""
    if documents.spelling is None:
        return {}
    types, words = documents.spelling.used()
    ids = np.zeros(len(words), dtype=np.int64)
    ids[types[types >= 0]] = documents.word_ids[types >= 0]
    pairs = zip(words, ids.tolist(), strict=True)
    return {word: number for word, number in pairs if number > UNKNOWN_ID}


def _check_learnt(state: Mapping[str, Any], where: str, sizes: Sizes) -> None:
    if state["lengths"].sum(dtype=np.int64) != len(state["characters"]):
        raise ValueError(f"its {where}.lengths do not sum to the number of characters")


@dataclass(frozen=True)
class CharacterModel(Part):
    """A linear classifier on the n-grams of characters within the words of a document.

    Its model of n-grams reads a document whose words are sentences, and their characters words.
    It knows what a vocabulary does not: forms of words, compounds, misspellings. As a latent model
    it knows what directions text without labels has in these n-grams.
    """

    ngrams: NgramPart
    table: WordTable

    kind = "characters"
    kinds: ClassVar[dict[str, Any]] = {each.kind: each for each in (NgramModel, SparseNgramModel)}
    # c characters of the vocabulary, V word ids.
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("characters", Array("int32", "c", 0, 0x10FFFF)),
            Field("lengths", Array("int32", "V", 0, _LONGEST)),
            Field("ngrams", Variants("kind", {name: each.SCHEMA for name, each in kinds.items()})),
        ),
        rules=(_check_learnt,),
    )

    def check(self, documents: DocumentArray) -> None:
        """Check that it is known how all words are written."""
        if not knows_words(documents):
            raise ValueError(
                "The documents have words that the vocabulary lacks, and do not hold how these are "
                "written, as word ids alone do not. This model reads the characters of all words. "
                "Give raw texts, or what the tokenizer makes of them; or fit with "
                "linear_chars=None."
            )

    def logits(self, documents: DocumentArray) -> Floats:
        """Score documents, (D, K)."""
        some = divided(documents, _WORDS_AT_ONCE)
        return np.concatenate([self.ngrams.logits(self.table.read(each)) for each in some])

    def attributions(self, documents: DocumentArray, factors: Floats) -> Floats:
        """Divide a linear score of the logits among the words, (T,): a word has its characters'."""
        characters = self.table.read(documents)
        found = self.ngrams.attributions(characters, factors)
        starts = characters.sentence_starts[:-1]
        return np.add.reduceat(found, starts) if len(starts) else np.zeros(0)

    def to_state(self) -> dict[str, Any]:
        """Return the learnt state as arrays and plain values."""
        ngrams = {"kind": self.ngrams.kind, **self.ngrams.to_state()}
        return {**self.table._asdict(), "ngrams": ngrams}

    @classmethod
    def from_state(
        cls, state: Mapping[str, Any], target: Target, device: str = "cpu"
    ) -> CharacterModel:
        """Create a model from the result of `to_state`, which has been checked by `SCHEMA`."""
        table = WordTable(*(state[name].copy() for name in WordTable._fields))
        learnt = dict(state["ngrams"])
        return cls(cls.kinds[learnt.pop("kind")].from_state(learnt, target, device), table)
