"""Cells of any kind in any container: read alike, or refused alike by an error that names them."""

import datetime as dt
import re
import traceback
from contextlib import suppress
from copy import copy
from decimal import Decimal
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import sk_han
from sk_han import HANRegressor
from tests.tiny_models import LABELS, TEXTS, tiny

TEXTS, LABELS = TEXTS[1:5], LABELS[1:5].tolist()
N = len(TEXTS)

STRINGS = ["a", "B", "", " ", "1", "1.0", "1,5", "1.250", "007", "1e5", "-3", "5 %", "€ 7", "true"]
STRINGS += ["NA", "nan", "#N/A", "2024-01-05", "31.12.2024", "3/4/2024", "a;b", "['a', 'b']"]
STRINGS += ["\0", "a\0", "a\x01\n", "\ud800", "\u202ea", "é", "e\u0301", "9" * 400]
ZONES = st.sampled_from([None, dt.UTC, dt.timezone(dt.timedelta(hours=-5))])
MISSING = st.sampled_from([None, np.nan, pd.NA, pd.NaT, Decimal("NaN"), np.datetime64("NaT")])
TEXT = st.text(st.characters(codec=None, categories=None), max_size=5)
WHOLE = st.integers(-2, 3) | st.sampled_from([2**53 + 1, 2**63, -(2**64), 10**300])
KINDS = [
    st.sampled_from(["pos", "neg", "long"]),
    st.sampled_from(STRINGS) | TEXT,
    st.booleans() | st.sampled_from([np.True_, np.False_]),
    WHOLE,
    st.integers(-2, 3).map(np.int8) | st.integers(0, 2**64 - 1).map(np.uint64),
    st.integers(-2, 3).map(float) | st.floats(),
    st.floats(width=32).map(np.float32) | st.sampled_from([np.float64(1.5), np.longdouble(2)]),
    st.decimals(allow_nan=False) | st.integers(-2, 3).map(Decimal),
    st.dates() | st.dates(dt.date(2024, 1, 1), dt.date(2024, 2, 1)).map(np.datetime64),
    st.datetimes(timezones=ZONES) | st.datetimes(dt.datetime(1990, 1, 1)).map(pd.Timestamp),
    st.times() | st.timedeltas(),
    st.binary(max_size=3) | st.sampled_from(STRINGS[:9]).map(str.encode),
    st.lists(st.sampled_from(["a", "b", 1]), max_size=2) | st.just({"choices": ["a"]}),
    MISSING,
]


@st.composite
def columns(draw):
    """Draw cells, mostly of one kind and each a few times, with at most one of another kind."""
    values = draw(st.lists(draw(st.sampled_from(KINDS)), min_size=1, max_size=4))
    cells = draw(st.lists(st.sampled_from(values), min_size=N, max_size=N))
    for stranger in draw(st.lists(MISSING | st.one_of(KINDS), max_size=1)):
        cells[draw(st.integers(0, N - 1))] = stranger
    return cells


def objects(cells):
    array = np.empty(len(cells), dtype=object)
    for i, cell in enumerate(cells):
        array[i] = cell
    return array


def plain(cell):
    return cell.item() if isinstance(cell, np.generic) else cell


CONTAINERS = {
    "array of objects": objects,
    "pandas, objects": lambda cells: pd.Series(cells, dtype=object),
    "array": np.array,
    "pandas": pd.Series,
    "pandas, nullable": lambda cells: pd.Series(cells).convert_dtypes(),
    "pandas, Arrow": lambda cells: pd.Series(cells).convert_dtypes(dtype_backend="pyarrow"),
    "categories": lambda cells: pd.Series(cells, dtype="category"),
    "polars": lambda cells: pl.Series([*map(plain, cells)]),
    # PyArrow 26 crashes at a mixture of scalars of NumPy.
    "Arrow": lambda cells: pa.array([*map(plain, cells)]),
}


