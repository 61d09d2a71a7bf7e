import numpy as np
import pytest

from sk_han.inspection.suspects import suspected_labels


def of_second(*values):
    return np.column_stack([1 - np.array(values), np.array(values)])


def test_the_threshold_of_a_class_is_its_mean_probability():
    # The documents labelled 1 have 0.8 of it on average.
    targets = np.array([0, 0, 1, 1])
    assert suspected_labels(of_second(0.1, 0.81, 0.7, 0.9), targets).tolist() == [1]
    assert suspected_labels(of_second(0.1, 0.79, 0.7, 0.9), targets).tolist() == []


def test_the_smallest_margin_comes_first():
    probabilities = of_second(0.1, 0.9, 0.99, 0.05, 0.8, 0.7)
    assert suspected_labels(probabilities, np.array([0, 0, 0, 1, 1, 1])).tolist() == [2, 3, 1]


def test_a_class_without_documents_is_suspected_nowhere():
    probabilities = np.array([[0.3, 0.1, 0.6], [0.8, 0.1, 0.1], [0.1, 0.9, 0.0]])
    assert suspected_labels(probabilities, np.array([0, 0, 1])).tolist() == []


@pytest.mark.parametrize("n_documents", [0, 1])
def test_few_documents_are_no_error(n_documents):
    targets = np.zeros(n_documents, dtype=np.int64)
    assert len(suspected_labels(np.full((n_documents, 2), 0.5), targets)) == 0


def test_most_of_flipped_labels_and_no_others_are_found():
    random = np.random.default_rng(0)
    targets = random.integers(3, size=607)
    probabilities = np.full((607, 3), 0.05) + 0.85 * np.eye(3)[targets]
    probabilities = random.dirichlet([1, 1, 1], 607) * 0.3 + probabilities * 0.7
    flipped = random.choice(607, 31, replace=False)
    targets[flipped] = (targets[flipped] + 1) % 3
    found = set(suspected_labels(probabilities, targets))
    assert found <= set(flipped)
    assert len(found) > len(flipped) / 2
