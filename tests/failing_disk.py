"""A disk on which one call after another fails."""

import builtins
import errno
import io
import os
import sys
from itertools import count
from pathlib import Path

import pytest

from tests.thorough import first_fast

BY_PATH = "chmod link lstat mkdir open remove rename replace rmdir scandir stat truncate unlink"
# What happens at a call: the number of an OSError, an exception that is raised in place of the call
# or, with `late`, after it; with `lasting`, the same at all later calls.
FAULTS = {
    "full": {"fault": errno.ENOSPC},
    "interrupted after": {"fault": KeyboardInterrupt, "late": True},
    "broken for good": {"fault": errno.EIO, "lasting": True},
    "without memory": {"fault": MemoryError},
    "broken": {"fault": errno.EIO},
    "forbidden": {"fault": errno.EACCES},
    "interrupted before": {"fault": KeyboardInterrupt},
}
each_fault = pytest.mark.parametrize("fault", first_fast(FAULTS.values(), 2), ids=FAULTS)
each_kind_of_fault = pytest.mark.parametrize(
    "fault", first_fast([*FAULTS.values()][:4], 2), ids=[*FAULTS][:4]
)


class Disk:
    """Count the calls to the operating system for the files of a folder, and let some fail."""

    def __init__(self, folder, monkeypatch):
        self.folder, self.look, self.are_short = folder, None, False
        self.calls, self.failing, self.failed, self.fault = [], range(0), [], None
        for name in BY_PATH.split():
            monkeypatch.setattr(os, name, self._with_path(name, getattr(os, name)))
        fsync = os.fsync
        monkeypatch.setattr(os, "fsync", lambda file: self.call("fsync", None, fsync, file))
        self._open = builtins.open
        for module in (builtins, io):
            monkeypatch.setattr(module, "open", self.open)

    def outcomes(self, run, before, fault, late=False, lasting=False):
        """Run with call after call failing, to a run in which none does; give results or errors."""
        self.fault, self.is_late, self.is_lasting = fault, late, lasting
        for number in count(1):
            before()
            self.calls, self.failed = [], []
            self.failing = range(number, sys.maxsize if lasting else number + 1)
            try:
                outcome = run()
            except (OSError, ValueError, MemoryError, KeyboardInterrupt) as error:
                outcome = error
            self.failing = range(0)
            yield outcome
            if not self.failed:
                break

    def call(self, name, path, function, *args, **kwargs):
        look, self.look = self.look, None
        if look is not None:
            look()
            self.look = look
        if self.fault == "end" and name != "read":
            return function(*args, **kwargs)
        self.calls.append(name)
        if len(self.calls) not in self.failing:
            return function(*args, **kwargs)
        self.failed.append(name)
        if self.fault == "end":
            return 0
        if self.is_late or name == "close":  # which closes the file, even if it fails
            result = function(*args, **kwargs)
            if hasattr(result, "close"):
                result.close()
        if isinstance(self.fault, type):
            raise self.fault
        raise OSError(self.fault, os.strerror(self.fault), path)

    def _with_path(self, name, function):
        def call(path, *args, **kwargs):
            if isinstance(path, int) or self.folder not in (Path(path), *Path(path).parents):
                return function(path, *args, **kwargs)
            return self.call(name, os.fspath(path), function, path, *args, **kwargs)

        return call

    def open(self, file, mode="r", buffering=-1, *args, **kwargs):
        if isinstance(file, int) or self.folder not in Path(file).parents:
            return self._open(file, mode, buffering, *args, **kwargs)
        plain = mode.replace("b", "").replace("t", "")
        raw = self.call("open", os.fspath(file), _File, self, file, plain)
        if buffering == 0:
            return raw
        kind = io.BufferedReader if plain == "r" else io.BufferedWriter
        buffered = (io.BufferedRandom if "+" in mode else kind)(raw)
        return buffered if "b" in mode else io.TextIOWrapper(buffered, *args, **kwargs)

    def restore(self, files):
        """Write the files of the folder, and remove all others."""
        for path in self.folder.iterdir():
            path.unlink()
        for name, content in files.items():
            (self.folder / name).write_bytes(content)

    def check_old_or_new(self, old, new, message=None):
        """Check that all files are old or all new; `message` is that of an error.

        Other files are there only if the message names them, or if they could not be removed.
        """
        there = {path.name: path.read_bytes() for path in self.folder.iterdir()}
        if self.is_lasting and message is not None:
            assert {*old.values()} <= {*there.values()} or new.items() <= there.items()
            return
        files = {name: there.pop(name) for name in new if name in there}
        assert files == new or (files == old and message is not None)
        kept = [name for name in there if not name.startswith(".")]
        assert len(kept) in (0, len(new))
        assert all(str(self.folder / name) in message for name in kept)
        assert kept == [*there] or "unlink" in self.failed


class _File(io.FileIO):
    """An open file whose calls are counted."""

    read, readall = io.RawIOBase.read, io.RawIOBase.readall  # which call `readinto`

    def __init__(self, disk, *args):
        self.disk = disk
        super().__init__(*args)

    def readinto(self, buffer):
        n = -(-len(buffer) // 2) if self.disk.are_short else None
        return self.disk.call("read", None, super().readinto, memoryview(buffer)[:n])

    def write(self, data):
        n = -(-len(data) // 2) if self.disk.are_short else None
        return self.disk.call("write", None, super().write, data[:n])

    def close(self):
        if not self.closed:
            self.disk.call("close", None, super().close)
