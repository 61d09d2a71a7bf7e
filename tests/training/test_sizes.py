"""Sizes of batches, and numbers of epochs."""

import pytest

from sk_han._training.builder import batch_size_for, epochs_for


@pytest.mark.parametrize(
    ("n_documents", "batch_size"),
    [(1, 16), (2_500, 16), (2_501, 32), (5_000, 32), (5_001, 64), (10**6, 64)],
)
def test_few_documents_get_small_batches_by_default(n_documents, batch_size):
    assert batch_size_for("auto", n_documents) == batch_size
    assert batch_size_for(7, n_documents) == 7


@pytest.mark.parametrize(
    ("n_documents", "batch_size", "n_epochs"),
    [
        (320, 16, 20),
        (1_600, 16, 4),  # 100 steps an epoch, 400 in all
        (6_400, 64, 6),
        (1_600, 64, 20),
        (1_600, 1, 2),
    ],
)
def test_automatic_epochs_give_a_number_of_steps(n_documents, batch_size, n_epochs):
    assert epochs_for("auto", n_documents, batch_size) == n_epochs
    assert epochs_for(7, n_documents, batch_size) == 7
