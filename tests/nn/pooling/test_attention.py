"""Attention pooling: weights that sum to 1, and padding that does not exist."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.testing import assert_close

from sk_han.nn import AttentionPooling
from sk_han.nn.ragged.normalizers import NORMALIZERS
from sk_han.nn.ragged.segments import segment_numbers

pytestmark = pytest.mark.usefixtures("engine")

LENGTHS = [3, 0, 7, 1, 2]  # N = 5 sequences, L = 7, T = 13


@pytest.fixture
def pooling(fill: Callable[[nn.Module], None]) -> AttentionPooling:
    """States of size H = 3, attention of size A = 11, in double precision: by PyTorch."""
    pooling = AttentionPooling(input_size=3, attention_dim=11)
    fill(pooling)
    return pooling.double()


@pytest.fixture
def states() -> Tensor:
    return torch.cos(torch.arange(39, dtype=torch.float64)).view(13, 3).requires_grad_()


@pytest.fixture
def mask() -> Tensor:
    return torch.arange(7) < torch.tensor(LENGTHS).unsqueeze(1)


def padded(states: Tensor, mask: Tensor, padding: float) -> Tensor:
    cube = torch.full((*mask.shape, states.shape[1]), padding, dtype=states.dtype)
    return cube.index_put((mask,), states)


def test_pooling_worked_by_hand() -> None:
    # u is tanh of the first feature; the context vector makes the scores log(3) and 0.
    pooling = AttentionPooling(input_size=2, attention_dim=1).double()
    with torch.no_grad():
        pooling.weight.copy_(torch.tensor([[1.0, 0.0]]))
        pooling.context.fill_(math.log(3) / math.tanh(1))
    states = torch.tensor([[1.0, 4.0], [0.0, 8.0]], dtype=torch.float64)
    pooled, weights = pooling.pool(states, torch.tensor([2]))
    assert weights.flatten().tolist() == pytest.approx([3 / 4, 1 / 4], abs=1e-15)
    assert pooled[0].tolist() == pytest.approx([3 / 4, 3 + 2], abs=1e-15)


def test_bias_stands_inside_the_tanh() -> None:
    pooling = AttentionPooling(input_size=1, attention_dim=1).double()
    with torch.no_grad():
        pooling.weight.fill_(1.0)
        pooling.bias.fill_(-1.0)
        pooling.context.fill_(math.log(3) / math.tanh(1))
    _, weights = pooling.pool(torch.tensor([[2.0], [1.0]]).double(), torch.tensor([2]))
    assert weights.flatten().tolist() == pytest.approx([3 / 4, 1 / 4], abs=1e-15)


def test_each_sequence_is_pooled_as_the_paper_says(
    pooling: AttentionPooling, states: Tensor
) -> None:
    pooled, weights = pooling.pool(states, torch.tensor(LENGTHS))
    sequences = zip(states.split(LENGTHS), pooled, weights.split(LENGTHS), strict=True)
    for h, s, alpha in sequences:
        u = torch.tanh(h @ pooling.weight.T + pooling.bias)
        expected = (u @ pooling.context).softmax(0)
        assert_close(alpha, expected.unsqueeze(1), rtol=0, atol=1e-15)
        assert_close(s, expected @ h, rtol=0, atol=1e-14)


def test_weights_of_a_sequence_sum_to_one(pooling: AttentionPooling, states: Tensor) -> None:
    _, weights = pooling.pool(states, torch.tensor(LENGTHS))
    sums = [part.sum().item() for part in weights.split(LENGTHS)]
    assert sums == pytest.approx([1, 0, 1, 1, 1], abs=1e-12)


def test_a_single_state_is_its_own_pool(pooling: AttentionPooling, states: Tensor) -> None:
    pooled, weights = pooling.pool(states, torch.ones(13, dtype=torch.int64))
    assert weights.eq(1).all()
    assert torch.equal(pooled, states)


def test_empty_sequence_pools_to_zero(pooling: AttentionPooling, states: Tensor) -> None:
    pooled, _ = pooling.pool(states, torch.tensor(LENGTHS))
    assert pooled[1].eq(0).all()


def test_only_empty_sequences_pool_to_zero_with_gradients(pooling: AttentionPooling) -> None:
    pooled, weights = pooling.pool(torch.empty(0, 3).double(), torch.tensor([0, 0]))
    assert pooled.tolist() == [[0, 0, 0], [0, 0, 0]]
    assert weights.shape == (0, 1)
    pooled.sum().backward()
    assert all(p.grad is None or p.grad.eq(0).all() for p in pooling.parameters())


def test_no_sequences_pool_to_nothing(pooling: AttentionPooling) -> None:
    no_lengths = torch.empty(0, dtype=torch.int64)
    pooled, weights = pooling.pool(torch.empty(0, 3).double(), no_lengths)
    assert pooled.shape == (0, 3)
    assert weights.shape == (0, 1)


def test_masked_equals_shortened(pooling: AttentionPooling, states: Tensor, mask: Tensor) -> None:
    pooled, weights = pooling(padded(states, mask, 5.0), mask)
    shortened, weights_of_states = pooling.pool(states, torch.tensor(LENGTHS))
    assert_close(pooled, shortened, rtol=0, atol=1e-14)
    assert_close(weights[mask], weights_of_states.squeeze(1), rtol=0, atol=1e-15)


def test_weights_on_padding_are_exactly_zero(
    pooling: AttentionPooling, states: Tensor, mask: Tensor
) -> None:
    _, weights = pooling(padded(states, mask, 5.0), mask)
    assert weights.shape == (5, 7)
    assert weights[~mask].eq(0).all()


@pytest.mark.parametrize("padding", [-1e30, math.nan, math.inf])
def test_what_stands_in_padding_changes_nothing(
    pooling: AttentionPooling, states: Tensor, mask: Tensor, padding: float
) -> None:
    def outputs_and_gradients(padding: float) -> list[Tensor]:
        pooled, weights = pooling(padded(states, mask, padding), mask)
        loss = (pooled * torch.arange(15).view(5, 3)).sum()
        return [pooled, weights, *torch.autograd.grad(loss, [states, *pooling.parameters()])]

    found, expected = outputs_and_gradients(padding), outputs_and_gradients(0.0)
    assert all(map(torch.equal, found, expected))


def test_mask_may_have_holes(pooling: AttentionPooling, states: Tensor) -> None:
    mask = torch.tensor([[False, True, False, True, True]])
    pooled, weights = pooling(states[:5].unsqueeze(0), mask)
    shortened, _ = pooling.pool(states[[1, 3, 4]], torch.tensor([3]))
    assert_close(pooled, shortened, rtol=0, atol=1e-14)
    assert weights[0, [0, 2]].eq(0).all()


def test_order_of_states_does_not_matter(pooling: AttentionPooling, states: Tensor) -> None:
    length = torch.tensor([13])
    forward, _ = pooling.pool(states, length)
    backward, _ = pooling.pool(states.flip(0), length)
    assert_close(forward, backward, rtol=0, atol=1e-14)


def test_gradients_equal_numerical_ones(pooling: AttentionPooling, states: Tensor) -> None:
    names, parameters = zip(*pooling.named_parameters(), strict=True)
    mask = torch.arange(3) < torch.tensor([[2], [0], [3]])

    def pool(states: Tensor, *parameters: Tensor) -> tuple[Tensor, Tensor]:
        given = dict(zip(names, parameters, strict=True))
        return functional_call(pooling, given, (padded(states, mask, 5.0), mask))

    assert torch.autograd.gradcheck(pool, (states[:5], *parameters))


def test_a_second_backward_gives_the_same_gradients(
    pooling: AttentionPooling, states: Tensor
) -> None:
    pooled, weights = pooling.pool(states, torch.tensor(LENGTHS))
    loss, wanted = pooled.square().sum() + weights.square().sum(), [states, *pooling.parameters()]
    first = torch.autograd.grad(loss, wanted, retain_graph=True)
    assert all(map(torch.equal, first, torch.autograd.grad(loss, wanted)))


def test_prediction_leaves_nothing_behind_that_spoils_what_follows(
    pooling: AttentionPooling, states: Tensor
) -> None:
    lengths = torch.tensor(LENGTHS)
    with torch.inference_mode():
        predicted = pooling.pool(states, lengths)[0].clone()
    with torch.no_grad():  # as in a validation step
        validated = pooling.pool(states, lengths)[0].clone()
    pooled, _ = pooling.pool(states, lengths)
    pooled.sum().backward()
    assert torch.equal(validated, predicted)
    assert torch.equal(pooled, predicted)


def test_forwards_before_backwards_do_not_disturb_each_other(
    pooling: AttentionPooling, states: Tensor
) -> None:
    def gradients(pooled: Tensor) -> list[Tensor]:
        return list(torch.autograd.grad(pooled.square().sum(), list(pooling.parameters())))

    lengths = torch.tensor(LENGTHS)
    expected = gradients(pooling.pool(states, lengths)[0])
    pooled, _ = pooling.pool(states, lengths)
    gradients(pooling.pool(2 * states, lengths.flip(0))[0])
    assert all(map(torch.equal, gradients(pooled), expected))


def test_single_precision_agrees_with_gradients(pooling: AttentionPooling, states: Tensor) -> None:
    def outputs_and_gradients(dtype: torch.dtype) -> list[Tensor]:
        given = states.detach().to(dtype).requires_grad_()
        pooled, weights = pooling.to(dtype).pool(given, torch.tensor(LENGTHS))
        loss = pooled.square().sum() + weights.square().sum()
        return [pooled, weights, *torch.autograd.grad(loss, [given, *pooling.parameters()])]

    exact = outputs_and_gradients(torch.float64)
    found = [each.double() for each in outputs_and_gradients(torch.float32)]
    assert_close(found, exact, rtol=1e-6, atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_result_has_the_dtype_of_the_states(pooling: AttentionPooling, dtype: torch.dtype) -> None:
    pooled, weights = pooling.to(dtype).pool(torch.ones(5, 3, dtype=dtype), torch.tensor([2, 3]))
    assert pooled.dtype == weights.dtype == dtype


def test_same_seed_gives_the_same_weights_and_leaves_global_state_alone() -> None:
    before = torch.get_rng_state()
    first, second = (AttentionPooling(3, 5, torch.Generator().manual_seed(7)) for _ in range(2))
    assert all(map(torch.equal, first.parameters(), second.parameters()))
    assert torch.equal(torch.get_rng_state(), before)


def test_a_normalizer_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match=r"normalizer must be one of .*'softmax'.*; got 'hard'"):
        AttentionPooling(3, 11, normalizer="hard")


class TestQuery:
    @pytest.fixture
    def query(self) -> Tensor:
        """A question of size A = 11 for each of the 5 sequences."""
        return torch.sin(3 * torch.arange(55, dtype=torch.float64)).view(5, 11).requires_grad_()

    def test_it_stands_inside_the_tanh_worked_by_hand(self) -> None:
        # A query of -1 makes 0 and 1 of the states 1 and 2; none is needed for the states 1 and 0.
        pooling = AttentionPooling(input_size=1, attention_dim=1).double()
        with torch.no_grad():
            pooling.weight.fill_(1.0)
            pooling.context.fill_(math.log(3) / math.tanh(1))
        states = torch.tensor([[1.0], [2.0], [1.0], [0.0]], dtype=torch.float64)
        query = torch.tensor([[-1.0], [0.0]], dtype=torch.float64)
        pooled, weights = pooling.pool(states, torch.tensor([2, 2]), query=query)
        expected = [1 / 4, 3 / 4, 3 / 4, 1 / 4]
        assert weights.flatten().tolist() == pytest.approx(expected, abs=1e-15)
        assert pooled.flatten().tolist() == pytest.approx([1 / 4 + 6 / 4, 3 / 4], abs=1e-15)

    def test_each_sequence_is_asked_its_own(
        self, pooling: AttentionPooling, states: Tensor, query: Tensor
    ) -> None:
        pooled, weights = pooling.pool(states, torch.tensor(LENGTHS), query=query)
        sequences = zip(states.split(LENGTHS), query, pooled, weights.split(LENGTHS), strict=True)
        for h, q, s, alpha in sequences:
            u = torch.tanh(h @ pooling.weight.T + pooling.bias + q)
            expected = (u @ pooling.context).softmax(0)
            assert_close(alpha, expected.unsqueeze(1), rtol=0, atol=1e-14)
            assert_close(s, expected @ h, rtol=0, atol=1e-14)

    def test_zeros_ask_what_no_query_asks(self, pooling: AttentionPooling, states: Tensor) -> None:
        lengths, zeros = torch.tensor(LENGTHS), torch.zeros(5, 11, dtype=torch.float64)
        assert all(
            map(
                torch.equal,
                pooling.pool(states, lengths, query=zeros),
                pooling.pool(states, lengths),
            )
        )

    def test_other_questions_get_other_weights(
        self, pooling: AttentionPooling, states: Tensor, query: Tensor
    ) -> None:
        lengths = torch.tensor(LENGTHS)
        _, asked = pooling.pool(states, lengths, query=query)
        _, plain = pooling.pool(states, lengths)
        differs = [
            not torch.allclose(a, b)
            for a, b in zip(asked.split(LENGTHS), plain.split(LENGTHS), strict=True)
        ]
        assert differs == [True, False, True, False, True]  # one state has the weight 1 anyway

    def test_it_has_a_gradient_where_there_is_a_choice(
        self, pooling: AttentionPooling, states: Tensor, query: Tensor
    ) -> None:
        pooled, weights = pooling.pool(states, torch.tensor(LENGTHS), query=query)
        loss = pooled.square().sum() + weights.square().sum()
        (gradient,) = torch.autograd.grad(loss, query)
        assert gradient[[0, 2, 4]].ne(0).all()
        assert gradient[[1, 3]].abs().max() < 1e-15  # none to weigh, or one of the weight 1

    def test_gradients_equal_numerical_ones(
        self, pooling: AttentionPooling, states: Tensor, query: Tensor
    ) -> None:
        names, parameters = zip(*pooling.named_parameters(), strict=True)
        pooling.forward = pooling.pool  # what functional_call calls

        def pool(states: Tensor, query: Tensor, *parameters: Tensor) -> tuple[Tensor, Tensor]:
            given, lengths = dict(zip(names, parameters, strict=True)), torch.tensor([2, 0, 3])
            return functional_call(pooling, given, (states, lengths), {"query": query})

        inputs = (states.detach()[:5], query.detach()[:3])
        inputs = tuple(t.clone().requires_grad_() for t in inputs)
        assert torch.autograd.gradcheck(pool, (*inputs, *parameters))

    def test_a_query_alone_has_its_gradient(
        self, pooling: AttentionPooling, states: Tensor, query: Tensor
    ) -> None:
        pooling.requires_grad_(False)
        lengths = torch.tensor(LENGTHS)
        assert torch.autograd.gradcheck(
            lambda asked: pooling.pool(states.detach(), lengths, query=asked), (query,)
        )

    def test_it_is_left_alone(
        self, pooling: AttentionPooling, states: Tensor, query: Tensor
    ) -> None:
        before = query.detach().clone()
        pooling.pool(states, torch.tensor(LENGTHS), query=query)[0].sum().backward()
        assert torch.equal(query, before)

    @pytest.mark.parametrize("normalizer", ["sparsemax", "entmax15"])
    def test_sparse_weights_are_asked_too(
        self, states: Tensor, query: Tensor, normalizer: str, fill: Callable[[nn.Module], None]
    ) -> None:
        pooling = AttentionPooling(3, 11, normalizer=normalizer).double()
        fill(pooling)
        _, weights = pooling.pool(states, torch.tensor(LENGTHS), query=query)
        u = (
            states @ pooling.weight.T
            + pooling.bias
            + query.repeat_interleave(torch.tensor(LENGTHS), 0)
        )
        expected = NORMALIZERS[normalizer](
            torch.tanh(u) @ pooling.context, segment_numbers(torch.tensor(LENGTHS)), 5
        )
        assert_close(weights.squeeze(1), expected, rtol=0, atol=1e-14)
