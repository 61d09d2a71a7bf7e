import numpy as np

from sk_han._targets.one_of_classes import log_softmax, softmax
from sk_han._targets.target import log_sigmoid


def test_probabilities_worked_by_hand():
    found = softmax(np.log([[1.0, 2.0, 5.0], [3.0, 3.0, 2.0]]))
    np.testing.assert_allclose(found, [[1 / 8, 2 / 8, 5 / 8], [3 / 8, 3 / 8, 2 / 8]])


def test_a_number_added_to_all_logits_of_a_document_changes_nothing():
    logits = np.array([[0.0, 1.0, -2.0]])
    np.testing.assert_allclose(softmax(logits + 7.0), softmax(logits))


def test_large_logits_overflow_nowhere():
    with np.errstate(all="raise"):
        assert softmax(np.array([[1e300, 0.0], [-1e300, 0.0]])).tolist() == [[1, 0], [0, 1]]


class TestLogSoftmax:
    def test_it_is_the_logarithm_of_the_probabilities(self):
        logits = np.log([[1.0, 2.0, 5.0], [3.0, 3.0, 2.0]])
        np.testing.assert_allclose(log_softmax(logits), np.log(softmax(logits)), atol=1e-15)

    def test_it_is_finite_where_a_probability_rounds_to_zero(self):
        with np.errstate(all="raise"):
            found = log_softmax(np.array([[2000.0, 0.0], [-1e300, 0.0]]))
        assert found.tolist() == [[0, -2000], [-1e300, 0]]


def test_sigmoids_are_finite_at_both_ends():
    found = log_sigmoid(np.array([-1e4, 0.0, 1e4]))
    np.testing.assert_allclose(found, [-1e4, -np.log(2), 0])
