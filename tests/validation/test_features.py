"""Tables of features are told from documents of word ids."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import (
    load_breast_cancer,
    load_digits,
    load_iris,
    load_wine,
    make_classification,
)
from sklearn.preprocessing import OneHotEncoder

from sk_han import DocumentArray, HierarchicalTokenizer
from sk_han.datasets import make_reviews
from sk_han.validation.features import why_no_documents
from tests.tiny_models import LABELS, TEXTS, tiny

RANDOM = np.random.RandomState(0)
SURVEY = np.column_stack([RANDOM.randint(0, n, 500) for n in (2, 3, 12, 7, 50, 5, 4)])


def normal(scale: float) -> np.ndarray:
    X = np.rint(scale * make_classification(200, random_state=0)[0]).astype(int)
    return X - X.min()


TABLES = {
    "digits": load_digits().data.astype(int),
    "digits as images": load_digits().images.astype(np.uint8),
    "digits without zeros": load_digits().data.astype(int) + 2,
    "iris": np.rint(10 * load_iris().data).astype(int),
    "wine": np.rint(load_wine().data).astype(int) + 2,
    "breast cancer": np.rint(load_breast_cancer().data).astype(int),
    "one-hot": OneHotEncoder(sparse_output=False, dtype=int).fit_transform(SURVEY),
    "ordinal": SURVEY,
    "ordinal from 1": SURVEY + 1,
    "counts": RANDOM.poisson(0.2, (100, 30)),
    "few values": normal(1) + 2,
    "normal": normal(10) + 1,
    "normal, from 0": normal(100),
}


@pytest.mark.parametrize("X", TABLES.values(), ids=TABLES)
def test_tables_of_features_are_told(X: np.ndarray) -> None:
    assert why_no_documents(X)


@pytest.mark.parametrize(
    ("name", "sign"),
    [
        ("one-hot", "0 .padding. and 1 .the unknown word. alone"),
        ("digits", "0, which is padding, stands among"),
        ("few values", r"\d different numbers, too few"),
        ("wine", "each column has a range of its own"),
        ("normal", "numbers of the middle"),
    ],
)
def test_the_sign_is_named(name: str, sign: str) -> None:
    with pytest.warns(UserWarning, match=f"looks like a table of features: .*{sign}") as warned:
        tiny().fit(TABLES[name], np.arange(len(TABLES[name])) % 2)
    assert warned[0].filename == __file__


REVIEWS = make_reviews(300, random_state=0)[0]
TOKENIZED = HierarchicalTokenizer().fit_transform(REVIEWS)
N_WORDS = int(TOKENIZED.word_ids.max()) + 1
ALPHABETICAL = np.append([0, 1], 2 + np.random.RandomState(1).permutation(N_WORDS - 2))
LIKE_BERT = np.append(0, np.arange(1, N_WORDS) + 1000)


def padded(n: int, n_words: int, ids: np.ndarray, *, at_start: bool = False) -> np.ndarray:
    """Documents of one sentence each, cut to a number of words and padded."""
    X = np.zeros((n, n_words), dtype=int)
    for row, document in zip(X, TOKENIZED[:n], strict=True):
        words = ids[np.concatenate(document)[:n_words]]
        row[: len(words)] = words
        if at_start:
            row[:] = np.roll(row, n_words - len(words))
    return X


@pytest.mark.parametrize("n_words", [4, 10, 30, 60, 200])
@pytest.mark.parametrize("n", [20, 50, 300])
@pytest.mark.parametrize("ids", [np.arange(N_WORDS), ALPHABETICAL, LIKE_BERT])
def test_documents_are_no_table_however_they_are_cut(n: int, n_words: int, ids: np.ndarray) -> None:
    assert why_no_documents(padded(n, n_words, ids)) is None
    assert why_no_documents(padded(n, n_words, ids, at_start=True)) is None


def test_documents_between_marks_of_start_and_end_are_no_table() -> None:
    X = padded(300, 20, LIKE_BERT)  # all are longer
    assert X.all()
    marked = np.column_stack([np.full(300, 101), X, np.full(300, 102)])
    assert why_no_documents(marked) is None


@pytest.mark.parametrize("n", [20, 300])
def test_a_cube_of_documents_is_no_table(n: int) -> None:
    assert why_no_documents(TOKENIZED[:n].pad()) is None
    assert why_no_documents(TOKENIZED[:n].pad(max_sentences=2, max_words=5)) is None


def test_documents_that_are_all_alike_are_no_table() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert why_no_documents(np.tile(np.arange(2, 22), (30, 1))) is None


@pytest.mark.parametrize("X", [np.ones((3, 4), dtype=int), np.zeros((30, 4), int), SURVEY[:, :1]])
def test_too_little_to_tell_is_no_table(X: np.ndarray) -> None:
    assert why_no_documents(X) is None


def test_word_ids_that_are_called_so_are_taken_without_a_warning() -> None:
    X: Any = DocumentArray.from_padded(TABLES["one-hot"][: len(TEXTS)] + 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tiny().fit(X, LABELS)
