"""The settings of `make test-processors` are left out where an instruction of theirs is absent."""

from __future__ import annotations

from tests.processors import AVX2, SETTINGS, lacking, numba

FLAGS = "sse4_2 popcnt avx avx2 fma f16c bmi1 bmi2 abm movbe"  # as of a processor of 2013


def test_what_the_processor_lacks_is_named() -> None:
    assert lacking("OPENBLAS_CORETYPE=Haswell", f"flags : {FLAGS}") == []
    assert lacking("OPENBLAS_CORETYPE=SkylakeX", f"flags : {FLAGS} avx512f avx512cd") == [
        "avx512bw",
        "avx512dq",
        "avx512vl",
    ]


def test_an_unknown_processor_runs_what_needs_nothing() -> None:
    free = [setting for setting in SETTINGS if not lacking(setting, "")]
    assert "OMP_NUM_THREADS=2" in free
    assert not any("AVX2" in setting or "NUMBA_CPU_NAME" in setting for setting in free)


def test_a_make_has_its_own_features() -> None:
    name, features = numba("znver3", AVX2, "sse4a").split()
    assert name == "NUMBA_CPU_NAME=znver3"
    assert features.startswith("NUMBA_CPU_FEATURES=+sse4.2,+popcnt,+avx,+avx2,")
    assert features.endswith(",-sse4a")
