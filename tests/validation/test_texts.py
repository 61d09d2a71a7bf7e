import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from sk_han import DocumentArray
from sk_han.validation.texts import check_texts

TEXTS = ["Good film.", "", "Das war schön."]


def containers():
    yield "list", TEXTS
    yield "tuple", tuple(TEXTS)
    yield "numpy object", np.array(TEXTS, dtype=object)
    yield "numpy str", np.array(TEXTS)
    if hasattr(np.dtypes, "StringDType"):
        yield "numpy StringDType", np.array(TEXTS, dtype=np.dtypes.StringDType())
    yield "numpy column", np.array(TEXTS, dtype=object).reshape(-1, 1)
    yield "numpy bytes", np.array([text.encode() for text in TEXTS], dtype=object)
    yield "pandas object", pd.Series(TEXTS, dtype=object)
    yield "pandas string", pd.Series(TEXTS, dtype="string")
    yield "pandas arrow", pd.Series(TEXTS, dtype=pd.ArrowDtype(pa.string()))
    yield "pandas odd index", pd.Series(TEXTS, index=[7, 7, "x"])
    yield "pandas categorical", pd.Series(TEXTS, dtype="category")
    yield "pandas index", pd.Index(TEXTS)
    yield "pandas frame", pd.DataFrame({"text": TEXTS})
    yield "polars", pl.Series(TEXTS)
    yield "polars frame", pl.DataFrame({"text": TEXTS})
    yield "arrow", pa.array(TEXTS)
    yield "arrow chunks", pa.chunked_array([TEXTS[:1], TEXTS[1:]])
    yield "arrow table", pa.table({"text": TEXTS})
    yield "generator", (text for text in TEXTS)
    yield "strings of numpy", [np.str_(text) for text in TEXTS]
    yield "bytes", [text.encode() for text in TEXTS]
    yield "bytearrays", [bytearray(text.encode()) for text in TEXTS]


CONTAINERS = dict(containers())


@pytest.mark.parametrize("X", CONTAINERS.values(), ids=CONTAINERS.keys())
def test_every_container_gives_the_same_strings(X):
    found = check_texts(X)
    assert found == TEXTS
    assert set(map(type, found)) == {str}


def test_a_list_of_strings_is_not_copied():
    assert check_texts(TEXTS) is TEXTS


@pytest.mark.parametrize("X", ["a text", b"a text"])
def test_a_bare_string_is_refused_in_the_words_of_scikit_learn(X):
    with pytest.raises(ValueError, match=r"string object received.*\[text\]"):
        check_texts(X)


@pytest.mark.parametrize("X", [[], (), np.array([], dtype=object), pd.Series([], dtype=str)])
def test_zero_documents_are_refused(X):
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        check_texts(X)


@pytest.mark.parametrize(
    ("X", "repair"),
    [
        ({"a": "text"}, r"list\(X\.values\(\)\)"),
        ({"text"}, r"list\(X\)"),
        ({}.keys(), r"list\(X\)"),
        (sparse.csr_matrix([[1, 0]]), "which holds numbers"),
        (sparse.csr_array([[1, 0]]), "which holds numbers"),
        (DocumentArray.from_nested([[[2]]]), "got a DocumentArray"),
        (pl.LazyFrame({"text": TEXTS}), r"collect\(\)"),
    ],
)
def test_containers_without_order_or_texts_are_refused_with_the_repair(X, repair):
    with pytest.raises(TypeError, match=repair):
        check_texts(X)


@pytest.mark.parametrize(
    "X",
    [
        pd.DataFrame({"title": TEXTS, "body": TEXTS}),
        pl.DataFrame({"title": TEXTS, "body": TEXTS}),
        pa.table({"title": TEXTS, "body": TEXTS}),
    ],
)
def test_a_frame_of_many_columns_is_refused_with_their_names(X):
    with pytest.raises(ValueError, match=r"\['title', 'body'\].*df\['text'\]"):
        check_texts(X)


@pytest.mark.parametrize("shape", [(), (1, 3), (3, 1, 1)])
def test_arrays_of_other_shapes_are_refused_with_their_shape(shape):
    X = np.full(shape, "text", dtype=object)
    with pytest.raises(ValueError, match="One text a document expected"):
        check_texts(X)


@pytest.mark.parametrize("X", [None, 3, 2.5, object()])
def test_what_cannot_be_iterated_is_refused(X):
    with pytest.raises(TypeError, match="Iterable over raw text documents expected"):
        check_texts(X)


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
        check_texts(X)


@pytest.mark.parametrize("number", [3, 2.5, np.int64(3), True])
def test_a_number_for_a_document_is_named_with_its_type(number):
    with pytest.raises(TypeError, match=rf"Document 2 is a {type(number).__name__}, .*str"):
        check_texts(["a", "b", number])


@pytest.mark.parametrize("nested", [["a", "word"], ("a",), np.array(["a"])])
def test_a_list_for_a_document_is_named_with_the_repair(nested):
    with pytest.raises(TypeError, match=rf"Document 1 is a {type(nested).__name__}.*join"):
        check_texts(["a", nested])


def test_a_long_document_is_shortened_in_the_message():
    with pytest.raises(TypeError) as error:
        check_texts([["word"] * 10_000])
    assert len(str(error.value)) < 300


def test_bytes_that_are_not_utf8_are_named():
    with pytest.raises(UnicodeDecodeError, match=r"document 1.*encoding") as error:
        check_texts([b"fine", "schön".encode("latin-1")])
    assert error.value.start == 3


def test_odd_characters_pass_as_they_are():
    odd = ["\ud800", "\0\x07", "👨\u200d👩", "e\u0301", "\ufeffa", "<script>"]
    assert check_texts(odd) == odd
