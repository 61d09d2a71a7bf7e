"""Texts in every container that people have."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from sk_han import DocumentArray, HierarchicalTokenizer

TEXTS = ["Good film.", "", "Das war schön."]


def words_of(X):
    """Read texts, and return their words."""
    tokenizer = HierarchicalTokenizer()
    return tokenizer.inverse_transform(tokenizer.fit_transform(X))


def containers():
    yield "list", TEXTS
    yield "numpy object", np.array(TEXTS, dtype=object)
    yield "numpy str", np.array(TEXTS)
    if hasattr(np.dtypes, "StringDType"):
        yield "numpy StringDType", np.array(TEXTS, dtype=np.dtypes.StringDType())
    yield "numpy column", np.array(TEXTS, dtype=object).reshape(-1, 1)
    yield "pandas object", pd.Series(TEXTS, dtype=object)
    yield "pandas string", pd.Series(TEXTS, dtype="string")
    yield "pandas arrow", pd.Series(TEXTS, dtype=pd.ArrowDtype(pa.string()))
    yield "pandas odd index", pd.Series(TEXTS, index=[7, 7, "x"])
    yield "pandas categorical", pd.Series(TEXTS, dtype="category")
    yield "pandas frame", pd.DataFrame({"text": TEXTS})
    yield "polars", pl.Series(TEXTS)
    yield "polars frame", pl.DataFrame({"text": TEXTS})
    yield "arrow", pa.array(TEXTS)
    yield "arrow chunks", pa.chunked_array([TEXTS[:1], TEXTS[1:]])
    yield "arrow table", pa.table({"text": TEXTS})
    yield "generator", (text for text in TEXTS)
    yield "bytes", [text.encode() for text in TEXTS]


CONTAINERS = dict(containers())


@pytest.mark.parametrize("X", CONTAINERS.values(), ids=CONTAINERS.keys())
def test_every_container_gives_the_same_strings(X):
    assert words_of(X) == words_of(TEXTS)


@pytest.mark.parametrize(
    ("X", "repair"),
    [
        ({"a": "text"}, r"list\(X\.values\(\)\)"),
        ({"text"}, r"list\(X\)"),
        ({}.keys(), r"list\(X\)"),
        (sparse.csr_array([[1, 0]]), "which holds numbers"),
        (DocumentArray.from_nested([[[2]]]), "got a DocumentArray"),
        (pl.LazyFrame({"text": TEXTS}), r"collect\(\)"),
    ],
)
def test_containers_without_order_or_texts_are_refused_with_the_repair(X, repair):
    with pytest.raises(TypeError, match=repair):
        words_of(X)


@pytest.mark.parametrize(
    "X",
    [
        pd.DataFrame({"title": TEXTS, "body": TEXTS}),
        pa.table({"title": TEXTS, "body": TEXTS}),
    ],
)
def test_a_frame_of_many_columns_is_refused_with_their_names(X):
    with pytest.raises(ValueError, match=r"\['title', 'body'\].*df\['text'\]"):
        words_of(X)


@pytest.mark.parametrize(
    "X",
    ["text", {"a": "text"}, DocumentArray.from_nested([[[2]]]), np.full((1, 3), "text"), 3]
    + [pl.LazyFrame({"text": TEXTS})],
)
def test_errors_in_another_argument_name_the_argument(X):
    with pytest.raises((TypeError, ValueError), match=r"^X_unlabelled: "):
        HierarchicalTokenizer().fit(TEXTS, X_unlabelled=X)


@pytest.mark.parametrize(
    "X",
    [
        *(["a", none] for none in (None, float("nan"), np.float32("nan"), pd.NA, pd.NaT)),
        pd.Series(["a", None], dtype="string"),
        pd.Series(["a", None], dtype=object),
        pl.Series(["a", None]),
        pa.array(["a", None]),
    ],
)
def test_a_missing_document_is_named_with_the_repair(X):
    with pytest.raises(TypeError, match=r"Document 1 is missing.*fillna"):
        words_of(X)
