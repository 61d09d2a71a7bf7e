"""Ragged documents at rest: they index like a list and lie like three arrays."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sk_han import DocumentArray, SentenceArray

Nested = list[list[list[int]]]

sentences = st.lists(st.integers(1, 2**31 - 1), min_size=1, max_size=5)
nested_documents = st.lists(st.lists(sentences, max_size=3), max_size=7)

ARRAYS = ("document_starts", "sentence_starts", "word_ids")


@st.composite
def documents_and_rows(draw: st.DrawFn) -> tuple[Nested, list[int]]:
    """Documents and some of their numbers, negative ones and repetitions among them."""
    nested = draw(nested_documents.filter(len))
    numbers = st.integers(-len(nested), len(nested) - 1)
    return nested, draw(st.lists(numbers, max_size=11))


# What it holds


def test_sizes_are_counted_at_every_level(documents: DocumentArray) -> None:
    assert documents.shape == (5,)
    assert repr(documents) == "DocumentArray(5 documents, 7 sentences, 22 words)"
    assert repr(documents[4:]) == "DocumentArray(1 document, 1 sentence, 1 word)"
    assert documents.sentences_per_document.tolist() == [2, 0, 1, 3, 1]
    assert documents.words_per_sentence.tolist() == [2, 1, 11, 2, 1, 4, 1]
    assert documents.words_per_document.tolist() == [3, 0, 11, 7, 1]


def test_arrays_of_the_right_dtype_are_not_copied(documents: DocumentArray) -> None:
    again = DocumentArray(documents.word_ids, documents.sentence_starts, documents.document_starts)
    for name in ARRAYS:
        assert np.shares_memory(getattr(again, name), getattr(documents, name))


# Nested lists


# Rows


@given(nested_documents, st.slices(7))
def test_slices_select_documents_as_in_a_list(nested: Nested, rows: slice) -> None:
    assert DocumentArray.from_nested(nested)[rows].to_nested() == nested[rows]


@given(documents_and_rows())
def test_integers_select_documents_as_in_a_list(case: tuple[Nested, list[int]]) -> None:
    nested, rows = case
    X, expected = DocumentArray.from_nested(nested), [nested[i] for i in rows]
    assert X[rows].to_nested() == expected
    taken = X[np.array(rows, dtype=np.int64), ...]  # as scikit-learn writes it
    assert taken.to_nested() == expected
    checked = DocumentArray(taken.word_ids, taken.sentence_starts, taken.document_starts)
    for name in ARRAYS:
        assert getattr(taken, name).dtype == getattr(checked, name).dtype
    mask = np.isin(np.arange(len(nested)), rows)
    assert X[mask].to_nested() == [nested[i] for i in np.flatnonzero(mask)]


def test_indexing_and_iteration_return_the_sentences_of_a_document(
    documents: DocumentArray, nested_ids: Nested
) -> None:
    for number in (2, -3, np.int64(2), np.uint8(2)):
        assert [sentence.tolist() for sentence in documents[number]] == nested_ids[number]
    assert [[s.tolist() for s in document] for document in documents] == nested_ids


def test_selected_rows_do_not_share_memory(documents: DocumentArray) -> None:
    taken = documents[:]
    taken.word_ids[:] = 1
    assert documents.word_ids[0] == 2


ONE_AXIS, ROWS = r"one axis, its documents; got the index \(", "a slice, integers or a boolean mask"


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (5, "out of bounds of 5 documents"),
        (-6, "out of bounds of 5 documents"),
        ([-6], "out of bounds"),
        ([True, False], r"(axis|dimension) is 5"),
        ((0, 0), ONE_AXIS),
        ((..., 0), ONE_AXIS),
        ((0,), ONE_AXIS),
        ([0.5], f"{ROWS}; got list of dtype float64"),
        ("a", f"{ROWS}; got str of dtype <U1"),
        ([[0]], rf"{ROWS}; got list of dtype int64 and shape \(1, 1\)"),
        (True, f"{ROWS}; got bool of dtype bool"),
        (None, f"{ROWS}; got NoneType"),
    ],
    ids=repr,
)
def test_invalid_rows_are_refused(documents: DocumentArray, rows: Any, message: str) -> None:
    with pytest.raises(IndexError, match=message):
        documents[rows]


# The padded cube


@given(nested_documents)
def test_padding_round_trips(nested: Nested) -> None:
    X = DocumentArray.from_nested(nested)
    assert X.to_nested() == nested
    assert DocumentArray.from_padded(X.pad()).to_nested() == nested


@given(nested_documents, st.integers(0, 5), st.integers(0, 7))
def test_padding_cuts_off_at_the_end(nested: Nested, max_sentences: int, max_words: int) -> None:
    cube = DocumentArray.from_nested(nested).pad(max_sentences, max_words)
    cut = [[s[:max_words] for s in d[:max_sentences] if max_words] for d in nested]
    assert cube.shape == (len(nested), max_sentences, max_words)
    assert DocumentArray.from_padded(cube).to_nested() == cut


# Bad input


@pytest.mark.parametrize(
    ("arrays", "error", "message"),
    [
        (([2.0], [0, 1], [0, 1]), TypeError, "word_ids must hold integers; got dtype float64"),
        (([True], [0, 1], [0, 1]), TypeError, "word_ids must hold integers; got dtype bool"),
        (([2], [0.0, 1.0], [0, 1]), TypeError, "sentence_starts must hold integers"),
        (([2], [0, 1], ["0", "1"]), TypeError, "document_starts must hold integers"),
        (([[2]], [0, 1], [0, 1]), ValueError, r"word_ids must have .* got shape \(1, 1\)"),
        (([2], [1, 1], [0, 1]), ValueError, "sentence_starts must rise from 0 .* words, 1; got"),
        (([2], [0, 2], [0, 1]), ValueError, "sentence_starts must rise from 0 .* words, 1; got"),
        (([2], [0, 1], [0, 2]), ValueError, "document_starts must rise .* sentences, 1; got"),
        (([2, 3], [0, 2, 1, 2], [0, 3]), ValueError, "sentence_starts must rise"),
        (([2], [0, 1], np.empty(0, int)), ValueError, "document_starts must rise"),
        (([2, 3], [0, 1, 1, 2], [0, 3]), ValueError, "Sentence 1 is empty; leave sentences"),
        (([2, 0], [0, 2], [0, 1]), ValueError, "Word 1 has the id 0; .*from_padded takes it off"),
        (([2, 3, -5], [0, 3], [0, 1]), ValueError, "Word 2 has the id -5; ids run from 1"),
        (([2**31], [0, 1], [0, 1]), ValueError, "Word 0 has the id 2147483648"),
    ],
)
def test_inconsistent_arrays_are_refused(
    arrays: tuple[Any, Any, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        DocumentArray(*arrays)


@pytest.mark.parametrize(
    ("padded", "error", "message"),
    [
        ([[2.0, 0.0]], TypeError, "padded must hold integers; got dtype float64"),
        ([2, 3], ValueError, r"padded must have 2 or 3 dimensions; got shape \(2,\)"),
        (np.ones((1, 1, 1, 1), int), ValueError, r"padded must have .* got shape \(1, 1, 1, 1\)"),
        ([[2, -1]], ValueError, "Word 1 has the id -1"),
    ],
)
def test_invalid_padded_arrays_are_refused(
    padded: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        DocumentArray.from_padded(padded)


@pytest.mark.parametrize(
    ("nested", "message"),
    [
        ([["good", "film"]], "word_ids must hold integers; got dtype"),
        ([[[1.5]]], "word_ids must hold integers; got dtype float64"),
        ([[[2]], [3, 4]], r"such as \[\[2, 3\], \[4\]\]; got an integer in document 1\."),
    ],
)
def test_invalid_nested_lists_are_refused(nested: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        DocumentArray.from_nested(nested)


@pytest.mark.parametrize("parts", [[[[[2]]]], DocumentArray.from_nested([[[2]]])])
def test_only_document_arrays_can_be_joined(parts: Any) -> None:
    with pytest.raises(TypeError, match="parts must be a list of DocumentArrays"):
        DocumentArray.concatenate(parts)


# In the hands of scikit-learn and joblib


def test_copies_and_read_only_memory_maps_equal_the_original(
    documents: DocumentArray, nested_ids: Nested, tmp_path: Path
) -> None:
    for again in (pickle.loads(pickle.dumps(documents)), copy.deepcopy(documents)):
        assert type(again) is DocumentArray
        assert again.to_nested() == nested_ids
    joblib.dump(documents, tmp_path / "documents.joblib")
    mapped = joblib.load(tmp_path / "documents.joblib", mmap_mode="r")
    assert isinstance(mapped.word_ids, np.memmap)
    assert not mapped.word_ids.flags.writeable
    assert mapped.to_nested() == nested_ids
    assert mapped[[3, -5]].to_nested() == [nested_ids[3], nested_ids[0]]
    assert mapped.pad().tolist() == documents.pad().tolist()
    again = DocumentArray(mapped.word_ids, mapped.sentence_starts, mapped.document_starts)
    assert again.to_nested() == nested_ids


def test_masked_numbers_are_refused() -> None:
    """Masks are no padding: `filled(0)` makes one of them."""
    masked = np.ma.masked_array([[2, 3], [4, 5]], mask=[[0, 0], [0, 1]])
    with pytest.raises(ValueError, match="padded has masked values, the first at position 1, 1"):
        DocumentArray.from_padded(masked)
    assert DocumentArray.from_padded(masked.filled(0)).n_words == 3
    with pytest.raises(ValueError, match="sentence vectors has masked values"):
        SentenceArray.from_vectors([masked])
