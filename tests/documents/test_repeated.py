"""Documents with the words of another one, and salted hashes by which they are known again."""

import numpy as np
import pytest

from sk_han import DocumentArray, SentenceArray
from sk_han._documents.repeated import (
    TextHashes,
    conflicting_rows,
    first_of_same_words,
    groups_of_same,
    text_key,
)

DOCUMENTS = DocumentArray.from_nested(
    [[[2, 3], [4]], [], [[2, 3, 4]], [[4, 3, 2]], [], [[2]], [[2, 3], [4]]]
)


def test_the_same_words_in_the_same_order_are_repeated():
    assert first_of_same_words(DOCUMENTS).tolist() == [0, 1, 0, 3, 4, 5, 0]


def test_documents_of_unknown_words_are_not_taken_for_the_same():
    documents = DocumentArray.from_nested([[[1, 1]], [[2, 1]], [[1, 1]], [[2, 1]]])
    assert first_of_same_words(documents).tolist() == [0, 1, 2, 1]
    vectors = SentenceArray.from_vectors(np.random.RandomState(0).rand(3, 4, 2))
    assert first_of_same_words(vectors.words()).tolist() == [0, 1, 2]


def test_all_documents_of_the_same_words_conflict_if_one_has_another_class():
    first = first_of_same_words(DOCUMENTS)
    assert conflicting_rows(first, np.array([1, 0, 1, 0, 1, 0, 0])).tolist() == [0, 2, 6]
    assert conflicting_rows(first, np.array([1, 0, 1, 0, 1, 0, 1])).tolist() == []


@pytest.mark.parametrize(
    ("text", "other", "same"),
    [
        ("A fine film.", "a fine film", True),
        ("A fine film.", "A  fine\nfilm!!", True),
        ("A fine film.", "«A fine film.»", True),
        ("A fine film.", "A fine films.", False),
        ("A fine film.", "A film fine.", False),
        ("A fine film.", "A fine film 2.", False),
        ("? !", "?!", True),
        ("?!", ":-)", False),
    ],
)
def test_case_blanks_and_punctuation_do_not_tell_documents_apart(text, other, same):
    assert (text_key(text) == text_key(other)) is same


@pytest.mark.parametrize(
    ("keys", "groups"),
    [([], []), (["b", "a", "c", "b", "a"], [[0, 3], [1, 4]]), (["", "a", "", "a"], [[1, 3]])],
)
def test_only_keys_that_occur_again_are_a_group(keys, groups):
    assert groups_of_same(keys) == groups


SALT = np.arange(16, dtype=np.uint8)
HASHED = DocumentArray.from_nested([[[2, 3], [4]], [[5]], [], [[1, 1, 2]], [[1, 6]], [[2, 1, 5]]])


def test_the_same_words_are_known_again_however_sentences_end():
    hashes = TextHashes.of(HASHED, SALT)
    others = DocumentArray.from_nested([[[2], [3, 4]], [[4, 3, 2]], [[5]], [[5, 5]], []])
    assert hashes.known(others).tolist() == [True, False, True, False, False]
    # Documents of unknown words are like no other.
    assert hashes.known(HASHED).tolist() == [True, True, False, False, False, True]
    assert hashes.are_compared(HASHED).tolist() == [True, True, False, False, False, True]
    assert len(hashes.hashes) == 3
    np.testing.assert_array_equal(
        TextHashes.of(HASHED[:1], SALT).and_of(HASHED[1:]).hashes, hashes.hashes
    )
