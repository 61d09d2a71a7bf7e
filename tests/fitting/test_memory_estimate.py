"""How much memory this process may take."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from sk_han.fitting import memory_estimate
from sk_han.fitting.memory_estimate import check_memory, memory_limit


def test_the_limit_of_a_machine_is_its_memory_at_the_most() -> None:
    psutil = pytest.importorskip("psutil")
    limit = memory_limit()
    assert limit is not None
    assert 0 < limit <= psutil.virtual_memory().total


def test_the_limit_of_a_container_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "memory.max").write_text("1000000\n")
    (tmp_path / "no_limit").write_text("max\n")
    files = (tmp_path / "memory.max", tmp_path / "no_limit", tmp_path / "not_there")
    monkeypatch.setattr(memory_estimate, "_LIMITS_OF_GROUPS", files)
    assert memory_limit() == 1_000_000


@pytest.mark.skipif(sys.platform == "win32", reason="needs ulimit")
def test_the_limit_of_ulimit_counts() -> None:
    code = "from sk_han.fitting.memory_estimate import memory_limit; print(memory_limit())"
    command = f"ulimit -v 2000000; exec {sys.executable} -c '{code}'"
    done = subprocess.run(command, shell=True, check=True, capture_output=True, text=True)
    assert int(done.stdout) == 2_000_000 * 1024


def test_what_is_too_much_is_named_with_the_repair(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_estimate, "memory_limit", lambda: 2_000_000_000)
    check_memory(2_000_000_000, "A model", "Make it smaller.")
    with pytest.raises(
        MemoryError,
        match=r"^A model would take about 2\.1 GB of memory; this process may have 2\.0 GB\. Make",
    ):
        check_memory(2_100_000_000, "A model", "Make it smaller.")


def test_where_no_limit_is_known_nothing_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_estimate, "memory_limit", lambda: None)
    check_memory(1 << 60, "A model", "Make it smaller.")
