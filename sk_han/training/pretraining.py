"""Pre-training on text without labels: from one half of a document, guess what the other says.

A linear teacher, fitted on the few documents with labels, scores one half of each document, and
the network learns to predict this score from the other half. Given the class, the words of two
halves are nearly independent, and so are the teacher's errors and what the network reads: it cannot
learn to repeat them, as it would if both read the same words. (Co-training of Blum and Mitchell,
1998, with two parts of a text as the views, and probabilities in place of confident labels.)

A net trained on this data by the loss that labels have (PyTorch's cross-entropy takes
probabilities) gives its weights to the net that then learns from whole documents with labels, at a
third of the usual learning rate and in half of the usual epochs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sk_han.documents import DocumentArray, LabelledDocuments, concatenated_ranges, starts_of
from sk_han.documents.offsets import sampled_rows

PRETRAINING_BATCH_SIZE = 64
# Words of the documents whose halves are learnt from, which are in memory: 130,000 film reviews.
_MOST_WORDS = 1 << 25
_N_STEPS = 600  # on 20 newsgroups 1,400 steps (5 epochs) taught no more


def sample_to_pretrain(
    documents: DocumentArray, random_state: np.random.RandomState
) -> NDArray[np.int64]:
    """Return the rows of the documents to learn from: all, or a sample of 33 million words.

    Of many documents one epoch is enough, and of these a part: see `pretraining_epochs`.
    """
    words_per_document = documents.words_per_document
    if words_per_document.sum() <= _MOST_WORDS:
        return np.arange(len(documents))
    return np.sort(sampled_rows(words_per_document, _MOST_WORDS, random_state))


def halves(documents: DocumentArray) -> tuple[DocumentArray, DocumentArray]:
    """Divide each document: its first, third, ... sentence, and its second, fourth, ...

    A single sentence is cut in the middle. Of two consecutive parts of a document, such as plot
    and verdict, only one may tell the class; of alternating sentences both do. A document of a
    single word has an empty second half.
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
    """Give each half of a document the class probabilities (K,) that the teacher gives the other.

    First halves, then second ones; documents without two halves are left out. The teacher should
    be calibrated for halves: its errors in documents that it has not seen are then those it
    states. Both halves of a document with known `labels` (D, K), NaN elsewhere, have these
    instead.
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


def pretraining_epochs(n_halves: int, batch_size: int) -> int:
    """Return the number of epochs that make about 600 steps: 1 for many halves, at most 20."""
    steps_per_epoch = math.ceil(n_halves / batch_size)
    return min(max(round(_N_STEPS / max(steps_per_epoch, 1)), 1), 20)
