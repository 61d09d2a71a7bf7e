"""A faster tanh."""

from __future__ import annotations

import math

import pytest
import torch
from torch.testing import assert_close

from sk_han.translation.decoder import tanh_


@pytest.mark.parametrize(("dtype", "atol"), [(torch.float32, 2e-7), (torch.float64, 1e-15)])
def test_equals_torch_tanh(dtype: torch.dtype, atol: float) -> None:
    x = torch.linspace(-50, 50, 10_007, dtype=dtype)
    assert_close(tanh_(x.clone()), torch.tanh(x), rtol=0, atol=atol)


def test_works_in_place() -> None:
    x = torch.tensor([0.0, 1.0, -1.0])
    assert tanh_(x) is x
    assert x.tolist() == pytest.approx([0, math.tanh(1), -math.tanh(1)], abs=1e-7)


def test_large_numbers_saturate_and_nan_stays() -> None:
    x = tanh_(torch.tensor([1e30, -1e30, math.inf, -math.inf, math.nan]))
    assert x[:4].tolist() == [1, -1, 1, -1]
    assert x[4].isnan()
