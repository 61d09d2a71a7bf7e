"""The function `show_versions`, whose output belongs in bug reports."""

from __future__ import annotations

import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version

import torch

import sk_han
from sk_han._kernels.engine import engine_in_use

_PACKAGES = (
    "torch",
    "scikit-learn",
    "skorch",
    "numpy",
    "scipy",
    "joblib",
    "threadpoolctl",
    "numba",
    "llvmlite",
)


def show_versions() -> None:
    """Print the versions of sk_han and its packages, the machine, and the engine that computes.

    Examples
    --------
    >>> import sk_han
    >>> sk_han.show_versions()  # doctest: +ELLIPSIS
    sk-han: ...
    engine: ...
    """
    lines = {
        "sk-han": sk_han.__version__,
        "engine": engine_in_use(),
        "threads": f"{torch.get_num_threads()} of {os.cpu_count()} cores",
        "device": "cuda" if torch.cuda.is_available() else "cpu",
        "processor": f"{platform.machine()}, {torch.backends.cpu.get_cpu_capability()}",
        "system": platform.platform(),
        "python": sys.version.replace("\n", " "),
    }
    for package in _PACKAGES:
        try:
            lines[package] = version(package)
        except PackageNotFoundError:
            lines[package] = "not installed"
    print("\n".join(f"{name}: {value}" for name, value in lines.items()))
