"""One class of several: the score that explanations explain."""

import numpy as np
import pytest

from sk_han._targets import OneOfClasses

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
