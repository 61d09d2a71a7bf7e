"""Tiny named corpora, small enough to work out by hand."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

import sk_han
from sk_han import DocumentArray

if TYPE_CHECKING:
    from torch import nn

# Tests hold numbers of a CPU to the bit. `make test-gpu` shows PyTorch, which looks late, a GPU.
if "SK_HAN_TEST_GPU" not in os.environ:
    os.environ["CUDA_VISIBLE_DEVICES"] = ""

# The same examples in every run, and no clock: a busy machine is no fault of the code.
settings.register_profile("sk_han", max_examples=50, deadline=None, derandomize=True)
settings.load_profile("sk_han")


def pytest_collection() -> None:
    """Collect no garbage while modules and tests are made, which stay to the end."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Let the garbage collector pass over them."""
    gc.freeze()
    gc.enable()


@pytest.fixture(autouse=True, scope="session")
def shaken() -> Iterator[None]:
    """Shake the weights that networks start from, if SK_HAN_TEST_SHAKE is set."""
    if "SK_HAN_TEST_SHAKE" not in os.environ:
        yield
        return
    from tests.shaking import shaking  # which imports PyTorch

    with shaking(int(os.environ["SK_HAN_TEST_SHAKE"])):
        yield


@pytest.fixture(autouse=True)
def _no_processes_of_other_tests() -> Iterator[None]:
    """End joblib's processes after each test.

    One that a test has begun with a small task, and another continues with PyTorch, has grown by
    more than joblib allows: it ends in the middle of a search, which then may wait for ever.
    """
    yield
    loky = sys.modules.get("joblib.externals.loky.reusable_executor")
    if loky is not None and loky._executor is not None:
        loky._executor.shutdown(kill_workers=True)


@pytest.fixture
def _ctrl_c() -> Iterator[None]:
    """Let Ctrl-C interrupt, also where the suite is a job in the background, which ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Let PyTorch compute on one thread: with more it adds in another order."""
    import torch  # the tests of the tokenizer do without it

    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(n_threads)


@pytest.fixture
def fill() -> Callable[[nn.Module], None]:
    """Give every weight a number by a formula, the same in every release of PyTorch."""

    import torch

    def fill_weights(module: nn.Module) -> None:
        with torch.no_grad():
            for k, name in enumerate(sorted(module.state_dict())):
                weight = module.get_parameter(name)
                weight.copy_(0.5 * torch.sin(k + torch.arange(weight.numel())).view_as(weight))

    return fill_weights


@pytest.fixture(params=["torch", "numba"])
def engine(request: pytest.FixtureRequest) -> Iterator[str]:
    """Compute with each engine in turn."""
    if request.param == "numba":
        pytest.importorskip("numba")
    from sk_han.nn import using_engine  # which imports PyTorch

    with using_engine(request.param):
        yield request.param


@pytest.fixture
def nested_ids() -> list[list[list[int]]]:
    """Five documents of word ids: 3 sentences and 11 words at the most, one document empty."""
    return [
        [[2, 3], [4]],
        [],
        [[5, 2, 2, 1, 6, 7, 8, 9, 10, 2, 3]],
        [[3, 3], [1], [2, 4, 5, 12]],
        [[12]],
    ]


@pytest.fixture
def documents(nested_ids: list[list[list[int]]]) -> DocumentArray:
    """`nested_ids` as a DocumentArray: 5 documents, 7 sentences, 22 words."""
    return DocumentArray.from_nested(nested_ids)


@pytest.fixture
def film_reviews() -> list[str]:
    """Raw texts of two good and two bad films."""
    return [
        "A fine film. The cast is a joy!",
        "Dull. A dull, long film.",
        "What a joy: a fine cast.",
        "The film is long. I left.",
    ]


@pytest.fixture
def load_bytes(tmp_path: Path) -> Callable[[bytes], object]:
    """Load a file of these bytes as a saved model."""

    load = sk_han.load  # imported before a test measures what loading takes

    def load_bytes(content: bytes) -> object:
        (tmp_path / "model.han").write_bytes(content)
        return load(tmp_path / "model.han")

    return load_bytes
