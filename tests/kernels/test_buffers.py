"""Memory that is used again belongs to no one else while something stands on it."""

import gc
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch

from sk_han._kernels import engine as buffers
from sk_han._kernels.engine import allocate

SHAPE = 2, 131, 1_009  # beyond the smallest that is pooled


@pytest.fixture(autouse=True)
def _empty_pool(monkeypatch):
    monkeypatch.setattr(buffers, "_POOL", [])


def address(array):
    return array.ctypes.data


def test_unused_memory_is_reused():
    first = allocate(SHAPE)
    assert (first.shape, first.dtype, allocate((0, 5)).shape) == (SHAPE, np.float32, (0, 5))
    where = address(first)
    del first
    gc.collect()
    assert address(allocate((131, 2, 997))) == where


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
def test_a_view_keeps_the_memory_in_use(view):
    array = allocate(SHAPE)
    where, kept = address(array), view(array)
    del array
    gc.collect()
    assert address(allocate(SHAPE)) != where
    del kept
    gc.collect()
    assert address(allocate(SHAPE)) == where


def test_only_a_few_arrays_are_kept():
    tracemalloc.start()
    try:
        arrays = [allocate(SHAPE) for _ in range(2 * buffers.N_POOLED)]
        n_bytes = arrays[0].nbytes
        del arrays
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert 1 <= kept / (buffers.N_POOLED * n_bytes) < 1.2  # an eighth is for larger ones


def test_threads_do_not_share_memory():
    def is_own(number):
        array = allocate(SHAPE)
        array[:] = number
        return bool((array == number).all())

    with ThreadPoolExecutor(5) as threads:
        assert all(threads.map(is_own, range(500)))


def test_memory_taken_by_another_thread_is_left_alone(monkeypatch):
    class Late(list):
        def remove(self, each):
            raise ValueError

    array = allocate(SHAPE)
    where = address(array)
    monkeypatch.setattr(buffers, "_POOL", Late(buffers._POOL))
    del array
    assert address(allocate(SHAPE)) != where
