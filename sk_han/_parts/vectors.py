"""The part of sentence vectors: a linear model of one vector for each document."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sk_han._documents import Coalitions, DocumentArray, SentenceArray, chunk_slices
from sk_han._parts.pool import Part
from sk_han._storage.schema import Array, Field, Schema
from sk_han._targets import Target
from sk_han._utils.containers import Floats

# A sentence is weighted by the fourth root of its number of words: a long sentence says more than a
# short one, but less than its share of the words. On training documents of four corpora the loss
# was lower than with equal weights.
_POWER = 0.25
_SENTENCES_AT_ONCE = 1 << 14
# Lower limit of the length of a sum of vectors, which avoids a division by 0.
_SMALLEST = 1e-12


@dataclass(frozen=True, eq=False)
class VectorModel(Part):
    """A linear classifier of centered document vectors; see `document_vectors`."""

    center: Floats  # (E,), mean of the training documents
    weights: Floats  # (E, K)
    intercept: Floats  # (K,)

    kind = "vectors"
    SCHEMA = Schema(
        (
            Field("center", Array("float64", "E")),
            Field("weights", Array("float64", "E K")),
            Field("intercept", Array("float64", "K")),
        )
    )

    def logits(self, documents: DocumentArray) -> Floats:
        """Score documents, (D, K); the score of one without sentences is the intercept."""
        z: Floats = self.intercept + centred_vectors(documents, self.center) @ self.weights
        return z

    def coalitions(self, documents: DocumentArray, coalitions: Coalitions) -> Floats:
        """Score sets of sentences, (M, K), from the scores and inner products of sentences.

        The vector of a set is a normalized sum, so no text is encoded again.
        """
        scores = np.tile(self.intercept, (len(coalitions.lengths), 1))
        set_of = np.repeat(np.arange(len(scores)), coalitions.lengths)
        first = documents.document_starts
        document_of = np.searchsorted(first, coalitions.sentences, side="right") - 1
        order = np.argsort(document_of, kind="stable")
        of_center = self.center @ self.weights
        for members in np.split(order, np.flatnonzero(np.diff(document_of[order])) + 1):
            if not len(members):
                continue
            document = document_of[members[0]]
            vectors = weighted_vectors(documents, slice(first[document], first[document + 1]))
            sets, row = np.unique(set_of[members], return_inverse=True)
            is_in = np.zeros((len(sets), len(vectors)))  # (m, S)
            is_in[row, coalitions.sentences[members] - first[document]] = 1
            squares = ((is_in @ (vectors @ vectors.T)) * is_in).sum(axis=1)
            lengths = np.sqrt(squares.clip(_SMALLEST**2))[:, np.newaxis]
            scores[sets] += is_in @ (vectors @ self.weights) / lengths - of_center
        return scores

    def attributions(self, documents: DocumentArray, factors: Floats) -> Floats:
        """Divide a linear score of the logits, minus that of an empty document, among words, (T,).

        With the length of the document's sum held fixed, the score is a sum over its sentences,
        each less its weighted share of the center. Words of a sentence get equal parts.
        """
        n = documents.sentences_per_document
        document = np.repeat(np.arange(len(documents)), n)
        vectors = weighted_vectors(documents, slice(None))
        sums = np.zeros((len(documents), len(self.center)))
        sums[n > 0] = np.add.reduceat(vectors, documents.document_starts[:-1][n > 0])
        lengths = np.linalg.norm(sums, axis=1).clip(_SMALLEST)
        slopes = factors @ self.weights.T  # (D, E)
        weights = documents.words_per_sentence**_POWER
        shares = weights / np.bincount(document, weights, len(n))[document]
        of_sentences = np.einsum("ne,ne->n", vectors, slopes[document]) / lengths[document]
        of_sentences -= shares * (slopes @ self.center)[document]
        words: Floats = np.repeat(
            of_sentences / documents.words_per_sentence, documents.words_per_sentence
        )
        return words

    def to_state(self) -> dict[str, Any]:
        """Return the arrays."""
        return {"center": self.center, "weights": self.weights, "intercept": self.intercept}

    @classmethod
    def from_state(cls, state: Any, target: Target, device: str) -> VectorModel:
        """Restore a part."""
        return cls(**{name: array.copy() for name, array in state.items()})


def centred_vectors(documents: DocumentArray, center: Floats) -> Floats:
    """Return document vectors minus the center, (D, E); zeros for documents without sentences."""
    vectors = document_vectors(documents) - center
    vectors[documents.sentences_per_document == 0] = 0
    return vectors


def document_vectors(documents: DocumentArray) -> Floats:
    """Return the weighted sum of each document's sentence vectors, of length 1, (D, E)."""
    assert isinstance(documents, SentenceArray)
    sums = np.zeros((len(documents), documents.dimension))
    n = documents.sentences_per_document
    for rows in chunk_slices(n, _SENTENCES_AT_ONCE):
        starts = documents.document_starts[rows.start : rows.stop + 1]
        has_any = np.flatnonzero(n[rows])
        vectors = weighted_vectors(documents, slice(starts[0], starts[-1]))
        if len(has_any):
            sums[rows.start + has_any] = np.add.reduceat(vectors, starts[has_any] - starts[0])
    sums /= np.linalg.norm(sums, axis=1, keepdims=True).clip(_SMALLEST)
    return sums


def weighted_vectors(documents: DocumentArray, sentences: slice) -> NDArray[np.float64]:
    """Return the vectors of a slice of sentences, multiplied by their weights, (n, E)."""
    assert isinstance(documents, SentenceArray)
    weights = documents.words_per_sentence[sentences] ** _POWER
    vectors = documents.vectors[documents.sentence_numbers[sentences]].astype(np.float64)
    weighted: NDArray[np.float64] = vectors * weights[:, np.newaxis]
    return weighted
