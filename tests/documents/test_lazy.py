"""Documents on the disk are the documents in memory, and are read when they are asked for."""

from __future__ import annotations

import copy
import pickle
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.model_selection import train_test_split

from sk_han import DocumentArray
from sk_han.documents import UNKNOWN_ID
from sk_han.documents.folder import DocumentFolder
from sk_han.documents.lazy import (
    JoinedDocuments,
    KnownDocuments,
    LazyDocuments,
    divided,
    highest_id,
    portions,
)

IN_MEMORY = DocumentArray.from_nested(
    [[[2, 3], [4]], [], [[5, 2, 2]], [[7]], [[3, 3, 3, 3], [2], [9, 4]]]
)


def same(found: DocumentArray, expected: DocumentArray) -> bool:
    return all(
        np.array_equal(getattr(found, name), getattr(expected, name))
        and getattr(found, name).dtype == getattr(expected, name).dtype
        for name in ("word_ids", "sentence_starts", "document_starts")
    )


@pytest.fixture
def opened(tmp_path: Path) -> DocumentArray:
    IN_MEMORY.save(tmp_path / "documents")
    return DocumentArray.open(tmp_path / "documents")


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Numbers of documents of each reading from now on."""
    numbers: list[int] = []
    read = DocumentFolder.read

    def counted(self: DocumentFolder, rows: np.ndarray) -> DocumentArray:
        numbers.append(len(rows))
        return read(self, rows)

    monkeypatch.setattr(DocumentFolder, "read", counted)
    return numbers


def test_opened_documents_are_those_that_were_saved(opened: DocumentArray) -> None:
    assert isinstance(opened, DocumentArray)
    assert same(opened, IN_MEMORY)
    assert opened.to_nested() == IN_MEMORY.to_nested()
    assert opened[2][0].tolist() == [5, 2, 2]
    assert opened[-1][1].tolist() == [2]


ROWS = st.one_of(
    st.lists(st.integers(-5, 4), max_size=9).map(np.array),
    st.lists(st.booleans(), min_size=5, max_size=5).map(np.array),
    st.slices(5),
)


@given(rows=ROWS, again=st.slices(9))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_rows_of_rows_are_those_in_memory(
    opened: DocumentArray, rows: np.ndarray | slice, again: slice
) -> None:
    assert same(opened[rows][again], IN_MEMORY[rows][again])


def test_numbers_of_words_and_sentences_are_known_without_reading(
    opened: DocumentArray, reads: list[int]
) -> None:
    for found, expected in [
        (opened, IN_MEMORY),
        (opened[[4, 0]][:1], IN_MEMORY[[4, 0]][:1]),
        (DocumentArray.concatenate([opened, IN_MEMORY]), IN_MEMORY[[0, 1, 2, 3, 4] * 2]),
    ]:
        assert (len(found), found.shape) == (len(expected), expected.shape)
        assert (found.n_words, found.n_sentences) == (expected.n_words, expected.n_sentences)
        assert found.words_per_document.tolist() == expected.words_per_document.tolist()
        assert found.sentences_per_document.tolist() == expected.sentences_per_document.tolist()
        assert repr(found) == repr(expected)
    assert reads == []


def test_arrays_are_read_once_and_only_those_of_the_rows(
    opened: DocumentArray, reads: list[int]
) -> None:
    batch = opened[1:4][1:]
    assert batch.word_ids.tolist() == [5, 2, 2, 7]
    assert batch.sentence_starts.tolist() == [0, 3, 4]
    assert batch.document_starts.tolist() == [0, 1, 2]
    assert reads == [2]


def test_rows_out_of_range_are_an_index_error(opened: DocumentArray) -> None:
    for rows in ([5], [-6], [0, 2**40]):
        with pytest.raises(IndexError, match="out of bounds of 5 documents"):
            opened[rows]
    with pytest.raises(IndexError, match="5 is out of bounds of 5 documents"):
        opened[5]
    with pytest.raises(IndexError):
        opened[[True, False]]
    with pytest.raises(AttributeError, match="no attribute 'words'"):
        opened.words  # noqa: B018


def test_splitters_choose_rows_that_are_not_read(opened: DocumentArray, reads: list[int]) -> None:
    training, test = train_test_split(opened, test_size=2, random_state=0)
    expected = train_test_split(IN_MEMORY, test_size=2, random_state=0)
    assert reads == []
    assert same(training, expected[0])
    assert same(test, expected[1])


def test_joined_arrays_are_read_in_any_order(opened: DocumentArray) -> None:
    joined = DocumentArray.concatenate([opened[1:], IN_MEMORY[:2], opened])
    expected = DocumentArray.concatenate([IN_MEMORY[1:], IN_MEMORY[:2], IN_MEMORY])
    assert isinstance(joined, LazyDocuments)
    assert isinstance(joined._source, JoinedDocuments)
    for rows in (slice(None), [10, 0, 4, 5, 4], [], [2], slice(3, 7)):
        assert same(joined[rows], expected[rows])
        assert (
            joined[rows].words_per_document.tolist() == expected[rows].words_per_document.tolist()
        )


def test_ids_beyond_a_vocabulary_are_unknown_when_they_are_read(opened: DocumentArray) -> None:
    known = LazyDocuments(KnownDocuments(opened, 4))
    expected = np.where(IN_MEMORY.word_ids >= 4, UNKNOWN_ID, IN_MEMORY.word_ids)
    assert known.word_ids.tolist() == expected.tolist()
    assert known[2:][0][0].tolist() == [1, 2, 2]
    assert opened.word_ids.max() == 9


def test_portions_have_few_documents_and_few_words(
    opened: DocumentArray, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lengths() -> list[int]:
        return [len(portion) for portion in portions(opened)]

    monkeypatch.setattr("sk_han.documents.lazy._AT_ONCE", 2)
    assert lengths() == [2, 2, 1]
    monkeypatch.setattr("sk_han.documents.lazy._AT_ONCE", 9)
    assert lengths() == [5]
    monkeypatch.setattr("sk_han.documents.lazy._MOST_WORDS", 4)  # there are 3, 0, 3, 1 and 7
    assert lengths() == [2, 2, 1]
    assert [len(portion) for portion in portions(opened[:0])] == [0]


def test_documents_in_memory_are_one_portion(opened: DocumentArray) -> None:
    assert list(portions(IN_MEMORY)) == [IN_MEMORY]
    assert same(DocumentArray.concatenate([p.in_memory() for p in portions(opened)]), IN_MEMORY)
    assert IN_MEMORY.in_memory() is IN_MEMORY
    assert type(opened.in_memory()) is DocumentArray


def of_lengths(*lengths: int) -> DocumentArray:
    return DocumentArray.from_nested([[[2] * length] for length in lengths])


@pytest.mark.parametrize("lengths", [(), (3,), (9,), (0, 0), (2, 3), (0, 5, 0, 1, 13, 2, 0, 4, 1)])
def test_divided_documents_are_whole_and_in_order(lengths: tuple[int, ...]) -> None:
    documents = of_lengths(*lengths)
    parts = list(divided(documents, 5))
    assert same(DocumentArray.concatenate(parts), documents)
    if sum(lengths) <= 5 or len(lengths) == 1:
        assert parts[0] is documents  # and no copy


def test_a_part_has_at_most_so_many_words_or_is_one_document() -> None:
    lengths = np.random.RandomState(0).randint(0, 9, 200).tolist()
    parts = list(divided(of_lengths(*lengths), 5))
    assert all(part.n_words <= 5 or len(part) == 1 for part in parts)
    neighbours = [one.n_words + int(other.words_per_document[0]) for one, other in pairwise(parts)]
    assert min(neighbours) > 5  # none is smaller than it need be


def test_what_is_read_of_portions_is_not_kept(opened: DocumentArray) -> None:
    assert highest_id(opened) == 9
    assert highest_id(opened[:0]) == UNKNOWN_ID
    with pytest.raises(AttributeError):
        object.__getattribute__(opened, "word_ids")


def test_a_pickle_is_the_path_and_the_rows(opened: DocumentArray) -> None:
    for copied in (pickle.loads(pickle.dumps(opened[[4, 2]])), copy.deepcopy(opened[[4, 2]])):
        assert isinstance(copied, LazyDocuments)
        assert same(copied, IN_MEMORY[[4, 2]])
    read = opened[:1]
    assert read.n_words == len(read.word_ids)
    assert isinstance(pickle.loads(pickle.dumps(read)), LazyDocuments)
    assert len(pickle.dumps(opened)) < 2_000


def test_a_pickle_of_documents_that_changed_is_refused(
    opened: DocumentArray, tmp_path: Path
) -> None:
    pickled = pickle.dumps(opened)
    IN_MEMORY.save(tmp_path / "documents", overwrite=True)
    assert same(pickle.loads(pickled), IN_MEMORY)
    IN_MEMORY[:2].save(tmp_path / "documents", overwrite=True)
    with pytest.raises(ValueError, match=r"holds other documents now.*Open the folder anew"):
        pickle.loads(pickled)
    (tmp_path / "documents").rename(tmp_path / "elsewhere")
    with pytest.raises(FileNotFoundError, match="There is no folder"):
        pickle.loads(pickled)


def test_open_documents_stay_when_others_take_their_folder(
    opened: DocumentArray, tmp_path: Path
) -> None:
    IN_MEMORY[:2].save(tmp_path / "documents", overwrite=True)
    assert same(opened, IN_MEMORY)
