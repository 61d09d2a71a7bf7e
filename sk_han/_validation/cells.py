"""Reading the cells of a table: the kind of a column, its values, and missing values."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import date, datetime, time
from decimal import Decimal
from functools import partial
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sk_han._utils.containers import listed
from sk_han._utils.messages import a_kind, in_one_line
from sk_han._validation.documents import as_list, is_missing

NUMBERS = "number", "decimal comma"
DATES = "date", "day first", "month first"
KINDS = (*NUMBERS, *DATES, "boolean", "category")
# The kind of a column that is empty in the fit. Any value of a later table is then an unseen one.
EMPTY = "empty"

# Infinite numbers are clipped to this one, so that sums and differences of columns stay finite.
_LARGEST = 1e300
_LONGEST = 200  # characters of a category that are compared
# A category of so few distinct values is plausible even if no value occurs twice.
_FEW = 20
# Spellings of a missing number, date or boolean. They are ordinary values of a category, where NA
# may stand for Namibia.
_NOT_KNOWN = {"-", "?", "n/a", "n.a.", "k.a.", "na", "nan", "nat", "none", "null", "<na>"}
# Error values of spreadsheets in English and German.
ERRORS = {"#N/A", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#NULL!"}
ERRORS |= {"#NV", "#WERT!", "#BEZUG!", "#ZAHL!"}
_NOT_KNOWN |= {*map(str.lower, ERRORS)}
_WORDS = {"true": "True", "false": "False"}
_CURRENCY = "[$€£¥₹]|EUR|USD|GBP|CHF"
_UNIT = re.compile(rf"^([+-]?)\s*(?:{_CURRENCY})\s*|\s*(?:{_CURRENCY}|%)$")
_BLANKS = " '’\N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}"  # between groups of thousands
_MARKS = {"number": (".", ","), "decimal comma": (",", ".")}  # of decimals and of thousands
_NUMBER = {
    kind: re.compile(
        rf"[+-]?(inf|(([1-9]\d{{0,2}}([{group}{_BLANKS}]\d{{3}})+|\d+)([{mark}]\d*)?|[{mark}]\d+)"
        r"(e[+-]?\d+)?)",
        re.IGNORECASE,
    )
    for kind, (mark, group) in _MARKS.items()
}
# Leading zeros mark a code, such as the postal code "01067", which must not become a number.
_CODE = re.compile(r"[+-]?0\d")
_YEAR, _MONTH, _DAY = r"(?P<y>\d{4})", r"(?P<m>\d\d?)", r"(?P<d>\d\d?)"
_DATE = {
    kind: re.compile(rf"{first}([-/.]){second}\2{third}([T ,]\s*\d\d?:\d\d.*)?")
    for kind, first, second, third in (
        ("date", _YEAR, _MONTH, _DAY),
        ("day first", _DAY, _MONTH, _YEAR),
        ("month first", _MONTH, _DAY, _YEAR),
    )
}


class Column(NamedTuple):
    """Values of a column, (D,): float64, datetime64[D] or str; missing ones are NaN, NaT or ""."""

    kind: str  # of KINDS, or EMPTY
    values: NDArray[Any]

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Which values are missing, (D,)."""
        return self.values == "" if self.values.dtype.kind == "U" else np.isnan(self.values)


