"""Which device computes, on machines that have more of them than this one."""

from __future__ import annotations

import pytest
import torch

from sk_han.training.computing import available_devices, resolve_device


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch):
    """Pretend to have so many GPUs, and Apple's or not."""

    def pretend(n_gpus: int = 0, mps: bool = False) -> None:
        monkeypatch.setattr(torch.cuda, "is_available", lambda: n_gpus > 0)
        monkeypatch.setattr(torch.cuda, "device_count", lambda: n_gpus)
        monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)

    return pretend


def test_every_machine_has_a_cpu(machine) -> None:
    machine()
    assert available_devices() == ["cpu"]


def test_gpus_are_named_one_by_one(machine) -> None:
    machine(n_gpus=2)
    assert available_devices() == ["cpu", "cuda", "cuda:0", "cuda:1"]


def test_apple_gpu_is_named(machine) -> None:
    machine(mps=True)
    assert available_devices() == ["cpu", "mps"]


def test_auto_takes_a_gpu_where_there_is_one(machine) -> None:
    machine(n_gpus=1)
    assert resolve_device("auto") == "cuda"


@pytest.mark.parametrize("mps", [True, False])
def test_auto_takes_the_cpu_elsewhere(machine, mps: bool) -> None:
    machine(mps=mps)
    assert resolve_device("auto") == "cpu"


@pytest.mark.parametrize("device", ["cpu", "cuda", "cuda:1"])
def test_a_device_that_is_there_is_taken_as_it_is(machine, device: str) -> None:
    machine(n_gpus=2)
    assert resolve_device(device) == device


@pytest.mark.parametrize("device", ["cuda:2", "mps", "tpu", "CPU"])
def test_an_absent_device_is_refused_and_those_present_are_named(machine, device: str) -> None:
    machine(n_gpus=2)
    present = r"\['cpu', 'cuda', 'cuda:0', 'cuda:1'\]"
    with pytest.raises(ValueError, match=f"device='{device}' is not .* this machine has {present}"):
        resolve_device(device)


def test_the_refusal_says_what_would_work(machine) -> None:
    machine()
    with pytest.raises(ValueError, match="device='auto' takes CUDA where there is one, else"):
        resolve_device("cuda")
