"""Documents in portions of a bounded number of words."""

import numpy as np
import pytest

from sk_han import DocumentArray
from sk_han.linear import hashing
from sk_han.linear.hashing import portions


@pytest.fixture(autouse=True)
def five_words(monkeypatch):
    monkeypatch.setattr(hashing, "_WORDS_AT_ONCE", 5)


def of_lengths(*lengths):
    return DocumentArray.from_nested([[[2] * length] if length else [] for length in lengths])


def lengths_of(documents):
    return [portion.words_per_document.tolist() for portion in portions(documents)]


@pytest.mark.parametrize("lengths", [(), (3,), (0, 0), (2, 3), (0, 5, 0, 1, 13, 2, 0, 4, 1, 1)])
def test_every_document_is_in_one_and_in_order(lengths):
    found = lengths_of(of_lengths(*lengths))
    assert [length for portion in found for length in portion] == list(lengths)


def test_a_portion_has_at_most_so_many_words_beside_its_first_document():
    lengths = np.random.RandomState(0).randint(0, 9, 200)
    found = lengths_of(of_lengths(*lengths.tolist()))
    assert all(sum(portion[1:]) <= 5 for portion in found)
    assert len(found) > 100


def test_few_documents_are_not_copied():
    documents = of_lengths(2, 3)
    assert next(portions(documents)) is documents


def test_no_documents_are_a_portion_too():
    assert lengths_of(of_lengths()) == [[]]
