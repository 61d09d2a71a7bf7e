"""Pool: the sum of the scaled logits of its parts."""

import numpy as np
import pytest

from sk_han import DocumentArray
from sk_han._documents import Coalitions
from sk_han._parts import Pool
from tests.tiny_targets import classes

DOCUMENTS = DocumentArray.from_nested([[[2, 3], [4]], [[2]]])


class Says:
    """A part of the same logits for each document, or one that must not be asked."""

    kind = "says"

    def __init__(self, logits=None):
        self.values = logits

    def logits(self, documents):
        assert self.values is not None, "asked"
        return np.tile(self.values, (len(documents), 1))

    def coalitions(self, documents, coalitions):
        assert self.values is not None, "asked"
        return np.tile(self.values, (len(coalitions.lengths), 1))

    def attributions(self, documents, factors):
        assert self.values is not None, "asked"
        return np.ones(documents.n_words) * factors[0, 0]


@pytest.fixture
def pool():
    parts = {"one": Says([1.0, 2.0]), "nothing": Says()}
    return Pool(classes(2), parts, {"one": 3.0, "nothing": 0.0})


def test_a_part_of_scale_0_is_not_asked(pool):
    np.testing.assert_array_equal(pool.logits(DOCUMENTS), [[3.0, 6.0]] * 2)
    np.testing.assert_array_equal(pool.attributions(DOCUMENTS, np.ones((2, 2))), 3 * np.ones(4))
    sets = Coalitions(np.array([0, 1, 2]), np.array([1, 2]))
    assert pool.coalitions(DOCUMENTS, sets).tolist() == [[3.0, 6.0]] * 2


def test_parts_are_added_in_double_precision_and_none_have_no_opinion():
    # In single precision 2 ** 24 + 1 is 2 ** 24.
    parts = {"one": Says(np.float32([2**24, 0])), "other": Says(np.float32([1, 0]))}
    pool = Pool(classes(2), parts, dict.fromkeys(parts, 1.0))
    np.testing.assert_array_equal(pool.logits(DOCUMENTS), [[2**24 + 1, 0]] * 2)
    np.testing.assert_array_equal(Pool(classes(2), {}, {}).logits(DOCUMENTS), np.zeros((2, 2)))


def test_a_part_counts_that_has_a_scale_for_a_label(pool):
    both = Pool(pool.target, pool.parts, {"one": np.array([0.0, 2.0]), "nothing": np.zeros(2)})
    np.testing.assert_array_equal(both.logits(DOCUMENTS), [[0.0, 4.0]] * 2)
