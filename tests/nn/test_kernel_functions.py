"""Compiled kernels against PyTorch in double precision, one sequence at a time."""

import pytest
import torch

from sk_han.kernels import arrays
from sk_han.kernels.engine import kernels, using_engine, using_threads
from sk_han.nn.functions import attention, gru_states, kernels_cover, projections

pytest.importorskip("numba")

# Below, at and beyond the 16 numbers of a vector, and the five rows of a block.
SIZES = [1, 5, 16, 17, 37, 50]
LENGTHS = {
    "several lengths": [3, 1, 7, 2, 5],
    "empty sequences": [0, 3, 0, 2, 0],
    "more than a block": [2, 3, 5, 7, 11, 2, 1, 1, 4, 4, 4, 6, 13],
    "a long one": [300, 3],
    "one token": [1],
    "none": [],
}
each_lengths = pytest.mark.parametrize("lengths", LENGTHS.values(), ids=LENGTHS)


@pytest.fixture(params=[1, 3], autouse=True)
def _threads(request, monkeypatch):
    monkeypatch.setattr(arrays, "_ROWS_A_THREAD", 1)
    with using_threads(request.param), using_engine("numba"):
        assert all(kernels(name) for name in ("projection", "gru_recurrence", "attention"))
        yield


def numbers(*shape, seed):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def assert_same(function, reference, inputs):
    """Compare values and gradients with those of a reference in double precision."""

    def results(function, dtype):
        leaves = [each.to(dtype).requires_grad_() for each in inputs]
        found = function(*leaves)
        outputs = found if isinstance(found, tuple) else (found,)
        factors = (torch.sin(torch.arange(o.numel())).view_as(o).to(dtype) for o in outputs)
        loss = sum((o * f).sum() for o, f in zip(outputs, factors, strict=True))
        gradients = torch.autograd.grad(loss, leaves, allow_unused=True, materialize_grads=True)
        return [*outputs, *gradients]

    exact = results(reference, torch.float64)
    n_terms = max(size for each in (*inputs, *exact) for size in each.shape)
    for found, expected in zip(results(function, torch.float32), exact, strict=True):
        # The rounding of a sum grows with the square root of the number of its terms.
        largest = expected.abs().max().item() if expected.numel() else 0.0
        atol = (1 + largest) * (2e-6 + 4e-7 * n_terms**0.5)
        torch.testing.assert_close(found.double(), expected, rtol=2e-5, atol=atol)


def recurred(projected, weight, bias, index, lengths):
    """Read one sequence at a time by `torch.gru`, whose own projection leaves inputs alone."""
    H = weight.shape[1]
    identity = torch.eye(3 * H, dtype=weight.dtype)
    states = [[projected[0, :0, : 2 * H]]]
    for tokens in index.split(lengths.tolist()):
        found = []
        for d in range(2 if len(tokens) else 0):
            x = projected[d][tokens.flip(0) if d else tokens].unsqueeze(1)
            biases = [weight.new_zeros(3 * H), torch.cat([weight.new_zeros(2 * H), bias[d]])]
            own = [identity, weight[d].T, *biases]
            h, _ = torch.gru(x, weight.new_zeros(1, 1, H), own, True, 1, 0.0, False, False, False)
            found.append(h.squeeze(1).flip(0) if d else h.squeeze(1))
        states.append([torch.cat(found, dim=1)] if found else [])
    return torch.cat([each for sequence in states for each in sequence])


@pytest.mark.parametrize("H", SIZES)
@each_lengths
def test_recurrence(H, lengths):
    index = torch.arange(sum(lengths)) * 5 % 7
    inputs = [
        numbers(2, 7, 3 * H, seed=0),
        numbers(2, H, 3 * H, seed=1) / H**0.5,
        numbers(2, H, seed=2),
    ]
    of_tokens = index, torch.tensor(lengths, dtype=torch.int64)
    assert_same(
        lambda *given: gru_states(*given, *of_tokens),
        lambda *given: recurred(*given, *of_tokens),
        inputs,
    )


def attended(states, weight, bias, context, lengths):
    scores = (torch.tanh(states @ weight.T + bias) @ context).split(lengths.tolist())
    shares = [each.softmax(0) for each in scores]
    each = zip(shares, states.split(lengths.tolist()), strict=True)
    pooled = [share @ rows for share, rows in each]
    none = states[:0]
    return torch.stack(pooled) if pooled else none, torch.cat([none[:, 0], *shares])


@pytest.mark.parametrize(("H", "A"), [(1, 1), (5, 16), (16, 37), (37, 5), (100, 100)])
@each_lengths
def test_attention(H, A, lengths):
    inputs = [
        numbers(sum(lengths), H, seed=0),
        numbers(A, H, seed=1) / H**0.5,
        numbers(A, seed=2),
        numbers(A, seed=3),
    ]

    of_tokens = torch.tensor(lengths, dtype=torch.int64)
    assert_same(
        lambda *given: attention(*given, of_tokens),
        lambda *given: attended(*given, of_tokens),
        inputs,
    )


