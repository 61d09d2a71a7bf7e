"""Pre-training on text without labels: from one half of a document, guess what the other says.

A linear teacher scores one half of each document, and the network learns its score from the other
half. Given the class, the words of two halves are nearly independent, and so are the teacher's
errors and what the network reads, which cannot learn to repeat them. (Co-training of Blum and
Mitchell, 1998, with two parts of a text as the views, and probabilities for confident labels.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sk_han._documents import DocumentArray, LabelledDocuments, concatenated_ranges, starts_of
from sk_han._documents.array import sampled_rows

PRETRAINING_BATCH_SIZE = 64
# Most words of the documents to pre-train on, which are held in memory: 130,000 film reviews.
_MOST_WORDS = 1 << 25
PRETRAINING_STEPS = 600  # on 20 newsgroups 1,400 steps (5 epochs) were no better


def sample_to_pretrain(
    documents: DocumentArray, random_state: np.random.RandomState
) -> NDArray[np.int64]:
    """Return the rows of the documents to learn from: all, or a sample of 33 million words."""
    words_per_document = documents.words_per_document
    if words_per_document.sum() <= _MOST_WORDS:
        return np.arange(len(documents))
    return np.sort(sampled_rows(words_per_document, _MOST_WORDS, random_state))


def halves(documents: DocumentArray) -> tuple[DocumentArray, DocumentArray]:
    """Divide each document: its first, third, ... sentence, and its second, fourth, ...

    A single sentence is cut in the middle. Sentences alternate, since only one of two consecutive
    parts, such as plot and verdict, may indicate the class.
    """
    document = np.repeat(np.arange(len(documents)), documents.sentences_per_document)  # (N,)
    place = np.arange(documents.n_sentences) - documents.document_starts[document]
    alone = documents.sentences_per_document[document] == 1
    lengths = documents.words_per_sentence
    starts = documents.sentence_starts[:-1]
    cut = np.where(alone, (lengths + 1) // 2, np.where(place % 2 == 0, lengths, 0))
    return (
        _pieces(documents, document, starts, cut),
        _pieces(documents, document, starts + cut, lengths - cut),
    )


def _pieces(
    documents: DocumentArray,
    document: NDArray[np.int64],
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
) -> DocumentArray:
    """Take one piece of each sentence, and leave out sentences without a word."""
    some = lengths > 0
    n_sentences = np.bincount(document[some], minlength=len(documents))
    words = concatenated_ranges(starts[some], lengths[some])
    return DocumentArray._checked(
        documents.word_ids[words],
        starts_of(lengths[some]),
        starts_of(n_sentences),
        documents.spelling and documents.spelling.at(words),
    )


def labelled_by_other_half(
    documents: DocumentArray,
    teacher: Callable[[DocumentArray], NDArray[Any]],
    *,
    labels: NDArray[np.float32] | None = None,
    weights: NDArray[np.float64] | None = None,
) -> LabelledDocuments:
    """Give each half of a document the class probabilities (K,) of the other, or known `labels`.

    First halves, then second ones; documents without two halves are left out. Labels (D, K) are NaN
    where they are not known.
    """
    first, second = halves(documents)
    whole = (first.sentences_per_document > 0) & (second.sentences_per_document > 0)
    pair = first[whole], second[whole]
    guesses = [np.array(teacher(half), dtype=np.float32) for half in reversed(pair)]
    if labels is not None:
        known = ~np.isnan(labels[whole, 0])
        for guess in guesses:
            guess[known] = labels[whole][known]
    weights = np.ones(len(documents)) if weights is None else weights
    return LabelledDocuments(
        DocumentArray.concatenate(pair), np.concatenate(guesses), np.tile(weights[whole], 2)
    )
