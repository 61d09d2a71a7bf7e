"""A file of integers that is read in pieces."""

from __future__ import annotations

import os
import stat
import threading
import weakref
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sk_han.documents.checksums import CheckedBlocks

__all__ = ["IntegerFile"]


class IntegerFile:
    """Integers in a file, read where they are asked for.

    Threads and forked processes may read at the same time. A memory map would count as memory
    what is read and not needed any more, and would end the process if the file were cut off.

    Parameters
    ----------
    path : str
    dtype : str
    length : int
        Number of integers.
    checksums : ndarray of uint32, shape (n_blocks,), optional
        Of the blocks of the file. Each is compared once, when numbers in it are first read.

    Raises
    ------
    OSError
        If it cannot be opened.
    ValueError
        If it is no file, or of another size.
    """

    def __init__(
        self, path: str, dtype: str, length: int, checksums: NDArray[np.uint32] | None = None
    ) -> None:
        self._name, self._dtype = os.path.basename(path), np.dtype(dtype)
        found = os.stat(path)  # to open a pipe would wait for ever
        if not stat.S_ISREG(found.st_mode):
            raise ValueError(f"{self._name} is no file")
        if found.st_size != length * self._dtype.itemsize:
            raise ValueError(
                f"{self._name} has {found.st_size:,} bytes instead of "
                f"{length * self._dtype.itemsize:,}"
            )
        self._lock = threading.Lock()
        self._descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        self.close = weakref.finalize(self, os.close, self._descriptor)
        self._blocks = None
        if checksums is not None:
            self._blocks = CheckedBlocks(checksums, found.st_size, self._read_into)

    def read(self, starts: NDArray[np.int64], stops: NDArray[np.int64]) -> NDArray[Any]:
        """Read pieces, and concatenate them.

        Parameters
        ----------
        starts, stops : ndarray of int64, shape (n_pieces,)
            Positions, in integers.

        Raises
        ------
        OSError
            If the disk fails.
        ValueError
            If the file has become shorter, or other bytes than were written.
        """
        pieces = np.empty(int((stops - starts).sum()), dtype=self._dtype)
        buffer = pieces.view(np.uint8).data
        # Pieces that follow each other in the file are read at once.
        breaks = np.flatnonzero(starts[1:] != stops[:-1])
        first = starts[np.append(0, breaks + 1)] if len(starts) else starts
        last = stops[np.append(breaks, len(stops) - 1)] if len(stops) else stops
        done = 0
        for start, n_bytes in zip(
            (first * self._dtype.itemsize).tolist(),
            ((last - first) * self._dtype.itemsize).tolist(),
            strict=True,
        ):
            self._check(start, start + n_bytes)
            self._read_into(buffer[done : done + n_bytes], start)
            done += n_bytes
        return pieces

    def _check(self, start: int, stop: int) -> None:
        if self._blocks is None:
            return
        try:
            self._blocks.check(start, stop)
        except ValueError as error:
            raise ValueError(f"{self._name}: {error}") from error

    def _read_into(self, buffer: memoryview, position: int) -> None:
        while len(buffer):
            n_read = self._read_some(buffer, position)
            if n_read == 0:
                raise ValueError(f"{self._name} has become shorter since it was opened")
            buffer, position = buffer[n_read:], position + n_read

    def _read_some(self, buffer: memoryview, position: int) -> int:
        if hasattr(os, "preadv"):
            return os.preadv(self._descriptor, [buffer], position)
        with self._lock:  # Windows, where no process is forked
            os.lseek(self._descriptor, position, os.SEEK_SET)
            data = os.read(self._descriptor, min(len(buffer), 1 << 24))
            buffer[: len(data)] = data
            return len(data)
