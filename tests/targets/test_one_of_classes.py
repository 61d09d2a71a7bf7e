"""One class of several: probabilities, and the score that explanations explain."""

import numpy as np
import pytest

from sk_han._targets import OneOfClasses
from sk_han._targets.one_of_classes import log_softmax, softmax

THREE = OneOfClasses(np.array(["a", "b", "c"]))


def test_log_odds_of_certain_documents_are_finite():
    logits = np.array([[900.0, -900.0, 0.0], [-900.0, 900.0, 900.0]])
    of = np.array([1, 0])
    assert THREE.log_odds(logits, of).tolist() == [-1800.0, pytest.approx(-1800 - np.log(2))]
    expected = [[-1, 1, 0], [1, -0.5, -0.5]]
    np.testing.assert_allclose(THREE.factors(logits, of), expected, atol=1e-12)


def test_large_logits_overflow_nowhere():
    logits = np.array([[1e300, 0.0], [-1e300, 0.0]])
    with np.errstate(all="raise"):
        assert softmax(logits).tolist() == [[1, 0], [0, 1]]
        assert log_softmax(logits).tolist() == [[0, -1e300], [-1e300, 0]]
