"""Sparsemax and 1.5-entmax over segments: exact zeros, sums of 1, and closed-form gradients."""

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from sk_han.nn.ragged.normalizers import (
    normalizer_of,
    segment_entmax15,
    segment_sparsemax,
)
from sk_han.nn.ragged.segments import segment_numbers
from tests.gpu import needs_gpu

Normalizer = Callable[[Tensor, Tensor, int], Tensor]

LENGTHS = [3, 0, 7, 1, 2]
SEGMENT = segment_numbers(torch.tensor(LENGTHS))
EXPONENT = {segment_sparsemax: 1.0, segment_entmax15: 2.0}  # 1 / (alpha - 1) of alpha-entmax
each = pytest.mark.parametrize("normalize", EXPONENT, ids=["sparsemax", "entmax15"])


def scores_of(n, scale=1.5):
    return scale * torch.sin(1 + 3 * torch.arange(n, dtype=torch.float64))


def by_bisection(scores, exponent):
    """alpha-entmax of one row by its definition: the threshold at which the sum is 1."""
    z = scores / exponent
    low, high = z.max() - 1, z.max()
    for _ in range(100):
        middle = (low + high) / 2
        total = (z - middle).clamp(min=0).pow(exponent).sum()
        low, high = (middle, high) if total >= 1 else (low, middle)
    return (z - low).clamp(min=0).pow(exponent)


@pytest.mark.parametrize(
    ("normalize", "scores", "weights"),
    [
        (segment_sparsemax, [0.0, 0.5], [1 / 4, 3 / 4]),  # tau = -1/4
        (segment_sparsemax, [0.0, 1.0], [0, 1]),
        (segment_sparsemax, [3.0, 3.0, 3.0, 3.0], [1 / 4] * 4),
        (segment_sparsemax, [0.5, 0.75, -1.0], [3 / 8, 5 / 8, 0]),  # tau = 1/8
        (segment_sparsemax, [7.0], [1]),
        (segment_entmax15, [0.0, 2.0], [0, 1]),
        (segment_entmax15, [0.0, 0.4], [0.6**2, 0.8**2]),  # tau = -0.6
        (segment_entmax15, [1.0, 1.0, 1.0, 1.0], [1 / 4] * 4),
        (segment_entmax15, [0.4, -3.0, 0.0], [0.8**2, 0, 0.6**2]),
        (segment_entmax15, [0.0, 14 / 13], [25 / 169, 144 / 169]),  # tau = -5/13
        (segment_entmax15, [7.0], [1]),
    ],
)
def test_weights_worked_by_hand(normalize, scores, weights):
    found = normalize(
        torch.tensor(scores, dtype=torch.float64), torch.zeros(len(scores), dtype=torch.int64), 1
    )
    assert found.tolist() == pytest.approx(weights, abs=1e-15)


def test_a_normalizer_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match=r"normalizer must be one of .*'softmax'.*; got 'hard'"):
        normalizer_of("hard")


@each
@pytest.mark.parametrize("scale", [1e-3, 0.3, 1.5, 40.0])
def test_weights_are_those_of_the_definition(normalize, scale):
    scores = scores_of(13, scale)
    weights = normalize(scores, SEGMENT, 5)
    parts = [s for s in scores.split(LENGTHS) if len(s)]
    expected = torch.cat([by_bisection(s, EXPONENT[normalize]) for s in parts])
    assert_close(weights, expected, rtol=0, atol=1e-12)


@each
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_weights_of_a_segment_sum_to_one_in_both_precisions(normalize, dtype):
    weights = normalize(scores_of(13).to(dtype), SEGMENT, 5)
    assert weights.dtype == dtype
    sums = [part.sum().item() for part in weights.split(LENGTHS)]
    assert sums == pytest.approx([1, 0, 1, 1, 1], abs=10 * torch.finfo(dtype).eps)


@each
def test_weights_of_a_hundred_thousand_like_scores_sum_to_one(normalize):
    scores = scores_of(100_000, 1e-6).float()
    weights = normalize(scores, torch.zeros(100_000, dtype=torch.int64), 1)
    assert weights.gt(0).all()
    assert weights.double().sum().item() == pytest.approx(1, abs=1e-6)


@each
def test_a_segment_does_not_depend_on_its_neighbours(normalize):
    scores = scores_of(13)
    scores[3:10] *= 1e30
    together = normalize(scores, SEGMENT, 5)
    alone = normalize(scores[10:], SEGMENT[10:] - 3, 2)
    assert_close(together[10:], alone, rtol=0, atol=1e-14)


@each
def test_segments_may_lie_in_one_another(normalize):
    scores, order = scores_of(13), torch.tensor([12, 0, 5, 3, 1, 9, 10, 4, 2, 8, 11, 6, 7])
    shuffled = normalize(scores[order], SEGMENT[order], 5)
    assert_close(shuffled, normalize(scores, SEGMENT, 5)[order], rtol=0, atol=1e-15)


@each
def test_no_rows_have_no_weights(normalize):
    scores = torch.empty(0, requires_grad=True)
    weights = normalize(scores, torch.empty(0, dtype=torch.int64), 2)
    weights.sum().backward()
    assert weights.shape == scores.grad.shape == (0,)


@each
@pytest.mark.parametrize("number", [math.nan, math.inf])
def test_what_is_no_number_stays_visible_in_its_segment_alone(normalize, number):
    scores = scores_of(13)
    scores[5] = number
    found = [part.isnan().any().item() for part in normalize(scores, SEGMENT, 5).split(LENGTHS)]
    assert found == [False, False, True, False, False]


@each
def test_gradients_equal_numerical_ones(normalize):
    scores = scores_of(13).requires_grad_()
    assert 0 < normalize(scores, SEGMENT, 5).eq(0).sum() < 8
    assert torch.autograd.gradcheck(lambda s: normalize(s, SEGMENT, 5), scores)


@needs_gpu
@each
def test_a_gpu_gives_the_numbers_of_the_cpu(normalize):
    on_gpu = normalize(scores_of(13).to("cuda"), SEGMENT.to("cuda"), 5)
    assert_close(on_gpu.cpu(), normalize(scores_of(13), SEGMENT, 5), rtol=0, atol=1e-13)
