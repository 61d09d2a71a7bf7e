"""Run the fast tests as other processors would compute them, one setting at a time.

    python -m tests.processors [--only WORD] [arguments of pytest]

Libraries pick their kernels by the processor they find, and other kernels add in another order.
These settings make them pick those of older processors. A test that is red under one of them
holds what one processor gave, not what the arithmetic promises. With --only those settings run
that have the word in them.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from xml.etree import ElementTree

# Vector instructions by generation, as LLVM calls them.
SSE = ["sse4.2", "popcnt"]
AVX = [*SSE, "avx"]  # without multiply-add: other roundings
AVX2 = [*AVX, "avx2", "fma", "f16c", "bmi", "bmi2", "lzcnt", "movbe"]
AVX512 = [*AVX2, *(f"avx512{part}" for part in ("f", "bw", "cd", "dq", "vl"))]
ZEN4 = [*AVX512, *(f"avx512{p}" for p in ("vnni", "vbmi", "vbmi2", "bitalg", "ifma", "bf16"))]
IN_CPUINFO = {
    "sse4.2": "sse4_2",
    "bmi": "bmi1",
    "lzcnt": "abm",
    "avx512vnni": "avx512_vnni",
    "avx512vbmi2": "avx512_vbmi2",
    "avx512bitalg": "avx512_bitalg",
    "avx512bf16": "avx512_bf16",
}


def numba(make: str, features: list[str], without: str = "") -> str:
    """Return the setting that compiles for a make; its name alone would keep the host's features.

    `without` are features of the make that processors with the others may lack.
    """
    signed = [f"+{name}" for name in features] + [f"-{name}" for name in without.split()]
    return f"NUMBA_CPU_NAME={make} NUMBA_CPU_FEATURES={','.join(signed)}"


# Each with the features that it needs.
SETTINGS = {
    "OPENBLAS_CORETYPE=Nehalem": SSE,
    "OPENBLAS_CORETYPE=Sandybridge": AVX,
    "OPENBLAS_CORETYPE=Haswell": AVX2,
    "OPENBLAS_CORETYPE=SkylakeX": AVX512,
    "ATEN_CPU_CAPABILITY=default": [],
    "ATEN_CPU_CAPABILITY=avx2": AVX2,
    "MKL_ENABLE_INSTRUCTIONS=AVX2": AVX2,
    "MKL_CBWR=COMPATIBLE": [],
    "ONEDNN_MAX_CPU_ISA=AVX2": AVX2,
    "OMP_NUM_THREADS=1": [],
    "OMP_NUM_THREADS=2": [],
    "SK_HAN_ENGINE=torch": [],
    numba("nehalem", SSE): SSE,
    numba("sandybridge", AVX): AVX,
    numba("haswell", AVX2): AVX2,
    numba("znver3", AVX2, "sse4a"): AVX2,
    numba("skylake-avx512", AVX512): AVX512,
    numba("znver4", ZEN4, "sse4a"): ZEN4,
}
# As `make test` runs them, where a setting does not say otherwise.
BASE = {"OMP_NUM_THREADS": "1"}


def lacking(setting: str, cpuinfo: str) -> list[str]:
    """Return the features of a setting that /proc/cpuinfo does not list: with none it can run."""
    present = set(cpuinfo.split())
    return [name for name in SETTINGS[setting] if IN_CPUINFO.get(name, name) not in present]


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


def main(only: str, arguments: list[str]) -> int:
    """Run the settings, print the table, and return 1 if any was red."""
    all_green, lines = True, [["setting", "passed", "failed", "seconds"]]
    info = Path("/proc/cpuinfo")
    cpuinfo = info.read_text() if info.exists() else ""  # unknown counts as absent
    for setting in (setting for setting in SETTINGS if only in setting):
        print(f"\n== {setting}", flush=True)
        if absent := lacking(setting, cpuinfo):
            lines.append([setting, f"skipped: no {' '.join(absent)}", "", ""])
            continue
        green, counts = run(setting, arguments)
        all_green &= green
        lines.append([setting, *counts])
    print()
    for setting, passed, failed, seconds in lines:
        name = setting.partition(" ")[0]  # the features of a make go without saying
        print(f"{name:<32} {passed:>8} {failed:>8} {seconds:>8}")
    return 0 if all_green else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(usage="python -m tests.processors [--only WORD] [...]")
    parser.add_argument("--only", default="", metavar="WORD")
    chosen, rest = parser.parse_known_args()
    sys.exit(main(chosen.only, rest))
