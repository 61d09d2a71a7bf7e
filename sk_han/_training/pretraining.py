"""Pre-training on unlabelled text: predict a teacher's score of the other half of a document.

A linear teacher scores one half of each document, and the network learns to predict this score from
the other half. Given the class, the words of the halves are nearly independent, so the errors of
the teacher cannot be predicted from what the network reads, and it does not learn them. This is
co-training (Blum and Mitchell, 1998) whose views are two parts of a text, with probabilities
instead of confident labels.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sk_han._documents import DocumentArray, LabelledDocuments, concatenated_ranges, to_offsets
from sk_han._documents.array import sampled_rows

PRETRAINING_BATCH_SIZE = 64
# Words of the documents, which are in memory; as many as in 130,000 film reviews.
_MOST_WORDS = 1 << 25
# On 20 newsgroups, 1,400 steps (5 epochs) were no better.
PRETRAINING_STEPS = 600


def sample_to_pretrain(
    documents: DocumentArray, random_state: np.random.RandomState
) -> NDArray[np.int64]:
    """Return the rows of the documents to train on: all, or a sample of 33 million words."""
    words_per_document = documents.words_per_document
    if words_per_document.sum() <= _MOST_WORDS:
        return np.arange(len(documents))
    return np.sort(sampled_rows(words_per_document, _MOST_WORDS, random_state))


def halves(documents: DocumentArray) -> tuple[DocumentArray, DocumentArray]:
    """Divide each document into its odd and its even sentences.

    A single sentence is cut in the middle. Sentences alternate because only one of two consecutive
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
    """Take one piece of each sentence, and leave out empty pieces."""
    filled = lengths > 0
    n_sentences = np.bincount(document[filled], minlength=len(documents))
    words = concatenated_ranges(starts[filled], lengths[filled])
    return DocumentArray._from_arrays(
        documents.word_ids[words],
        to_offsets(lengths[filled]),
        to_offsets(n_sentences),
        documents.spelling and documents.spelling.at(words),
    )


def labelled_by_other_half(
    documents: DocumentArray,
    teacher: Callable[[DocumentArray], NDArray[Any]],
    *,
    labels: NDArray[np.float32] | None = None,
    weights: NDArray[np.float64] | None = None,
) -> LabelledDocuments:
    """Label each half of a document by the teacher's probabilities (K,) for the other half.

    Known `labels` (D, K) replace these; rows of unknown ones are NaN. First halves come first, then
    second halves. Documents without two halves are left out.
    """
    first, second = halves(documents)
    whole = (first.sentences_per_document > 0) & (second.sentences_per_document > 0)
    pair = first[whole], second[whole]
    guesses = [np.array(teacher(half), dtype=np.float32) for half in reversed(pair)]
    if labels is not None:
        has_label = ~np.isnan(labels[whole, 0])
        for guess in guesses:
            guess[has_label] = labels[whole][has_label]
    weights = np.ones(len(documents)) if weights is None else weights
    return LabelledDocuments(
        DocumentArray.concatenate(pair), np.concatenate(guesses), np.tile(weights[whole], 2)
    )
