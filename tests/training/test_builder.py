"""How many documents a step takes, and how long training goes on."""

import pytest

from sk_han.training.builder import batch_size_for, epochs_for, epochs_of


@pytest.mark.parametrize(
    ("n_documents", "batch_size"),
    [(1, 16), (2_500, 16), (2_501, 32), (5_000, 32), (5_001, 64), (1_000_000, 64)],
)
def test_few_documents_go_in_small_batches(n_documents, batch_size):
    assert batch_size_for("auto", n_documents) == batch_size


def test_a_number_of_documents_a_step_is_taken_as_it_is():
    assert batch_size_for(7, 100_000) == 7


@pytest.mark.parametrize(
    ("n_documents", "batch_size", "n_epochs"),
    [
        (1, 16, 20),
        (320, 16, 20),
        (1_600, 16, 4),  # 100 steps an epoch, 400 in all
        (3_200, 32, 5),
        (6_400, 64, 6),
        (20_480, 64, 2),
        (10**6, 64, 2),
        (1_600, 64, 20),
        (1_600, 1, 2),
    ],
)
def test_auto_takes_a_number_of_steps_in_2_to_20_epochs(n_documents, batch_size, n_epochs):
    assert epochs_for("auto", n_documents, batch_size) == n_epochs


def test_a_number_of_epochs_is_taken_as_it_is():
    assert epochs_for(7, 100_000, batch_size=64) == 7


@pytest.mark.parametrize(
    ("n_samples", "n_epochs"), [(0, 20), (1, 20), (6_400, 6), (17_580, 2), (138_000, 1)]
)
def test_few_samples_are_read_several_times(n_samples, n_epochs):
    assert epochs_of(600, n_samples, batch_size=64, least=1, most=20) == n_epochs
