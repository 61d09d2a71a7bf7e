"""Which device computes, on which threads, by which engine."""

import contextlib
import os
import sys

import pytest
import torch
from joblib import cpu_count

from sk_han._kernels.engine import n_threads
from sk_han._training import net as module
from sk_han._training.net import (
    _may_be_forked,
    available_devices,
    computing,
    resolve_device,
    torch_threads,
)
from tests.dask_workers import in_a_task


@pytest.fixture
def two_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def said_by_a_child(work):
    """Fork, and return what `work` returns in the child, in words."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writing, " ".join(map(str, work())).encode())
        finally:
            os._exit(0)  # past pytest's own clean-up
    os.close(writing)
    with os.fdopen(reading) as file:
        said = file.read()
    os.waitpid(child, 0)
    return said


def before_inside_and_after():
    numbers = [torch.get_num_threads()]
    with contextlib.suppress(KeyboardInterrupt), torch_threads():
        numbers.append(torch.get_num_threads())
        raise KeyboardInterrupt
    return [*numbers, torch.get_num_threads()]


def test_the_process_that_imported_pytorch_keeps_its_threads(two_threads):
    assert before_inside_and_after() == [2, 2, 2]


def test_pytorch_computes_on_one_thread_in_another_process(two_threads, monkeypatch):
    monkeypatch.setattr(module, "_IMPORTED_IN", -1)
    assert before_inside_and_after() == [2, 1, 2]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs an operating system that forks")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
class TestForkedProcess:
    def test_a_forked_process_uses_one_thread_and_restores_the_setting(self, two_threads):
        assert said_by_a_child(before_inside_and_after) == "2 1 2"

    @pytest.mark.skipif(not sys.platform.startswith("linux"), reason="asks Linux")
    def test_a_fork_is_suspected_if_pytorch_came_first(self):
        def known():
            return [_may_be_forked(order) for order in (["torch", "sk_han"], ["sk_han", "torch"])]

        assert said_by_a_child(known) == "True False"
        assert known() == [False, False]


def test_too_little_memory_raises_a_memory_error():
    message = r"could not allocate 1,125,899,906,842,624 bytes"
    with pytest.raises(MemoryError, match=message), computing():
        torch.empty(1 << 50, dtype=torch.uint8)
    with pytest.raises(RuntimeError, match="shapes"), computing():
        torch.ones(2, 3) @ torch.ones(2, 3)


def threads_in_use():
    with computing():
        return n_threads()


def test_tasks_of_a_dask_worker_share_the_cores(two_threads, monkeypatch):
    monkeypatch.setattr(module, "_n_cores", lambda: 3)
    assert threads_in_use() == 2
    assert in_a_task(threads_in_use) == 1


def test_a_model_uses_at_most_four_threads_per_core():
    before = torch.get_num_threads()
    with computing(threads=10**6):
        assert torch.get_num_threads() == n_threads() == 4 * cpu_count()
    with computing(threads=3):
        assert n_threads() == 3
    assert torch.get_num_threads() == before


@pytest.fixture
def machine(monkeypatch):
    """Pretend to have so many GPUs, and Apple's or not."""

    def pretend(n_gpus=0, mps=False):
        monkeypatch.setattr(torch.cuda, "is_available", lambda: n_gpus > 0)
        monkeypatch.setattr(torch.cuda, "device_count", lambda: n_gpus)
        monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)

    return pretend


@pytest.mark.parametrize(
    ("n_gpus", "mps", "present", "auto"),
    [
        (0, False, ["cpu"], "cpu"),
        (2, False, ["cpu", "cuda", "cuda:0", "cuda:1"], "cuda"),
        (0, True, ["cpu", "mps"], "cpu"),
    ],
)
def test_devices_are_named_and_auto_takes_a_gpu_of_cuda(machine, n_gpus, mps, present, auto):
    machine(n_gpus, mps)
    assert available_devices() == present
    assert [resolve_device(device) for device in present] == present
    assert resolve_device("auto") == auto


@pytest.mark.parametrize(
    ("device", "why"),
    [("cuda:2", "available here"), ("mps", "available here"), ("CPU", "one of"), ("cuda:x", "one")],
)
def test_an_absent_device_is_refused_with_the_present_ones(machine, device, why):
    machine(n_gpus=2)
    present = r"\['cpu', 'cuda', 'cuda:0', 'cuda:1'\]"
    repair = "device='auto' takes CUDA where there is one, else"
    with pytest.raises(ValueError, match=f"'{device}' is not {why}.* has {present}. {repair}"):
        resolve_device(device)
