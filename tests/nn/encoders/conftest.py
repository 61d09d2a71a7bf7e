"""What the tests of the encoders share: types of numbers, and tokens that repeat."""

import pytest
import torch


@pytest.fixture
def dtype(engine):
    """The type of numbers that an engine computes with."""
    return torch.float32 if engine == "numba" else torch.float64


@pytest.fixture
def index():
    """Thirteen tokens: input 2 stands at four of them, inputs 0, 5, 6, 8 and 10 at none."""
    return torch.tensor([2, 9, 2, 2, 1, 3, 4, 4, 7, 9, 3, 2, 1])
