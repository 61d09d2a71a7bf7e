"""Documents with the words of another one."""

import numpy as np

from sk_han import DocumentArray
from sk_han.documents.repeated import conflicting_rows, first_of_same_words

DOCUMENTS = DocumentArray.from_nested(
    [[[2, 3], [4]], [], [[2, 3, 4]], [[4, 3, 2]], [], [[2]], [[2, 3], [4]]]
)


def test_the_same_words_in_the_same_order_are_repeated():
    assert first_of_same_words(DOCUMENTS).tolist() == [0, 1, 0, 3, 4, 5, 0]


def test_documents_of_a_folder_are_compared_too(tmp_path):
    DOCUMENTS.save(tmp_path / "documents")
    stored = DocumentArray.open(tmp_path / "documents")
    rows = np.array([6, 3, 0, 5])
    assert first_of_same_words(stored[rows]).tolist() == [0, 1, 0, 3]


def test_all_documents_of_the_same_words_conflict_if_one_has_another_class():
    first = first_of_same_words(DOCUMENTS)
    assert conflicting_rows(first, np.array([1, 0, 1, 0, 1, 0, 0])).tolist() == [0, 2, 6]


def test_repeated_documents_of_one_class_do_not_conflict():
    first = first_of_same_words(DOCUMENTS)
    assert conflicting_rows(first, np.array([1, 0, 1, 0, 1, 0, 1])).tolist() == []
