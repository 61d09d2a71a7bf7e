"""Memory that is used again."""

from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from sk_han.nn.buffers import scratch

SINGLE, DOUBLE = torch.empty(0), torch.empty(0, dtype=torch.float64)


@pytest.mark.parametrize("shape", [(2, 3), (0, 5), (7,), (2, 3, 5)])
@pytest.mark.parametrize("like", [SINGLE, DOUBLE])
def test_memory_has_the_shape_and_dtype_asked_for(shape, like):
    memory = scratch("test", shape, like)
    assert memory.shape == shape
    assert memory.dtype == like.dtype
    assert memory.is_contiguous()


def test_the_same_memory_comes_again():
    first = scratch("test", (5, 7), SINGLE)
    assert scratch("test", (3, 2), SINGLE).data_ptr() == first.data_ptr()
    assert scratch("test", (35,), SINGLE).data_ptr() == first.data_ptr()


def test_memory_grows():
    scratch("test growth", (2, 3), SINGLE)
    assert scratch("test growth", (5, 7), SINGLE).fill_(1).sum() == 35


def test_names_and_dtypes_have_memory_of_their_own():
    memories = [scratch(name, (3,), like) for name in ("a", "b") for like in (SINGLE, DOUBLE)]
    assert len({memory.data_ptr() for memory in memories}) == 4


def test_threads_have_memory_of_their_own():
    mine = scratch("test", (3,), SINGLE)
    with ThreadPoolExecutor(1) as pool:
        theirs = pool.submit(scratch, "test", (3,), SINGLE).result()
    assert theirs.data_ptr() != mine.data_ptr()


def test_memory_of_inference_mode_serves_elsewhere():
    with torch.inference_mode():
        scratch("test inference", (3,), SINGLE).fill_(1)
    assert scratch("test inference", (3,), SINGLE).fill_(2).tolist() == [2, 2, 2]
