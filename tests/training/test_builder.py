"""How many documents a step takes, and how long training goes on."""

import pytest

from sk_han._training.builder import batch_size_for, epochs_for, epochs_of


@pytest.mark.parametrize(
    ("given", "n_documents", "batch_size"),
    [
        ("auto", 1, 16),
        ("auto", 2_500, 16),
        ("auto", 2_501, 32),
        ("auto", 5_000, 32),
        ("auto", 5_001, 64),
        ("auto", 1_000_000, 64),
        (7, 100_000, 7),
    ],
)
def test_few_documents_go_in_small_batches_unless_asked_for(given, n_documents, batch_size):
    assert batch_size_for(given, n_documents) == batch_size


@pytest.mark.parametrize(
    ("given", "n_documents", "batch_size", "n_epochs"),
    [
        ("auto", 1, 16, 20),
        ("auto", 320, 16, 20),
        ("auto", 1_600, 16, 4),  # 100 steps an epoch, 400 in all
        ("auto", 3_200, 32, 5),
        ("auto", 6_400, 64, 6),
        ("auto", 20_480, 64, 2),
        ("auto", 10**6, 64, 2),
        ("auto", 1_600, 64, 20),
        ("auto", 1_600, 1, 2),
        (7, 100_000, 64, 7),
    ],
)
def test_auto_takes_a_number_of_steps_in_2_to_20_epochs(given, n_documents, batch_size, n_epochs):
    assert epochs_for(given, n_documents, batch_size) == n_epochs


@pytest.mark.parametrize(
    ("n_samples", "n_epochs"), [(0, 20), (1, 20), (6_400, 6), (17_580, 2), (138_000, 1)]
)
def test_few_samples_are_read_several_times(n_samples, n_epochs):
    assert epochs_of(600, n_samples, batch_size=64, least=1, most=20) == n_epochs
