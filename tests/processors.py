"""Run the fast tests as other processors would compute them, one setting at a time.

    python -m tests.processors [arguments of pytest]

Libraries pick their kernels by the processor they find, and other kernels add in another order.
These settings make them pick those of older processors. A test that is red under one of them
holds what one processor gave, not what the arithmetic promises.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from xml.etree import ElementTree

SETTINGS = [
    "OPENBLAS_CORETYPE=Haswell",
    "OPENBLAS_CORETYPE=SkylakeX",
    "OPENBLAS_CORETYPE=Nehalem",
    "ATEN_CPU_CAPABILITY=default",
    "ATEN_CPU_CAPABILITY=avx2",
    "MKL_ENABLE_INSTRUCTIONS=AVX2",
    "ONEDNN_MAX_CPU_ISA=AVX2",
    "OMP_NUM_THREADS=1",
    "OMP_NUM_THREADS=2",
    "SK_HAN_ENGINE=torch",
    "NUMBA_CPU_NAME=haswell NUMBA_CPU_FEATURES=+avx,+avx2,+fma,+sse4.2,+popcnt,+bmi,+bmi2",
    "NUMBA_CPU_NAME=nehalem NUMBA_CPU_FEATURES=+sse4.2,+popcnt",
]
# As `make test` runs them, where a setting does not say otherwise.
BASE = {"OMP_NUM_THREADS": "1"}
NEEDS = {
    "OPENBLAS_CORETYPE=Haswell": "avx2",
    "OPENBLAS_CORETYPE=SkylakeX": "avx512f",
    "ATEN_CPU_CAPABILITY=avx2": "avx2",
    "MKL_ENABLE_INSTRUCTIONS=AVX2": "avx2",
    "ONEDNN_MAX_CPU_ISA=AVX2": "avx2",
}


def can_run(setting: str) -> bool:
    """Return whether this processor has the instructions of a setting; unknown counts as no."""
    needed, info = NEEDS.get(setting), Path("/proc/cpuinfo")
    return needed is None or (info.exists() and needed in info.read_text().split())


def run(setting: str, arguments: list[str]) -> tuple[bool, list[str]]:
    """Run pytest under a setting; return whether it was green, and its line of the table."""
    variables = dict(pair.split("=", 1) for pair in setting.split())
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", "-q", "-m", "not slow and not thorough"]
        command += ["--tb=short", f"--junit-xml={report}", *arguments]
        start = time.monotonic()
        green = subprocess.run(command, env=os.environ | BASE | variables).returncode == 0
        seconds = f"{time.monotonic() - start:.0f}"
        if not report.exists():  # pytest itself was killed, or refused the arguments
            return False, ["-", "-", seconds]
        suite = next(ElementTree.parse(report).iter("testsuite")).attrib
    red = int(suite["failures"]) + int(suite["errors"])
    return green, [str(int(suite["tests"]) - int(suite["skipped"]) - red), str(red), seconds]


def main(arguments: list[str]) -> int:
    """Run all settings, print the table, and return 1 if any was red."""
    all_green, lines = True, [["setting", "passed", "failed", "seconds"]]
    for setting in SETTINGS:
        print(f"\n== {setting}", flush=True)
        if not can_run(setting):
            lines.append([setting, "skipped: no " + NEEDS[setting], "", ""])
            continue
        green, counts = run(setting, arguments)
        all_green &= green
        lines.append([setting, *counts])
    print()
    for setting, passed, failed, seconds in lines:
        print(f"{setting:<28} {passed:>8} {failed:>8} {seconds:>8}")
    return 0 if all_green else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
