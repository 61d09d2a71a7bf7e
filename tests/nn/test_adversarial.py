"""Adversarial noise: its direction and length, and that nothing of it stays."""

import pytest
import torch

from sk_han.nn.training import adversarial_noise


def table(gradient, sparse):
    vectors = torch.tensor([[3.0, 4.0], [1.0, 2.0], [0.0, 12.0]], requires_grad=True)
    vectors.grad = gradient.to_sparse(1) if sparse else gradient
    return vectors


GRADIENT = torch.tensor([[0.0, 6.0], [0.0, 0.0], [8.0, 0.0]])


@pytest.mark.parametrize("sparse", [True, False])
def test_noise_is_the_gradient_at_a_share_of_the_length_of_the_rows_it_moves(sparse):
    vectors = table(GRADIENT, sparse)
    # Rows 0 and 2 are 13 long together, their gradient is 10: a step of 0.5 * 13 / 10 gradients.
    with adversarial_noise(vectors, 0.5):
        expected = torch.tensor([[3.0, 4.0 + 3.9], [1.0, 2.0], [5.2, 12.0]])
        torch.testing.assert_close(vectors.detach(), expected)


@pytest.mark.parametrize("sparse", [True, False])
def test_vectors_are_put_back_bit_by_bit(sparse):
    vectors = table(GRADIENT / 3, sparse)
    before = vectors.detach().clone()
    with adversarial_noise(vectors, 0.1):
        pass
    assert torch.equal(vectors, before)


def test_vectors_are_put_back_after_an_error():
    vectors = table(GRADIENT, sparse=True)
    before = vectors.detach().clone()
    with pytest.raises(KeyboardInterrupt), adversarial_noise(vectors, 0.1):
        raise KeyboardInterrupt
    assert torch.equal(vectors, before)


@pytest.mark.parametrize("gradient", [torch.zeros(3, 2), torch.full((3, 2), float("nan"))])
def test_without_a_direction_nothing_moves(gradient):
    vectors = table(gradient, sparse=False)
    before = vectors.detach().clone()
    with adversarial_noise(vectors, 0.1):
        assert torch.equal(vectors, before)


def test_without_a_gradient_nothing_moves():
    vectors = torch.ones(3, 2)
    with adversarial_noise(vectors, 0.1):
        assert torch.equal(vectors, torch.ones(3, 2))
