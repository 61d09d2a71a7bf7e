"""Which device computes, on machines that have more of them than this one."""

import pytest
import torch

from sk_han.training.devices import available_devices, resolve_device


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


@pytest.mark.parametrize("device", ["cuda:2", "mps", "tpu", "CPU"])
def test_an_absent_device_is_refused_with_those_present_and_the_repair(machine, device):
    machine(n_gpus=2)
    present = r"\['cpu', 'cuda', 'cuda:0', 'cuda:1'\]"
    repair = "device='auto' takes CUDA where there is one, else"
    with pytest.raises(ValueError, match=f"'{device}' is not .* has {present}. {repair}"):
        resolve_device(device)
