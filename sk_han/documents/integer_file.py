"""A file of integers that is read in pieces, and the checksums of its blocks."""

from __future__ import annotations

import os
import stat
import threading
import weakref
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

BLOCK = 1 << 16  # bytes that are read again for the first document in them


def n_blocks(n_bytes: int) -> int:
    """Return how many blocks a file of so many bytes has."""
    return -(-n_bytes // BLOCK)


class BlockChecksums:
    """CRC-32 of each block of what is written, piece by piece."""

    def __init__(self) -> None:
        self._whole: list[int] = []
        self._begun, self._n_bytes = 0, 0

    def update(self, data: memoryview) -> None:
        """Add bytes behind those before."""
        while len(data):
            piece = data[: BLOCK - self._n_bytes]
            self._begun, self._n_bytes = zlib.crc32(piece, self._begun), self._n_bytes + len(piece)
            if self._n_bytes == BLOCK:
                self._whole.append(self._begun)
                self._begun, self._n_bytes = 0, 0
            data = data[len(piece) :]

    def values(self) -> NDArray[np.uint32]:
        """Return the checksums of all blocks."""
        last = [self._begun] if self._n_bytes else []
        return np.array(self._whole + last, dtype=np.uint32)


class IntegerFile:
    """Integers in a file, read where they are asked for; a ValueError says what is wrong with it.

    Each block is compared with its checksum once, when this process first reads from it. Threads
    and forked processes may read at the same time: at worst two of them check a block.

    A memory map would count as memory what is read and not needed any more, and would end the
    process if the file were cut off.
    """

    def __init__(
        self, path: str, dtype: str, length: int, checksums: NDArray[np.uint32] | None = None
    ) -> None:
        self._name, self._dtype = os.path.basename(path), np.dtype(dtype)
        self._n_bytes = length * self._dtype.itemsize
        self._checksums = np.empty(0, dtype=np.uint32) if checksums is None else checksums
        self._is_checked = bytearray(len(self._checksums))
        found = os.stat(path)  # to open a pipe would wait for ever
        if not stat.S_ISREG(found.st_mode):
            raise ValueError(f"{self._name} is no file")
        if found.st_size != self._n_bytes:
            raise ValueError(
                f"{self._name} has {found.st_size:,} bytes instead of {self._n_bytes:,}"
            )
        self._lock = threading.Lock()
        self._descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        self.close = weakref.finalize(self, os.close, self._descriptor)

    def read_all(self) -> NDArray[Any]:
        """Read all integers."""
        return self.read(np.array([0]), np.array([self._n_bytes // self._dtype.itemsize]))

    def read(self, starts: NDArray[np.int64], stops: NDArray[np.int64]) -> NDArray[Any]:
        """Read pieces between positions in integers, (n_pieces,), and concatenate them."""
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
            self._check_blocks(start, start + n_bytes)
            self._read_into(buffer[done : done + n_bytes], start)
            done += n_bytes
        return pieces

    def _check_blocks(self, start: int, stop: int) -> None:
        """Compare the blocks of some bytes that have not been compared before."""
        block, last = start // BLOCK - 1, n_blocks(stop)
        while (block := self._is_checked.find(0, block + 1, last)) >= 0:
            begin = block * BLOCK
            data = memoryview(bytearray(min(BLOCK, self._n_bytes - begin)))
            self._read_into(data, begin)
            if zlib.crc32(data) != self._checksums[block]:
                raise ValueError(
                    f"{self._name}: bytes {begin:,} to {begin + len(data):,} are not those that "
                    "were written"
                )
            self._is_checked[block] = 1

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
