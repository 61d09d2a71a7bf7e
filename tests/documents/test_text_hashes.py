"""Salted hashes of the words of documents."""

import numpy as np

from sk_han.documents import DocumentArray
from sk_han.documents.repeated import TextHashes

SALT = np.arange(16, dtype=np.uint8)
DOCUMENTS = DocumentArray.from_nested(
    [[[2, 3], [4]], [[5]], [], [[1, 1, 2]], [[1, 6]], [[2, 1, 5]]]
)


def test_the_same_words_are_known_again_however_sentences_end():
    hashes = TextHashes.of(DOCUMENTS, SALT)
    others = DocumentArray.from_nested([[[2], [3, 4]], [[4, 3, 2]], [[5]], [[5, 5]], []])
    assert hashes.known(others).tolist() == [True, False, True, False, False]


def test_documents_of_unknown_words_are_like_no_other():
    hashes = TextHashes.of(DOCUMENTS, SALT)
    assert hashes.known(DOCUMENTS).tolist() == [True, True, False, False, False, True]
    assert len(hashes.hashes) == 3


def test_another_salt_gives_other_hashes():
    others = TextHashes.of(DOCUMENTS, SALT + np.uint8(1))
    assert not np.isin(others.hashes, TextHashes.of(DOCUMENTS, SALT).hashes).any()


def test_further_documents_are_added_once():
    both = TextHashes.of(DOCUMENTS[:1], SALT).and_of(DOCUMENTS)
    np.testing.assert_array_equal(both.hashes, TextHashes.of(DOCUMENTS, SALT).hashes)
    assert np.all(np.diff(both.hashes.astype(object)) > 0)
