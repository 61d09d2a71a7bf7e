"""Tables to fill in, written as CSV."""

from __future__ import annotations

import csv
import gzip
import io
import os
from collections.abc import Iterable, Sequence
from typing import Any

from sk_han.utils.atomic_write import replacing


def write_csv(
    path: str | os.PathLike[str], header: Sequence[str], rows: Iterable[Sequence[Any]]
) -> None:
    """Write a table, compressed if its name ends in .gz; fractions have three digits."""
    lines = io.StringIO(newline="")
    writer = csv.writer(lines)
    writer.writerow(header)
    writer.writerows(
        [
            f"{cell:.3f}" if isinstance(cell, float) and not cell.is_integer() else cell
            for cell in row
        ]
        for row in rows
    )
    # Excel needs the byte order mark; lone surrogates are no UTF-8.
    data = lines.getvalue().encode("utf-8-sig", errors="replace")
    with replacing(path) as file:
        file.write(gzip.compress(data) if os.fspath(path).lower().endswith(".gz") else data)
