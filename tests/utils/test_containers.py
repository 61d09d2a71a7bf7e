"""Labels and rows of any container."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from sk_han import DocumentArray
from sk_han._utils.containers import label_list, plain_label, take_rows

STRINGS, NUMBERS, TRUTHS = ["b", "a", "b"], [7, 3, 7], [True, False, True]
CONTAINERS = {
    "list": list,
    "tuple": tuple,
    "list of NumPy's": lambda values: list(np.array(values)),
    "list of Arrow's": lambda values: list(pa.array(values)),
    "array": np.array,
    "array of objects": lambda values: np.array(values, dtype=object),
    "column": lambda values: np.array(values)[:, None],
    "Series": lambda values: pd.Series(values, index=[5, 2, 9]),
    "category": lambda values: pd.Series(values, dtype="category"),
    "nullable": lambda values: pd.Series(values).convert_dtypes(),
    "pandas array": pd.array,
    "Index": pd.Index,
    "frame": lambda values: pd.DataFrame({"y": values}),
    "polars": pl.Series,
    "polars frame": lambda values: pl.DataFrame({"y": values}),
    "Arrow": pa.array,
    "Arrow in chunks": lambda values: pa.chunked_array([values[:1], values[1:]]),
    "Arrow table": lambda values: pa.table({"y": values}),
}


@pytest.mark.parametrize("values", [STRINGS, NUMBERS, TRUTHS], ids=["str", "int", "bool"])
@pytest.mark.parametrize("container", CONTAINERS.values(), ids=CONTAINERS)
def test_labels_are_converted_to_python_types(container, values):
    found = label_list(container(values))
    assert found == values
    assert {type(label) for label in found} == {type(values[0])}
    assert type(plain_label(np.array(values)[0])) is type(values[0])
    assert label_list([["a"], ("b",), ["c", "d"]]) == ["a", "b", ["c", "d"]]  # rows of one
    assert label_list("ab") == ["ab"]


@pytest.mark.parametrize("container", CONTAINERS.values(), ids=CONTAINERS)
def test_rows_are_taken_by_position(container):
    taken = take_rows(container(STRINGS), np.array([1, 2]))
    assert label_list(taken) in (["a", "b"], [["a"], ["b"]])
    assert len(taken) == 2


def test_rows_of_documents_are_documents():
    documents = DocumentArray.from_nested([[[2]], [[3, 4]], [[5]]])
    assert take_rows(documents, np.array([1])).to_nested() == [[[3, 4]]]


def test_rows_of_any_sparse_format_are_selected() -> None:
    dense = np.arange(6).reshape(3, 2)
    for format in ("csr", "csc", "coo", "lil", "dok", "dia", "bsr"):
        for kind in (sparse.csr_matrix, sparse.csr_array):
            rows = take_rows(kind(dense).asformat(format), np.array([2, 0]))
            np.testing.assert_array_equal(rows.toarray(), dense[[2, 0]])
