"""The device that computes."""

from __future__ import annotations

import torch


def available_devices() -> list[str]:
    """Return the names of the devices of this machine, the CPU first."""
    devices = ["cpu"]
    if torch.cuda.is_available():
        devices += ["cuda", *(f"cuda:{i}" for i in range(torch.cuda.device_count()))]
    if torch.backends.mps.is_available():
        devices.append("mps")
    return devices


def resolve_device(device: str) -> str:
    """Return a device that is present: for "auto" CUDA if there is one, else the CPU."""
    present = available_devices()
    if device == "auto":
        return "cuda" if "cuda" in present else "cpu"
    if device not in present:
        raise ValueError(
            f"device={device!r} is not available here; this machine has {present}. "
            "device='auto' takes CUDA where there is one, else the CPU."
        )
    return device
