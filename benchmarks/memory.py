"""Memory of a process (Linux)."""

from __future__ import annotations

from pathlib import Path


def peak_megabytes() -> float:
    """Give the peak resident memory of this process.

    `resource.getrusage` would give that of the parent, where it was larger at the start.
    """
    return _megabytes("VmHWM")


def resident_megabytes() -> float:
    return _megabytes("VmRSS")


def _megabytes(entry: str) -> float:
    status = Path("/proc/self/status").read_text("ascii")
    line = next(line for line in status.splitlines() if line.startswith(entry))
    return int(line.split()[1]) / 1024
