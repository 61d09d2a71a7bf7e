"""Which n-grams occur in which documents, and how often."""

import numpy as np
import pytest

from sk_han import DocumentArray
from sk_han._parts.ngram_fitting import count_ngrams, frequent_ngrams
from tests.ngram_models import hash_ngrams

# The pair 2 3 and the words 2 and 3 are in two documents; 5 twice in one.
DOCUMENTS = DocumentArray.from_nested([[[2, 3, 4]], [[2, 3], [5, 5]], [], [[6]]])


@pytest.mark.parametrize(
    ("least", "n_ngrams", "n_each"), [(1, 9, [6, 5, 0, 1]), (2, 3, [3, 3, 0, 0])]
)
def test_an_ngram_is_kept_that_is_in_enough_documents(least, n_ngrams, n_each):
    buckets, present = frequent_ngrams(DOCUMENTS, (1, 3), least)
    assert present.shape == (4, n_ngrams)
    assert present.has_sorted_indices
    assert np.diff(present.indptr).tolist() == n_each
    expected = count_ngrams(DOCUMENTS, (1, 3), buckets)
    np.testing.assert_array_equal(present.toarray(), expected.toarray())
    assert (buckets.dtype, present.dtype) == (np.int64, np.float32)
    assert np.all(np.diff(buckets) > 0)


def test_occurrences_are_counted_or_marked():
    buckets, counts = frequent_ngrams(DOCUMENTS, (1, 1), 1, binary=False)
    five = buckets == hash_ngrams(DocumentArray.from_nested([[[5]]]), (1, 1))[0]
    assert counts[:, five].toarray().ravel().tolist() == [0, 2, 0, 0]
    assert counts.sum() == 3 + 4 + 1
    _, marked = frequent_ngrams(DOCUMENTS, (1, 1), 1)
    np.testing.assert_array_equal(marked.toarray(), counts.toarray() > 0)
