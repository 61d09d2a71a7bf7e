"""Checksums of the blocks of a file, each compared when a process first reads from its block."""

from __future__ import annotations

import zlib
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

__all__ = ["BLOCK", "BlockChecksums", "CheckedBlocks", "n_blocks"]

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


class CheckedBlocks:
    """The blocks of a file that this process has compared with their checksums.

    Threads share it: at worst two of them check a block.

    Parameters
    ----------
    checksums : ndarray of uint32, shape (n_blocks,)
    n_bytes : int
        Of the file.
    read : callable
        Fills a buffer from a position of the file.
    """

    def __init__(
        self,
        checksums: NDArray[np.uint32],
        n_bytes: int,
        read: Callable[[memoryview, int], None],
    ) -> None:
        self._checksums, self._n_bytes, self._read = checksums, n_bytes, read
        self._is_checked = bytearray(len(checksums))

    def check(self, start: int, stop: int) -> None:
        """Compare the blocks of some bytes that have not been compared before.

        Raises
        ------
        OSError
            If the disk fails.
        ValueError
            If one has changed.
        """
        block, last = start // BLOCK - 1, n_blocks(stop)
        while (block := self._is_checked.find(0, block + 1, last)) >= 0:
            begin = block * BLOCK
            data = memoryview(bytearray(min(BLOCK, self._n_bytes - begin)))
            self._read(data, begin)
            if zlib.crc32(data) != self._checksums[block]:
                raise ValueError(
                    f"bytes {begin:,} to {begin + len(data):,} are not those that were written"
                )
            self._is_checked[block] = 1
