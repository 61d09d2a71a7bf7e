from __future__ import annotations

import numpy as np
import pytest

from sk_han import DocumentArray, SentenceArray
from sk_han.documents import each_sentence_alone
from sk_han.inspection.methods.perturbation import without_each_sentence, without_each_word

EVERY_BATCH_SIZE = pytest.mark.parametrize("max_words", [1, 7, 23, 10_000])


def nested(batches):
    return [document for batch in batches for document in batch.to_nested()]


class TestKeepWords:
    @pytest.mark.parametrize("least", [0, 3, 1_000])
    def test_marked_words_stay_in_their_sentences_and_documents_stay(
        self, documents, nested_ids, least
    ) -> None:
        expected = [
            [chosen for sentence in document if (chosen := [i for i in sentence if i >= least])]
            for document in nested_ids
        ]
        assert documents.keep_words(documents.word_ids >= least).to_nested() == expected


class TestEachSentenceAlone:
    def test_sentences_stay_in_order_and_empty_documents_give_none(
        self, documents, nested_ids
    ) -> None:
        expected = [[sentence] for document in nested_ids for sentence in document]
        assert each_sentence_alone(documents).to_nested() == expected

    def test_a_sentence_keeps_its_vector(self) -> None:
        X = SentenceArray.from_vectors([np.eye(3), np.zeros((0, 3)), 2 * np.eye(3)[:2]])
        alone = each_sentence_alone(X[[2, 0]])
        assert alone.sentences_per_document.tolist() == [1, 1, 1, 1, 1]
        expected = np.concatenate([2 * np.eye(3)[:2], np.eye(3)])
        np.testing.assert_array_equal(alone.sentence_vectors(), expected)


class TestWithoutEach:
    @EVERY_BATCH_SIZE
    def test_each_word_is_left_out_once_in_reading_order(
        self, documents, nested_ids, max_words
    ) -> None:
        expected = []
        for document in nested_ids:
            for i, sentence in enumerate(document):
                for j in range(len(sentence)):
                    shorter = sentence[:j] + sentence[j + 1 :]
                    expected.append([*document[:i], *[shorter] * bool(shorter), *document[i + 1 :]])
        assert nested(without_each_word(documents, max_words)) == expected

    @EVERY_BATCH_SIZE
    def test_each_sentence_is_left_out_once_in_reading_order(
        self, documents, nested_ids, max_words
    ) -> None:
        expected = [
            document[:i] + document[i + 1 :]
            for document in nested_ids
            for i in range(len(document))
        ]
        assert nested(without_each_sentence(documents, max_words)) == expected

    def test_batches_hold_as_many_copies_as_fit(self) -> None:
        # Copies of 3 words before the removal: two fit into 7, and not three.
        one = DocumentArray.from_nested([[[2, 3, 4]]])
        assert [len(batch) for batch in without_each_word(one, 7)] == [2, 1]

    def test_documents_without_words_have_nothing_to_leave_out(self) -> None:
        assert list(without_each_word(DocumentArray.from_nested([[], []]))) == []
        assert list(without_each_sentence(DocumentArray.from_nested([]))) == []
