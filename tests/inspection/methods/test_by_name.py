import numpy as np
import pytest

from sk_han import DocumentArray, SentenceArray
from sk_han.documents import each_sentence_alone
from sk_han.inspection.methods.by_name import without_each


def left_out(documents, level, max_words=65_536):
    """Copies of documents without each word or sentence, as lists, and the rows of documents."""
    edges = np.arange(documents.n_words + 1) if level == "word" else documents.sentence_starts
    batches = list(without_each(documents, edges, max_words))
    rows = [row for rows, _ in batches for row in rows.tolist()]
    return rows, [document for _, copies in batches for document in copies.to_nested()]


@pytest.mark.parametrize("least", [0, 3, 1_000])
def test_marked_words_stay_in_their_sentences_and_documents_stay(documents, nested_ids, least):
    expected = [
        [chosen for sentence in document if (chosen := [i for i in sentence if i >= least])]
        for document in nested_ids
    ]
    assert documents.keep_words(documents.word_ids >= least).to_nested() == expected


def test_sentences_alone_stay_in_order_and_empty_documents_give_none(documents, nested_ids):
    expected = [[sentence] for document in nested_ids for sentence in document]
    assert each_sentence_alone(documents).to_nested() == expected


def test_a_sentence_alone_keeps_its_vector():
    X = SentenceArray.from_vectors([np.eye(3), np.zeros((0, 3)), 2 * np.eye(3)[:2]])
    alone = each_sentence_alone(X[[2, 0]])
    assert alone.sentences_per_document.tolist() == [1, 1, 1, 1, 1]
    expected = np.concatenate([2 * np.eye(3)[:2], np.eye(3)])
    np.testing.assert_array_equal(alone.sentence_vectors(), expected)


@pytest.mark.parametrize("max_words", [1, 7, 23, 10_000])
def test_each_word_and_sentence_is_left_out_once_in_reading_order(documents, nested_ids, max_words):
    words, sentences = [], []
    for row, document in enumerate(nested_ids):
        for i, sentence in enumerate(document):
            before, after = document[:i], document[i + 1 :]
            sentences.append((row, [*before, *after]))
            for j in range(len(sentence)):
                shorter = sentence[:j] + sentence[j + 1 :]
                words.append((row, [*before, *[shorter] * bool(shorter), *after]))
    for level, expected in (("word", words), ("sentence", sentences)):
        found = left_out(documents, level, max_words)
        assert list(zip(*found, strict=True)) == expected


def test_batches_hold_as_many_copies_as_fit():
    # Copies of 3 words before the removal: two fit into 7, and not three.
    one = DocumentArray.from_nested([[[2, 3, 4]]])
    assert [len(rows) for rows, _ in without_each(one, np.arange(4), 7)] == [2, 1]


def test_documents_without_words_have_nothing_to_leave_out():
    assert left_out(DocumentArray.from_nested([[], []]), "word") == ([], [])
    assert left_out(DocumentArray.from_nested([]), "sentence") == ([], [])
