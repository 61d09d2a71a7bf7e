"""What results that are lists of documents share: entries in an order, and a table to fill in."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from sk_han.inspection.results.result import ReadOnlyResult
from sk_han.utils.csv_files import write_csv
from sk_han.utils.frames import frame_of

if TYPE_CHECKING:
    from pandas import DataFrame

Entry = TypeVar("Entry")


class Listing(ReadOnlyResult, Generic[Entry]):
    """Entries of documents, the one to look at first in front."""

    documents: NDArray[np.int64]  # (n_entries,)
    to_fill_in: ClassVar[str]  # the name of the empty column of `to_csv`

    def __len__(self) -> int:
        return len(self.documents)

    def __iter__(self) -> Iterator[Entry]:
        return map(self._entry, range(len(self)))

    @overload
    def __getitem__(self, place: int) -> Entry: ...

    @overload
    def __getitem__(self, place: slice) -> list[Entry]: ...

    def __getitem__(self, place: int | slice) -> Entry | list[Entry]:
        """Return the entry at a place of the order, from 0, or those of a slice."""
        if isinstance(place, slice):
            return list(map(self._entry, range(len(self))[place]))
        return self._entry(place)

    def to_frame(self) -> DataFrame:
        """Return a pandas DataFrame with a row for each entry, in their order.

        Its columns are the fields of an entry, and ``text`` if there are texts. Of one label a
        document ``marked`` of an audit is left out, of several labels its ``suggested``, and the
        ``rival`` of suggestions.
        """
        return frame_of(self._columns(), f"{type(self).__name__}.to_frame")

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the rows of `to_frame` in UTF-8, with an empty column to fill in.

        The column is ``decision`` of an audit, and ``label`` of suggestions.

        Parameters
        ----------
        path : path-like
            Compressed if the name ends in .gz. The file begins with a byte order mark, as Excel
            needs; Python's `open` leaves it out with ``encoding="utf-8-sig"``.
        """
        columns = self._columns()
        rows = zip(*columns.values(), strict=True)
        write_csv(path, [*columns, self.to_fill_in], ([*row, ""] for row in rows))

    @abstractmethod
    def _entry(self, place: int) -> Entry:
        """Return the entry at a place."""

    @abstractmethod
    def _columns(self) -> dict[str, list[Any]]:
        """Return the columns of the table."""
