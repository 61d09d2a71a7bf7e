"""AdamW on the rows that a batch used, clipped gradients, adversarial noise."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from sk_han.nn._training import RowwiseAdamW, adversarial_noise, clip_gradient_norm

pytestmark = pytest.mark.usefixtures("engine")

SETTINGS = {"lr": 0.03, "weight_decay": 0.1, "betas": (0.8, 0.95)}


def parameter():
    """Seven rows of three numbers."""
    return nn.Parameter(torch.sin(torch.arange(21.0)).view(7, 3))


def gradient(step):
    return torch.cos(step + torch.arange(21.0)).view(7, 3)


def sparse_gradient(rows, values):
    return torch.sparse_coo_tensor([rows], values, (7, 3), check_invariants=True)


def train(optimizer_class, gradient_of, n_steps=5):
    weight = parameter()
    optimizer = optimizer_class([weight], **SETTINGS)
    for step in range(n_steps):
        weight.grad = gradient_of(step)
        optimizer.step()
    return weight.detach()


def test_dense_gradient_gives_the_bits_of_adamw():
    assert torch.equal(train(RowwiseAdamW, gradient), train(torch.optim.AdamW, gradient))


def test_rows_touched_in_every_step_equal_adamw():
    def all_rows(step):
        return sparse_gradient(list(range(7)), gradient(step))

    rowwise, dense = train(RowwiseAdamW, all_rows), train(torch.optim.AdamW, gradient)
    assert_close(rowwise, dense, rtol=0, atol=1e-6)


def test_first_step_worked_by_hand():
    # The first step of Adam is lr times the sign of the gradient; weight decay takes lr * decay.
    weight = nn.Parameter(torch.full((7, 3), 2.0))
    weight.grad = sparse_gradient([0, 2], torch.tensor([[5.0] * 3, [-7.0] * 3]))
    RowwiseAdamW([weight], lr=0.01, weight_decay=0.5).step()
    expected = [2 - 0.01 - 0.01, 2, 2 + 0.01 - 0.01, 2, 2, 2, 2]
    assert weight[:, 0].tolist() == pytest.approx(expected, abs=1e-6)


def test_untouched_rows_do_not_move():
    weight = parameter()
    optimizer = RowwiseAdamW([weight], **SETTINGS)
    for rows in ([1, 4], [4, 5]):
        before = weight.detach().clone()
        weight.grad = sparse_gradient(rows, torch.ones(2, 3))
        optimizer.step()
        assert weight.ne(before).any(1).nonzero().flatten().tolist() == rows


def test_gradients_of_repeated_rows_are_summed():
    def twice(step):
        return sparse_gradient([4, 1, 4], gradient(step)[:3])

    def once(step):
        g = gradient(step)
        return sparse_gradient([1, 4], torch.stack([g[1], g[0] + g[2]]))

    assert_close(train(RowwiseAdamW, twice), train(RowwiseAdamW, once))


@pytest.mark.parametrize("fused", [True, False])
def test_sparse_and_dense_gradients_are_taken_in_one_step(fused):
    embedding, dense, unused, still = parameter(), parameter(), parameter(), parameter()
    embedding.grad, dense.grad = sparse_gradient([2, 3], torch.ones(2, 3)), gradient(0)
    still.grad = sparse_gradient([], torch.empty(0, 3))
    RowwiseAdamW([embedding, dense, unused, still], **SETTINGS, fused=fused).step()
    assert torch.equal(unused, parameter())
    assert torch.equal(still, parameter())
    assert_close(dense.detach(), train(torch.optim.AdamW, gradient, n_steps=1))
    assert embedding[2:4].ne(parameter()[2:4]).all()


def test_parameter_groups_keep_their_learning_rates():
    slow, fast = parameter(), parameter()
    slow.grad, fast.grad = (sparse_gradient([2], torch.ones(1, 3)) for _ in range(2))
    groups = [{"params": [slow], "lr": 0.01}, {"params": [fast], "lr": 0.05}]
    RowwiseAdamW(groups, weight_decay=0.0).step()
    assert_close((parameter() - slow)[2], torch.full((3,), 0.01), rtol=0, atol=1e-6)
    assert_close((parameter() - fast)[2], torch.full((3,), 0.05), rtol=0, atol=1e-6)


def test_clipping_worked_by_hand():
    # Gradients (3, 0, 0) and (0, 4, 0) have the common norm 5.
    first, second = nn.Parameter(torch.zeros(3)), nn.Parameter(torch.zeros(3))
    first.grad, second.grad = torch.tensor([3.0, 0, 0]), torch.tensor([0, 4.0, 0])
    clip_gradient_norm([first, second], 1.0)
    assert first.grad.tolist() == pytest.approx([0.6, 0, 0])
    assert second.grad.tolist() == pytest.approx([0, 0.8, 0])


def test_clipping_sparse_gradients_equals_dense_ones():
    sparse, dense, beside = parameter(), parameter(), (parameter(), parameter())
    sparse.grad = sparse_gradient([4, 1, 4], gradient(0)[:3])  # row 4 occurs twice
    dense.grad = sparse.grad.to_dense()
    beside[0].grad, beside[1].grad = gradient(1), gradient(1)
    clip_gradient_norm([sparse, beside[0]], 0.5)
    clip_gradient_norm([dense, beside[1]], 0.5)
    assert sparse.grad.is_sparse
    assert_close(sparse.grad.to_dense(), dense.grad)
    assert_close(beside[0].grad, beside[1].grad)


def test_gradients_below_the_norm_are_not_changed():
    weight, without = parameter(), parameter()
    weight.grad = gradient(0)
    clip_gradient_norm([weight, without], 1e3)
    assert torch.equal(weight.grad, gradient(0))
    assert without.grad is None


def table(gradient, sparse):
    vectors = torch.tensor([[3.0, 4.0], [1.0, 2.0], [0.0, 12.0]], requires_grad=True)
    vectors.grad = gradient.to_sparse(1) if sparse else gradient
    return vectors


GRADIENT = torch.tensor([[0.0, 6.0], [0.0, 0.0], [8.0, 0.0]])


@pytest.mark.parametrize("sparse", [True, False])
def test_noise_has_the_direction_of_the_gradient_and_relative_length(sparse):
    vectors = table(GRADIENT, sparse)
    # Rows 0 and 2 are 13 long together, their gradient is 10: a step of 0.5 * 13 / 10 gradients.
    with adversarial_noise(vectors, 0.5):
        expected = torch.tensor([[3.0, 4.0 + 3.9], [1.0, 2.0], [5.2, 12.0]])
        torch.testing.assert_close(vectors.detach(), expected)


@pytest.mark.parametrize("sparse", [True, False])
def test_vectors_are_restored_exactly_even_after_an_error(sparse):
    vectors = table(GRADIENT / 3, sparse)
    before = vectors.detach().clone()
    with pytest.raises(KeyboardInterrupt), adversarial_noise(vectors, 0.1):
        raise KeyboardInterrupt
    assert torch.equal(vectors, before)


@pytest.mark.parametrize("gradient", [None, torch.zeros(3, 2), torch.full((3, 2), float("nan"))])
def test_an_unusable_gradient_adds_no_noise(gradient):
    vectors = table(gradient, sparse=False)
    before = vectors.detach().clone()
    with adversarial_noise(vectors, 0.1):
        assert torch.equal(vectors, before)
