"""How long training goes on."""

import pytest

from sk_han.training.builder import epochs_for


@pytest.mark.parametrize(
    ("n_documents", "n_epochs"),
    [(1, 20), (900, 20), (1_800, 20), (10_000, 4), (22_500, 2), (100_000, 2)],
)
def test_auto_takes_about_600_steps_in_2_to_20_epochs(n_documents, n_epochs):
    assert epochs_for("auto", n_documents, batch_size=64) == n_epochs


def test_a_number_of_epochs_is_taken_as_it_is():
    assert epochs_for(7, 100_000, batch_size=64) == 7