def identity(cell):
    """Return what is equal for two cells if they have the same value and kind."""
    cell = plain(cell)
    if cell is None or cell is pd.NA or (not isinstance(cell, (list, dict)) and cell != cell):
        return None
    kind = next((k for k in (bool, int, str, dt.datetime) if isinstance(cell, k)), type(cell))
    return kind, cell


@st.composite
def held(draw, without=()):
    """Draw cells, and the same in a container that holds them unchanged."""
    cells, found = draw(columns()), {}
    for name, container in CONTAINERS.items():
        # The panic of polars is no Exception.
        with suppress(Exception, pl.exceptions.PanicException):
            column = container(cells)
            items = getattr(column, "to_pylist", column.__iter__)()
            if [*map(identity, items)] == [*map(identity, cells)]:
                found[name] = column
    name = draw(st.sampled_from(["list", *(name for name in found if name not in without)]))
    return name, cells, found.get(name, cells)


def outcome(call, named):
    """Return what a call returns, or None if an error of ours names what was given."""
    try:
        return call()
    except (TypeError, ValueError) as error:
        last, told = traceback.extract_tb(error.__traceback__)[-1], str(error)
        assert last.filename.startswith(str(Path(sk_han.__file__).parent)), (last, told)
        assert re.search(named, told), told
        return None


SMALL = tiny(linear_ngrams=None, linear_chars=None)
OWN = HANRegressor().get_params()
ESTIMATORS = {
    "classifier": SMALL,
    "table": clone(SMALL).set_params(text_column="text"),
    "regressor": HANRegressor(**{k: v for k, v in SMALL.get_params(False).items() if k in OWN}),
}


@cache
def fitted(name):
    X = {"text": TEXTS, "it": [*range(N)]} if name == "table" else TEXTS
    model = clone(ESTIMATORS[name]).fit(X, [*range(N)] if name == "regressor" else LABELS)
    return model, lambda model: model.predict(X).tolist()


def fit(name, X, y, named):
    """Fit another model, and return what it has learnt and predicts; None if it is refused."""
    model = copy(fitted(name)[0])
    if outcome(lambda: model.fit(X, y), named) is None:
        assert fitted(name)[1](model) == fitted(name)[1](fitted(name)[0])
        return None
    learnt = (model.knots_ if name == "regressor" else model.classes_).tolist()
    predict = getattr(model, "predict_proba", model.predict)
    return model.fit_summary_.columns, [*map(type, learnt)], learnt, predict(X).tolist()


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore::UserWarning")
class TestAnyCells:
    @settings(max_examples=200)
    @given(held())
    def test_texts_are_read_alike(self, drawn):
        _, cells, column = drawn

        def read(texts):
            return outcome(
                lambda: fitted("classifier")[0].predict_proba(texts).tolist(), "[Dd]ocument"
            )

        def read_table(texts):
            rows = {"text": texts, "it": [*range(N)]}
            return outcome(lambda: fitted("table")[0].predict_proba(rows).tolist(), "'text', row")

        assert read(column) == read(cells)
        assert read_table(column) == read_table(cells)

    @settings(max_examples=100)
    @given(held(without=["categories"]))
    def test_columns_are_read_alike(self, drawn):
        def read(column):
            return fit("table", {"text": TEXTS, "it": column}, LABELS, "Column 'it'")

        assert read(drawn[2]) == read(drawn[1])

    @pytest.mark.parametrize("name", ["classifier", "regressor"])
    @settings(max_examples=150)
    @given(held())
    def test_targets_are_read_alike(self, name, drawn):
        _, cells, y = drawn
        # Like scikit-learn, a classifier refuses an array of objects other than strings.
        is_refused = not isinstance(y, list) and np.asarray(y).dtype.kind == "O"
        assume(name == "regressor" or not is_refused or {*map(type, cells)} == {str})
        assert fit(name, TEXTS, y, r"\by\b") == fit(name, TEXTS, cells, r"\by\b")