def read_column(
    column: Any, name: str, kind: str | None = None, row: Callable[[int], str] = "row {}".format
) -> Column:
    """Read a column of any container; without `kind`, infer the kind from its type or its cells.

    Errors name the column and the cell, whose position `row` turns into text.
    """
    numbers, is_categorical = None, False
    if isinstance(column, np.ndarray):
        if column.ndim == 1 and column.dtype.kind in "iuf":
            numbers = column.astype(np.float64)
        elif column.dtype.kind == "M":
            column = column.astype("datetime64[us]")
    elif not isinstance(column, (list, tuple)):
        import narwhals.stable.v2 as nw

        series = nw.from_native(column, allow_series=True, pass_through=True)
        if isinstance(series, nw.Series):
            is_categorical = series.dtype in (nw.Categorical, nw.Enum)
            if series.dtype.is_numeric():
                numbers = series.cast(nw.Float64).to_numpy().astype(np.float64)
    if numbers is not None and kind in (None, *NUMBERS) and not np.isnan(numbers).all():
        return Column(kind or "number", numbers.clip(-_LARGEST, _LARGEST))
    cells = [None if is_blank(cell) else cell for cell in as_list(column, f"Column {name!r}")]
    present = [cell for cell in cells if cell is not None]
    if kind is None:
        kinds = [] if is_categorical else _possible_kinds(present)
        kind = EMPTY if not present else kinds[0] if len(kinds) == 1 else "category"
    values: list[Any] = len(cells) * [None]
    for i, cell in enumerate(cells):
        if cell is None or (kind not in ("category", EMPTY) and _is_not_known(cell)):
            continue
        values[i] = _CONVERTERS[kind](cell)
        # A categorical column may hold other objects, such as the intervals of pandas.cut.
        if values[i] is None and (is_categorical or kind == EMPTY):
            values[i] = str(cell)[:_LONGEST]
        if values[i] is None:
            others = [other for other in _possible_kinds([cell]) if other != kind]
            hint = f", but perhaps {listed(others)}" if others else ""
            raise TypeError(
                f"Column {name!r} holds {a_kind(cell)} in {row(i)}, "
                f"{in_one_line(repr(cell), 60)}, which is not of its kind {kind!r}{hint}. Convert "
                "it, or fit with another kind in columns or without the column."
            )
    if kind in NUMBERS:
        return Column(kind, np.array(values, dtype=np.float64).clip(-_LARGEST, _LARGEST))
    if kind in DATES:
        return Column(kind, np.array(values, dtype="datetime64[D]"))
    return Column(kind, np.array([value or "" for value in values], dtype=np.str_))


def read_numbers(
    cells: Sequence[Any], decimal: str | None, place: Callable[[int], str]
) -> tuple[NDArray[np.float64], str | None]:
    """Read cells that all hold a number, (D,), with `decimal` or the decimal mark that fits them.

    Also return the mark, or None if both fit. A ValueError names the `place` of the faulty cell.
    """
    kinds = {mark: kind for kind, (mark, _) in _MARKS.items() if decimal in (None, mark)}
    read = {mark: [_number(kind, cell) for cell in cells] for mark, kind in kinds.items()}
    fitting = {mark: numbers for mark, numbers in read.items() if None not in numbers}
    if not fitting:
        mark, numbers = min(read.items(), key=lambda item: item[1].count(None))
        i = numbers.index(None)
        raise ValueError(
            f"{place(i)} is {in_one_line(repr(cells[i]), 60)}, and not a number with the decimal "
            f"mark {mark!r}. Correct it, or leave it blank to leave the document out."
        )
    mark, numbers = next(iter(fitting.items()))
    # With both marks possible, a cell such as "1,250" could be two different numbers.
    doubtful = [i for i, pair in enumerate(zip(*fitting.values(), strict=True)) if len({*pair}) > 1]
    if doubtful:
        i = doubtful[0]
        raise ValueError(
            f"{place(i)} is {in_one_line(repr(cells[i]), 60)}, which may be "
            f"{' or '.join(f'{values[i]:g}' for values in fitting.values())}. Give the mark of "
            "decimals as decimal, on the command line as --decimal."
        )
    return np.array(numbers, dtype=np.float64), mark if len(fitting) == 1 else None


def is_absent(cell: Any) -> bool:
    """Return whether a cell has no value: it is blank, an error, or a spelling such as "n/a"."""
    return is_blank(cell) or _is_not_known(cell)


def doubt_about(values: Sequence[str]) -> str | None:
    """Return why values of a category, (D,), may be of another kind, with the repair, or None."""
    if len(kinds := _possible_kinds(values)) > 1:
        return (
            f"may be {listed(kinds)}: say which as columns={{name: kind}}, on the command line by "
            "--decimal, --dayfirst or --monthfirst"
        )
    n_distinct = len(set(values))
    # If all cells fit one kind, the column is a category because its dtype says so.
    if kinds or n_distinct <= _FEW:
        return None
    n_fitting, kind = max((sum(map(is_kind, values)), kind) for kind, is_kind in _GUESSED.items())
    if 2 * n_fitting > len(values):
        other = next(value for value in values if not _GUESSED[kind](value))
        return (
            f"{n_fitting:,} of {len(values):,} values are of the kind {kind!r}, and "
            f"{in_one_line(repr(other), 60)} is not: correct it or leave it blank, or say that "
            "the column is one by columns={name: 'category'}"
        )
    if 2 * n_distinct <= len(values):
        return None
    return "most values are distinct: leave out an id, and append a text to the text column"


def format_value(value: Any) -> str:
    """Format a value of a `Column`, alike for values of all containers; "" if missing."""
    if isinstance(value, np.datetime64):
        return "" if np.isnat(value) else str(value)
    return "" if is_missing(value) else _category(value) or ""