@pytest.mark.parametrize(("E", "G"), [(1, 1), (3, 15), (16, 48), (37, 5), (200, 150)])
@pytest.mark.parametrize("U", [0, 1, 5, 7, 131, 300])
def test_projections(E, G, U):
    inputs = [numbers(U, E, seed=0), numbers(2, G, E, seed=1) / E**0.5, numbers(2, G, seed=2)]

    def by_torch(inputs, weight, bias):
        return inputs @ weight.transpose(1, 2) + bias.unsqueeze(1)

    assert_same(projections, by_torch, inputs)


def test_states_do_not_depend_on_threads_nor_neighbours():
    lengths = torch.tensor(LENGTHS["more than a block"])
    projected, weight, bias = (
        numbers(2, 7, 51, seed=0),
        numbers(2, 17, 51, seed=1) / 4,
        numbers(2, 17, seed=2),
    )
    index = torch.arange(int(lengths.sum())) * 5 % 7
    states = gru_states(projected, weight, bias, index, lengths)
    with using_threads(1):
        alone = [
            gru_states(projected, weight, bias, part, torch.tensor([len(part)]))
            for part in index.split(lengths.tolist())
        ]
    assert torch.equal(states, torch.cat(alone))


@pytest.mark.parametrize("index", [[0, 7, 1], [-1, 0, 1]])
def test_an_index_beyond_the_inputs_is_refused(index):
    arguments = numbers(2, 7, 51, seed=0), numbers(2, 17, 51, seed=1), numbers(2, 17, seed=2)
    with pytest.raises(IndexError, match="there are 7 inputs"):
        gru_states(*arguments, torch.tensor(index), torch.tensor([3]))


@pytest.mark.parametrize("lengths", [[2, 2], [4, -1], [1]])
def test_lengths_of_other_tokens_are_refused(lengths):
    arguments = numbers(2, 7, 51, seed=0), numbers(2, 17, 51, seed=1), numbers(2, 17, seed=2)
    given = torch.tensor(lengths)
    with pytest.raises(ValueError, match="add up to 3 tokens"):
        gru_states(*arguments, torch.tensor([0, 1, 2]), given)
    arguments = numbers(3, 5, seed=0), numbers(7, 5, seed=1), *numbers(2, 7, seed=2)
    with pytest.raises(ValueError, match="add up to 3 tokens"):
        attention(*arguments, given)


@pytest.mark.parametrize("name", ["index", "lengths"])
def test_positions_of_another_type_than_int64_are_refused_by_name(name):
    given = {"index": torch.tensor([0, 1, 2]), "lengths": torch.tensor([3])}
    given[name] = given[name].int()
    with pytest.raises(TypeError, match=f"{name} must be of int64; got int32"):
        gru_states(
            numbers(2, 7, 51, seed=0),
            numbers(2, 17, 51, seed=1),
            numbers(2, 17, seed=2),
            *given.values(),
        )


def test_nan_comes_through_and_large_inputs_saturate():
    bias, index, lengths = torch.zeros(2, 17), torch.zeros(7, dtype=torch.int64), torch.tensor([7])
    no_number, large = torch.full((2, 17, 51), float("nan")), torch.full((2, 1, 51), 1e30)
    states = gru_states(numbers(2, 1, 51, seed=0), no_number, bias, index, lengths)
    assert states[1:-1].isnan().all()
    states = gru_states(large, torch.zeros(2, 17, 51), bias, index, lengths)
    assert states.isfinite().all()


def test_single_precision_on_the_cpu_is_covered():
    assert kernels_cover("gru_recurrence", torch.zeros(1))
    assert not kernels_cover("gru_recurrence", torch.zeros(1, dtype=torch.float64))
    assert not kernels_cover("gru_recurrence", torch.zeros(1, device="meta"))


def test_a_given_gradient_is_left_alone():
    own = numbers(7, 5, seed=1), *numbers(2, 7, seed=2)
    states, given = numbers(3, 5, seed=0).requires_grad_(), torch.tensor([1.0, 2.0, 3.0])
    outputs = attention(states, *own, torch.tensor([3]))
    torch.autograd.grad(outputs, states, (torch.ones(1, 5), given))
    assert given.tolist() == [1, 2, 3]


def test_small_terms_of_long_sums_are_not_lost():
    # Equal states have equal weights, of which 300,000 sum to 1, and their mean is the state.
    states = torch.ones(300_000, 5)
    arguments = numbers(7, 5, seed=1), numbers(7, seed=2), numbers(7, seed=3)
    pooled, weights = attention(states, *arguments, torch.tensor([300_000]))
    assert weights.double().sum().item() == pytest.approx(1, abs=1e-6)
    torch.testing.assert_close(pooled, torch.ones(1, 5), rtol=0, atol=1e-4)
