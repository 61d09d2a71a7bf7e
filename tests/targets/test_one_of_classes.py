"""One class of several: probabilities, and the score that explanations explain."""

import numpy as np
import pytest

from sk_han._targets import OneOfClasses
from sk_han._targets.one_of_classes import log_softmax, softmax
from sk_han._targets.target import log_sigmoid

THREE = OneOfClasses(np.array(["a", "b", "c"]))


def test_log_odds_leave_the_class_out_of_the_others():
    logits, of = np.array([[1.0, 2.0, 3.0]]), np.array([1])
    assert THREE.log_odds(logits, of) == pytest.approx(2 - np.log(np.exp(1) + np.exp(3)))
    q = np.exp([1, 3]) / np.exp([1, 3]).sum()
    np.testing.assert_allclose(THREE.factors(logits, of)[0], [-q[0], 1, -q[1]], atol=1e-15)


def test_log_odds_of_certain_documents_are_finite():
    logits = np.array([[900.0, -900.0, 0.0], [-900.0, 900.0, 900.0]])
    of = np.array([1, 0])
    assert THREE.log_odds(logits, of).tolist() == [-1800.0, pytest.approx(-1800 - np.log(2))]
    expected = [[-1, 1, 0], [1, -0.5, -0.5]]
    np.testing.assert_allclose(THREE.factors(logits, of), expected, atol=1e-12)


def test_labels_that_are_no_classes_are_told_with_the_classes():
    with pytest.warns(UserWarning, match=r"know, 'd': .* The classes are 'a', 'b', 'c'\.$"):
        assert THREE.known(["a", "d"]).tolist() == [0, -1]


def test_the_most_frequent_classes_keep_their_documents():
    target, rows, t = THREE.restrict_to_top(np.array([2, 0, 2, 1, 0, 2, 1, 0]), 2)
    assert target.names.tolist() == ["a", "c"]
    assert rows.tolist() == [0, 1, 2, 4, 5, 7]
    assert target.names[t].tolist() == ["c", "a", "c", "a", "c", "a"]


def test_probabilities_worked_by_hand():
    logits, expected = np.log([[1.0, 2.0, 5.0]]), [[1 / 8, 2 / 8, 5 / 8]]
    for added in (0, 7):  # a number added to all logits changes nothing
        np.testing.assert_allclose(softmax(logits + added), expected)
        np.testing.assert_allclose(log_softmax(logits + added), np.log(expected), atol=1e-15)


def test_large_logits_overflow_nowhere():
    logits = np.array([[1e300, 0.0], [-1e300, 0.0]])
    with np.errstate(all="raise"):
        assert softmax(logits).tolist() == [[1, 0], [0, 1]]
        assert log_softmax(logits).tolist() == [[0, -1e300], [-1e300, 0]]


def test_sigmoids_are_finite_at_both_ends():
    found = log_sigmoid(np.array([-1e4, 0.0, 1e4]))
    np.testing.assert_allclose(found, [-1e4, -np.log(2), 0])
