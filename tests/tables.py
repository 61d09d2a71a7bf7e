"""Tables of Python's own values in the containers that people have them in."""

import json

import narwhals
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa


def with_marks(values):
    """Return a column of objects whose missing values are None, NaN, NA and NaT in turn."""
    marks = [None, np.nan, pd.NA, pd.NaT]
    return pd.Series([marks[i % 4] if v is None else v for i, v in enumerate(values)], dtype=object)


def cell(value, i):
    """Write a value as a spreadsheet may; a missing one is blank."""
    return ["", " ", "\t"][i % 3] if value is None else str(value)


def rows(columns):
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def json_rows(columns):
    """Return what a JSON line holds; keys of missing values lack in every other row."""
    found = json.loads(
        json.dumps(rows(columns), default=lambda v: str(v) if hasattr(v, "year") else float(v))
    )
    return [
        {k: v for k, v in row.items() if v is not None or i % 2 == 0} for i, row in enumerate(found)
    ]


def arrow(columns):
    return pa.table({name: pa.array(values) for name, values in columns.items()})


# Of a dict with a list for each column, in which None is missing.
CONTAINERS = {
    "pandas": pd.DataFrame,
    "pandas, objects": lambda c: pd.DataFrame({n: with_marks(v) for n, v in c.items()}),
    "pandas, nullable": lambda c: pd.DataFrame(c).convert_dtypes(),
    "pandas, Arrow": lambda c: pd.DataFrame(c).convert_dtypes(dtype_backend="pyarrow"),
    "pandas, from Arrow": lambda c: arrow(c).to_pandas(types_mapper=pd.ArrowDtype),
    # It turns a fixed offset from UTC into UTC.
    "polars": lambda c: pl.DataFrame(c, strict=False).with_columns(
        pl.col(pl.Datetime(time_zone="UTC")).dt.convert_time_zone("America/Bogota")
    ),
    "Arrow": arrow,
    "narwhals": lambda c: narwhals.from_native(arrow(c)),
    "dicts": rows,
    "mapping": dict,
    "mapping of arrays": lambda c: {n: pd.Series(v).to_numpy() for n, v in c.items()},
    "strings": lambda c: pd.DataFrame({n: [*map(cell, v, range(len(v)))] for n, v in c.items()}),
    "JSON": json_rows,
}
