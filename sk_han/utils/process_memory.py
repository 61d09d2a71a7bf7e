"""How much memory this process may take."""

from __future__ import annotations

import os
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

# Of a container: the files of control groups, versions 2 and 1, as a process in one sees them.
_LIMITS_OF_GROUPS = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)


def memory_limit() -> int | None:
    """Return the bytes that this process may have, whatever others take, or None if unknown."""
    limits = []
    with suppress(AttributeError, OSError, ValueError):  # Windows has no sysconf
        limits.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    for file in _LIMITS_OF_GROUPS:
        with suppress(OSError, ValueError):  # no such file, or "max"
            limits.append(int(file.read_text("ascii")))
    if find_spec("resource") is not None:  # Windows has none
        import resource

        soft, _ = resource.getrlimit(resource.RLIMIT_AS)
        limits += [soft] if soft != resource.RLIM_INFINITY else []
    return min((limit for limit in limits if limit > 0), default=None)


def check_memory(n_bytes: int, what: str, repair: str) -> None:
    """Raise MemoryError, and take nothing, if the process may not have about so many bytes."""
    limit = memory_limit()
    if limit is not None and n_bytes > limit:
        raise MemoryError(
            f"{what} would take about {n_bytes / 1e9:,.1f} GB of memory; this process may have "
            f"{limit / 1e9:,.1f} GB. {repair}"
        )
