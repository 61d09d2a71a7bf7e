"""Documents of sentence vectors and of the words of the same sentences."""

from __future__ import annotations

import pickle
from pathlib import Path

import joblib
import numpy as np
import pytest

from sk_han import DocumentArray, SentenceArray
from sk_han._documents import EncoderIdentity, each_sentence_alone

# Documents of 2, 0 and 3 sentences; the second sentence occurs twice.
NESTED = [[[2, 3], [4]], [], [[4], [5, 2, 2], [6]]]
VECTORS = np.arange(20, dtype=np.float32).reshape(4, 5)
NUMBERS = [0, 1, 1, 2, 3]
ENCODER = EncoderIdentity("Mini", np.ones((2, 5), dtype=np.float32))
OTHER = EncoderIdentity("Other", ENCODER.probes + 2e-3)


def sentences() -> SentenceArray:
    return SentenceArray(DocumentArray.from_nested(NESTED), VECTORS, NUMBERS, ENCODER)


def same(found: SentenceArray, expected: SentenceArray) -> bool:
    return (
        found.to_nested() == expected.to_nested()
        and np.array_equal(found.sentence_vectors(), expected.sentence_vectors())
        and found.encoder.name == "Mini"
    )


def test_selected_rows_keep_words_and_vectors_together() -> None:
    assert np.array_equal(sentences().sentence_vectors(), VECTORS[NUMBERS])
    X = sentences()[[2, 0]]
    assert X.to_nested() == [NESTED[2], NESTED[0]]
    assert np.array_equal(X.sentence_vectors(), VECTORS[[1, 2, 3, 0, 1]])
    assert same(sentences()[[1, 2, 0]][1:][::-1], sentences()[[0, 2]])
    assert X[1:].vectors is X.vectors


def test_pickled_rows_hold_only_their_own_vectors() -> None:
    X = sentences()
    assert same(SentenceArray.concatenate([X[:1], X[1:]]), X)
    part = pickle.loads(pickle.dumps(X[:1]))
    assert same(part, X[:1])
    assert part.vectors.shape == (2, 5)
    assert same(DocumentArray.concatenate([part, X[1:]]), X)
    assert each_sentence_alone(X).vectors is X.vectors
    assert each_sentence_alone(X).encoder is ENCODER


def test_vectors_stay_memory_mapped_when_loaded_by_joblib(tmp_path: Path) -> None:
    joblib.dump(sentences(), tmp_path / "X")
    opened = joblib.load(tmp_path / "X", mmap_mode="r")
    assert isinstance(opened.vectors, np.memmap)
    assert same(opened, sentences())
    assert same(opened[[2, 0]], sentences()[[2, 0]])
    assert not isinstance(opened[[2]].sentence_vectors(), np.memmap)


def test_a_sentence_is_left_out_with_its_vector() -> None:
    X = sentences()
    starts = X.sentence_starts
    kept = np.ones(X.n_words, dtype=bool)
    kept[starts[1] : starts[2]] = False
    left = X.keep_words(kept)
    assert isinstance(left, SentenceArray)
    assert left.to_nested()[0] == X.to_nested()[0][:1]
    assert left.to_nested()[1:] == X.to_nested()[1:]
    assert np.array_equal(left.sentence_vectors(), VECTORS[np.delete(NUMBERS, 1)])
    with pytest.raises(ValueError, match="words cannot be left out"):
        X.keep_words(np.arange(X.n_words) > 0)


def test_arrays_of_several_encoders_are_not_joined() -> None:
    X = SentenceArray(DocumentArray.from_nested(NESTED), VECTORS, NUMBERS, encoder=OTHER)
    with pytest.raises(ValueError, match=r"is Other with .* the fit had Mini"):
        DocumentArray.concatenate([sentences(), X])
    with pytest.raises(TypeError, match="with sentence vectors and without"):
        DocumentArray.concatenate([sentences(), DocumentArray.from_nested(NESTED)])
    unknown = SentenceArray.from_vectors([VECTORS[:2], VECTORS[:0], VECTORS[2:3]])
    assert unknown.to_nested() == [[[1], [1]], [], [[1]]]
    assert np.array_equal(unknown.sentence_vectors(), VECTORS[:3])
    with pytest.raises(ValueError, match="Other"):
        DocumentArray.concatenate([unknown, sentences(), X])
    assert DocumentArray.concatenate([unknown, sentences()]).encoder is ENCODER


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"vectors": [["a"]]}, TypeError, "must be numbers"),
        ({"vectors": np.zeros(3)}, ValueError, r"shape \(3,\)"),
        ({"vectors": np.full((4, 5), np.nan)}, ValueError, "Sentence vector 0 holds NaN"),
        ({"vectors": np.full((4, 5), 1e300)}, ValueError, r"beyond 1e\+12"),
        ({"vectors": np.full((4, 5), -1.1e12)}, ValueError, r"beyond 1e\+12, which no model file"),
        ({"sentence_numbers": [0, 1]}, ValueError, "each of 5 sentences"),
        ({"sentence_numbers": [0, 1, 2, 3, 4]}, ValueError, "there are 4 vectors"),
        ({"sentence_numbers": [0.0] * 5}, TypeError, "must be integers"),
    ],
)
def test_arrays_that_do_not_match_are_refused(change: dict, error: type, message: str) -> None:
    given = {"vectors": VECTORS, "sentence_numbers": NUMBERS, "encoder": ENCODER}
    with pytest.raises(error, match=message):
        SentenceArray(DocumentArray.from_nested(NESTED), **(given | change))