def _possible_kinds(cells: Sequence[Any]) -> list[str]:
    """Return the kinds, other than category, that all of these non-blank cells can be read as."""
    values = [cell for cell in cells if not _is_not_known(cell)]
    if values and all(str(_category(cell)).lower() in _WORDS for cell in values):
        return ["boolean"]
    kinds = [kind for kind, is_kind in _GUESSED.items() if values and all(map(is_kind, values))]
    texts = [cell for cell in values if isinstance(cell, str)]
    n_dots, has_commas = sum("." in text for text in texts), any("," in text for text in texts)
    # If only some cells have a dot, as 1.250 and 900, it may separate thousands.
    if "number" in kinds and not has_commas and n_dots in (0, len(texts)):
        return ["number"]
    if "date" in kinds:
        return ["date"]
    # Dates with dots, such as 31.12.2026, put the day first in every country that writes them.
    if "day first" in kinds and not any("/" in text or "-" in text[:4] for text in texts):
        return ["day first"]
    return kinds


def is_blank(cell: Any) -> bool:
    """Return whether a cell is missing or holds only white space."""
    return is_missing(cell) or (isinstance(cell, str) and not cell.strip())


def _word(cell: Any) -> str:
    return cell.strip().lower() if isinstance(cell, str) else ""


def _is_not_known(cell: Any) -> bool:
    return _word(cell) in _NOT_KNOWN


def _number(kind: str, cell: Any) -> float | None:
    if isinstance(cell, (Real, Decimal, np.bool_)):
        # An integer of more than 308 digits overflows float64.
        with suppress(OverflowError):
            return float(cell)
        return np.inf if str(cell)[0] != "-" else -np.inf
    if not isinstance(cell, str):
        return None
    text = _UNIT.sub(r"\1", cell.strip().replace("\N{MINUS SIGN}", "-"))
    if not _NUMBER[kind].fullmatch(text):
        return None
    mark, group = _MARKS[kind]
    number = float(re.sub(f"[{group}{_BLANKS}]", "", text).replace(mark, "."))
    return number / 100 if cell.strip().endswith("%") else number


def _date(kind: str, cell: Any) -> date | None:
    """Return the day as written in the cell, without converting time zones."""
    if isinstance(cell, np.datetime64):
        cell = cell.astype("datetime64[us]").item()
    if isinstance(cell, datetime):
        return date(cell.year, cell.month, cell.day)
    if isinstance(cell, date):
        return cell
    text = cell.strip() if isinstance(cell, str) else ""
    match = _DATE[kind].fullmatch(text) or _DATE["date"].fullmatch(text)
    try:
        return date(*(int(match[part]) for part in "ymd")) if match else None
    # The day does not exist, such as 31 February.
    except ValueError:
        return None


def _boolean(cell: Any) -> str | None:
    if (number := _number("number", cell)) in (0, 1):
        return str(number == 1)
    return _WORDS.get(str(_category(cell)).lower())


def _category(cell: Any) -> str | None:
    # pandas turns whole numbers into floats if one is missing, so "1.0" and "1" are one category.
    if isinstance(cell, str):
        return re.sub(r"(?a)^(-?\d+)\.0$", r"\1", cell.strip())[:_LONGEST]
    # Python's bool is an Integral, NumPy's is not.
    if isinstance(cell, (np.bool_, Integral)):
        return str(cell)[:_LONGEST]
    if isinstance(cell, (Real, Decimal)):
        number = float(cell)
        return str(int(number)) if number.is_integer() else f"{number:.12g}"
    if isinstance(cell, np.datetime64):
        cell = cell.astype("datetime64[us]").item()
    if isinstance(cell, datetime):
        return cell.isoformat(" ").removesuffix(" 00:00:00")
    return cell.isoformat() if isinstance(cell, (date, time)) else None


def _fits(kind: str, cell: Any) -> bool:
    """Return whether a cell can be of a kind, when the kind of its column is inferred."""
    if kind in NUMBERS and _CODE.match(_word(cell)):
        return False
    return _is_not_known(cell) or _CONVERTERS[kind](cell) is not None


_CONVERTERS: dict[str, Callable[[Any], Any]] = {
    **{kind: partial(_number, kind) for kind in NUMBERS},
    **{kind: partial(_date, kind) for kind in DATES},
    "boolean": _boolean,
    "category": _category,
    EMPTY: _category,
}
_GUESSED = {kind: partial(_fits, kind) for kind in (*NUMBERS, *DATES)}
