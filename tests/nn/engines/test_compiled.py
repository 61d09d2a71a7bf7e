"""Compiled kernels against the bodies of PyTorch in double precision."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import torch
from torch import Tensor

from sk_han.engines import chunks
from sk_han.engines.loading import kernels, using_engine
from sk_han.engines.tasks import using_threads
from sk_han.nn.engines.choice import attention, gru_states, kernels_for, projections
from sk_han.nn.ragged.layout import PackedLayout

pytest.importorskip("numba")

# Below, at and beyond the 16 numbers of a vector, and the five rows of a block.
SIZES = [1, 5, 16, 17, 37, 50]
LENGTHS = {
    "several lengths": [3, 1, 7, 2, 5],
    "empty sequences": [0, 3, 0, 2, 0],
    "more than a block": [2, 3, 5, 7, 11, 2, 1, 1, 4, 4, 4, 6, 13],
    "a long one": [700, 3],
    "one token": [1],
    "none": [],
}
each_lengths = pytest.mark.parametrize("lengths", LENGTHS.values(), ids=LENGTHS)


@pytest.fixture(params=[1, 3], autouse=True)
def _threads(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(chunks, "_ROWS_A_THREAD", 1)
    with using_threads(request.param), using_engine("numba"):
        missing = [name for name in ("gru", "attention", "projection") if kernels(name) is None]
        assert not missing, "PyTorch would be compared with itself"
        yield


def numbers(*shape: int, seed: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def assert_same(
    function: Callable[..., Tensor | tuple[Tensor, ...]], *inputs: Tensor, others: tuple
) -> None:
    """Compare values and gradients with those of the same function in double precision."""

    def results(dtype: torch.dtype) -> list[Tensor]:
        leaves = [each.to(dtype).requires_grad_() for each in inputs]
        found = function(*leaves, *others)
        outputs = found if isinstance(found, tuple) else (found,)
        factors = (torch.sin(torch.arange(o.numel())).view_as(o).to(dtype) for o in outputs)
        loss = sum((o * f).sum() for o, f in zip(outputs, factors, strict=True))
        gradients = torch.autograd.grad(loss, leaves, allow_unused=True, materialize_grads=True)
        return [*outputs, *gradients]

    n_terms = max(size for each in (*inputs, *results(torch.float64)) for size in each.shape)
    for found, expected in zip(results(torch.float32), results(torch.float64), strict=True):
        # The rounding of a sum grows with the square root of the number of its terms.
        largest = expected.abs().max().item() if expected.numel() else 0.0
        atol = (1 + largest) * (2e-6 + 4e-7 * n_terms**0.5)
        torch.testing.assert_close(found.double(), expected, rtol=2e-5, atol=atol)


@pytest.mark.parametrize("H", SIZES)
@pytest.mark.parametrize("starts_at_zero", [True, False])
@each_lengths
def test_recurrence(H: int, starts_at_zero: bool, lengths: list[int]) -> None:
    layout = PackedLayout(torch.tensor(lengths, dtype=torch.int64))
    T = sum(lengths)
    index = torch.arange(T) * 5 % 7
    inputs = [
        numbers(2, 7, 3 * H, seed=0),
        numbers(2, H, 3 * H, seed=1) / H**0.5,
        numbers(2, 1, H, seed=2),
    ]
    if starts_at_zero:
        assert_same(gru_states, *inputs, others=(index, layout, None))
        return
    initial = numbers(2, layout.n_filled, H, seed=3)

    def states_of(projected: Tensor, weight: Tensor, bias: Tensor, initial: Tensor) -> Tensor:
        return gru_states(projected, weight, bias, index, layout, initial)

    assert_same(states_of, *inputs, initial, others=())


@pytest.mark.parametrize(("H", "A"), [(1, 1), (5, 16), (16, 37), (37, 5), (100, 100)])
@each_lengths
def test_attention(H: int, A: int, lengths: list[int]) -> None:
    inputs = [
        numbers(sum(lengths), H, seed=0),
        numbers(A, H, seed=1) / H**0.5,
        numbers(A, seed=2),
        numbers(A, seed=3),
    ]
    assert_same(attention, *inputs, others=(torch.tensor(lengths, dtype=torch.int64), None))


@pytest.mark.parametrize(("E", "G"), [(1, 1), (3, 15), (16, 48), (37, 5), (200, 150)])
@pytest.mark.parametrize("U", [0, 1, 5, 7, 131, 300])
def test_projections(E: int, G: int, U: int) -> None:
    inputs = [numbers(U, E, seed=0), numbers(2, G, E, seed=1) / E**0.5, numbers(2, G, seed=2)]
    assert_same(projections, *inputs, others=())


def test_states_do_not_depend_on_threads_nor_neighbours() -> None:
    lengths = torch.tensor(LENGTHS["more than a block"])
    projected, weight, bias = (
        numbers(2, 7, 51, seed=0),
        numbers(2, 17, 51, seed=1) / 4,
        numbers(2, 1, 17, seed=2),
    )
    index = torch.arange(int(lengths.sum())) * 5 % 7
    states = gru_states(projected, weight, bias, index, PackedLayout(lengths), None)
    with using_threads(1):
        alone = [
            gru_states(projected, weight, bias, part, PackedLayout(torch.tensor([len(part)])), None)
            for part in index.split(lengths.tolist())
        ]
    assert torch.equal(states, torch.cat(alone))


@pytest.mark.parametrize("index", [[0, 7, 1], [-1, 0, 1]])
def test_an_index_beyond_the_inputs_is_refused(index: list[int]) -> None:
    arguments = numbers(2, 7, 51, seed=0), numbers(2, 17, 51, seed=1), numbers(2, 1, 17, seed=2)
    layout = PackedLayout(torch.tensor([3]))
    with pytest.raises(IndexError, match="there are 7 inputs"):
        gru_states(*arguments, torch.tensor(index), layout, None)


@pytest.mark.parametrize("lengths", [[2, 2], [4, -1], [1]])
def test_lengths_of_other_tokens_are_refused(lengths: list[int]) -> None:
    arguments = numbers(2, 7, 51, seed=0), numbers(2, 17, 51, seed=1), numbers(2, 1, 17, seed=2)
    layout = PackedLayout(torch.tensor(lengths))
    with pytest.raises(ValueError, match="add up to 3 tokens"):
        gru_states(*arguments, torch.tensor([0, 1, 2]), layout, None)
    with pytest.raises(ValueError, match="add up to 3 tokens"):
        attention(
            numbers(3, 5, seed=0),
            numbers(7, 5, seed=1),
            *numbers(2, 7, seed=2),
            layout.lengths,
            None,
        )


def test_nan_comes_through() -> None:
    weight = torch.full((2, 17, 51), float("nan"))
    states = gru_states(
        numbers(2, 7, 51, seed=0),
        weight,
        numbers(2, 1, 17, seed=2),
        torch.arange(7),
        PackedLayout(torch.tensor([7])),
        None,
    )
    assert states[1:-1].isnan().all()


def test_large_inputs_saturate() -> None:
    projected = torch.full((2, 1, 51), 1e30)
    states = gru_states(
        projected,
        torch.zeros(2, 17, 51),
        torch.zeros(2, 1, 17),
        torch.zeros(3, dtype=torch.int64),
        PackedLayout(torch.tensor([3])),
        None,
    )
    assert states.isfinite().all()


class TestCoverage:
    def test_single_precision_on_the_cpu_is_covered(self) -> None:
        assert kernels_for("gru", torch.zeros(1)) is not None

    def test_double_precision_is_not(self) -> None:
        assert kernels_for("gru", torch.zeros(1, dtype=torch.float64)) is None

    def test_another_device_is_not(self) -> None:
        assert kernels_for("gru", torch.zeros(1, device="meta")) is None

    def test_a_query_is_left_to_pytorch(self) -> None:
        states = numbers(3, 5, seed=0).requires_grad_()
        arguments = numbers(7, 5, seed=1), numbers(7, seed=2), numbers(7, seed=3)
        query = numbers(2, 7, seed=4)
        pooled, _ = attention(states, *arguments, torch.tensor([1, 2]), query)
        assert type(pooled.grad_fn).__name__ == "AttentionFunctionBackward"


def test_small_terms_of_long_sums_are_not_lost() -> None:
    # Equal states have equal weights, of which 300,000 sum to 1, and their mean is the state.
    states = torch.ones(300_000, 5)
    arguments = numbers(7, 5, seed=1), numbers(7, seed=2), numbers(7, seed=3)
    pooled, weights = attention(states, *arguments, torch.tensor([300_000]), None)
    assert weights.double().sum().item() == pytest.approx(1, abs=1e-6)
    torch.testing.assert_close(pooled, torch.ones(1, 5), rtol=0, atol=1e-4)
