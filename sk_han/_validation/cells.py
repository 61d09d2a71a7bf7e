"""Cells of a table: what kind a column is, its values, and which of them are missing."""

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
EMPTY = "empty"  # the kind of a column without values: those of later tables are all unseen

_LARGEST = 1e300  # infinite numbers become this one
_LONGEST = 200  # characters of a category that count
_FEW = 20  # values that may all differ in a category without a warning
# How tables write that a number, date or boolean is missing; as a category, NA is Namibia.
_NOT_KNOWN = {"-", "?", "n/a", "n.a.", "k.a.", "na", "nan", "nat", "none", "null", "<na>"}
# Errors of spreadsheets, in English and German.
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
_CODE = re.compile(r"[+-]?0\d")  # "007" is a name, as "01067" of a town
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
    """Values of a column, (D,): float64, datetime64[D] or strings; NaN, NaT or "" if missing."""

    kind: str  # of KINDS, or EMPTY
    values: NDArray[Any]

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Which values are missing, (D,)."""
        return self.values == "" if self.values.dtype.kind == "U" else np.isnan(self.values)


def read_column(
    column: Any, name: str, kind: str | None = None, row: Callable[[int], str] = "row {}".format
) -> Column:
    """Read a column of any container as a kind; None takes that of its type or of its cells.

    An error has the name of the column and what `row` makes of the number of the cell.
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
        kinds = [] if is_categorical else _kinds_of(present)
        kind = EMPTY if not present else kinds[0] if len(kinds) == 1 else "category"
    values: list[Any] = len(cells) * [None]
    for i, cell in enumerate(cells):
        if cell is None or (kind not in ("category", EMPTY) and _is_not_known(cell)):
            continue
        values[i] = _CONVERTERS[kind](cell)
        if values[i] is None and (is_categorical or kind == EMPTY):
            values[i] = str(cell)[:_LONGEST]  # such as an interval of pandas.cut
        if values[i] is None:
            others = [other for other in _kinds_of([cell]) if other != kind]
            known = f", but perhaps {listed(others)}" if others else ""
            raise TypeError(
                f"Column {name!r} holds {a_kind(cell)} in {row(i)}, "
                f"{in_one_line(repr(cell), 60)}, which is not of its kind {kind!r}{known}. Convert "
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
    """Read cells that all hold a number, (D,), by a mark of decimals, or by the one that fits.

    Also return the mark, if there is one. A ValueError names the place of a cell.
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
    doubtful = [i for i, pair in enumerate(zip(*fitting.values(), strict=True)) if len({*pair}) > 1]
    if doubtful:
        i = doubtful[0]
        raise ValueError(
            f"{place(i)} is {in_one_line(repr(cells[i]), 60)}, which may be "
            f"{' or '.join(f'{values[i]:g}' for values in fitting.values())}. Give the mark of "
            "decimals of the table as decimal, on the command line by --decimal."
        )
    return np.array(numbers, dtype=np.float64), mark if len(fitting) == 1 else None


def is_absent(cell: Any) -> bool:
    """Return whether a cell has no value: it is blank, or an error, or says so, as "n/a" does."""
    return is_blank(cell) or _is_not_known(cell)


def doubt_about(values: Sequence[str]) -> str | None:
    """Return why the values of a category, (D,), are perhaps of another kind, with the repair."""
    if len(kinds := _kinds_of(values)) > 1:
        return (
            f"may be {listed(kinds)}: say which as columns={{name: kind}}, on the command line by "
            "--decimal, --dayfirst or --monthfirst"
        )
    n_distinct = len(set(values))
    if kinds or n_distinct <= _FEW:  # with one kind, the type of the column made it a category
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
    return "most values are different: leave out an id, and join a text to the one that is read"


def written(value: Any) -> str:
    """Write a value of a `Column`, the same whatever container it is from; "" if missing."""
    if isinstance(value, np.datetime64):
        return "" if np.isnat(value) else str(value)
    return "" if is_missing(value) else _category(value) or ""


def _kinds_of(cells: Sequence[Any]) -> list[str]:
    """Return the kinds that cells, none of them missing, can all be read as, but a category."""
    known = [cell for cell in cells if not _is_not_known(cell)]
    if known and all(str(_category(cell)).lower() in _WORDS for cell in known):
        return ["boolean"]
    kinds = [kind for kind, is_kind in _GUESSED.items() if known and all(map(is_kind, known))]
    texts = [cell for cell in known if isinstance(cell, str)]
    n_dots, has_commas = sum("." in text for text in texts), any("," in text for text in texts)
    # In 1.250 next to 900 dots may stand before thousands.
    if "number" in kinds and not has_commas and n_dots in (0, len(texts)):
        return ["number"]
    if "date" in kinds:
        return ["date"]
    # Dots stand between day, month and year only where the day comes first.
    if "day first" in kinds and not any("/" in text or "-" in text[:4] for text in texts):
        return ["day first"]
    return kinds


def is_blank(cell: Any) -> bool:
    """Return whether a cell holds nothing: it is missing, or has blanks alone."""
    return is_missing(cell) or (isinstance(cell, str) and not cell.strip())


def _word(cell: Any) -> str:
    return cell.strip().lower() if isinstance(cell, str) else ""


def _is_not_known(cell: Any) -> bool:
    return _word(cell) in _NOT_KNOWN


def _number(kind: str, cell: Any) -> float | None:
    if isinstance(cell, (Real, Decimal, np.bool_)):
        with suppress(OverflowError):  # of an integer of more than 308 digits
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
    """Return the day as it is written, whatever its time zone."""
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
    except ValueError:  # the 31st of February
        return None


def _boolean(cell: Any) -> str | None:
    if (number := _number("number", cell)) in (0, 1):
        return str(number == 1)
    return _WORDS.get(str(_category(cell)).lower())


def _category(cell: Any) -> str | None:
    if isinstance(cell, str):  # "1.0" is 1, as whole numbers with a missing one are written
        return re.sub(r"(?a)^(-?\d+)\.0$", r"\1", cell.strip())[:_LONGEST]
    if isinstance(cell, (np.bool_, Integral)):  # with Python's booleans
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
    """Return whether a cell can be of a kind that is not known yet."""
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
