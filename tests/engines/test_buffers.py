"""Memory that is used again belongs to no one else while something stands on it."""

import gc

import numpy as np
import pytest
import torch

from sk_han.engines import buffers
from sk_han.engines.buffers import lasting

SHAPE = 2, 131, 1_009  # beyond the smallest that is pooled


@pytest.fixture(autouse=True)
def _empty_pool(monkeypatch):
    monkeypatch.setattr(buffers, "_POOL", [])


def address(array):
    return array.ctypes.data


@pytest.mark.parametrize("shape", [(2, 3), (0, 5), SHAPE])
def test_memory_has_the_shape_asked_for(shape):
    array = lasting(shape)
    assert array.shape == shape
    assert array.dtype == np.float32
    assert array.flags.c_contiguous
    array[:] = 1


def test_memory_that_nothing_uses_comes_again():
    first = lasting(SHAPE)
    where = address(first)
    del first
    gc.collect()
    assert address(lasting((131, 2, 997))) == where


@pytest.mark.parametrize(
    "view",
    [
        lambda array: array[1:],
        lambda array: array.T,
        lambda array: array.reshape(-1).view(np.int32),
        torch.from_numpy,
        lambda array: torch.from_numpy(array)[1].T,
        lambda array: torch.from_numpy(array[1]).numpy(),
    ],
    ids=["rows", "transposed", "other type", "tensor", "view of a tensor", "there and back"],
)
def test_a_view_keeps_it(view):
    array = lasting(SHAPE)
    where, kept = address(array), view(array)
    del array
    gc.collect()
    assert address(lasting(SHAPE)) != where
    del kept
    gc.collect()
    assert where in [address(np.asarray(each)) for each in buffers._POOL]


def test_no_more_than_some_arrays_are_kept():
    arrays = [lasting(SHAPE) for _ in range(2 * buffers.N_POOLED)]
    del arrays
    gc.collect()
    assert len(buffers._POOL) == buffers.N_POOLED
