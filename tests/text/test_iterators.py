"""Texts of an iterator, which the tokenizer reads in portions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from sklearn.base import clone

from sk_han import DocumentArray, HierarchicalTokenizer

STREAMED = [f"{word} and the {word}. It was {other}!" for word in "abc" for other in "defgh"]


def arrays(documents: DocumentArray) -> list[list[int]]:
    names = ("word_ids", "sentence_starts", "document_starts")
    return [getattr(documents, name).tolist() for name in names]


@pytest.fixture
def chunks_of_four(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sk_han._validation.documents._PORTION_SIZE", 4)


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"min_df": 3, "stop_words": "english"},
        {"min_df": 0.3, "max_features": 5},
        {"max_words": 2, "lowercase": False},
        {"vocabulary": ["the", "b"]},
    ],
    ids=str,
)
def test_an_iterator_of_texts_gives_the_results_of_a_list(
    chunks_of_four: None, params: dict[str, Any]
) -> None:
    tokenizer = HierarchicalTokenizer(**params)
    expected = arrays(tokenizer.fit_transform(STREAMED))
    vocabulary = list(tokenizer.vocabulary_.items())
    assert list(clone(tokenizer).fit(iter(STREAMED)).vocabulary_.items()) == vocabulary
    assert arrays(clone(tokenizer).fit_transform(iter(STREAMED))) == expected
    assert arrays(tokenizer.transform(iter(STREAMED))) == expected
    both = tokenizer.fit_transform_both(STREAMED[:7], X_unlabelled=STREAMED[7:])
    streams = iter(STREAMED[:7]), iter(STREAMED[7:])
    streamed = clone(tokenizer).fit_transform_both(streams[0], X_unlabelled=streams[1])
    assert list(map(arrays, streamed)) == list(map(arrays, both))


def test_no_more_than_a_chunk_of_texts_is_held(chunks_of_four: None) -> None:
    held: set[int] = set()
    most = 0

    class Text(str):
        def __del__(self) -> None:
            held.discard(id(self))

    def texts() -> Iterator[str]:
        nonlocal most
        for text in STREAMED:
            made = Text(text)
            held.add(id(made))
            most = max(most, len(held))
            yield made

    tokenizer = HierarchicalTokenizer().fit(texts())
    tokenizer.transform(texts())
    HierarchicalTokenizer().fit_transform(texts())
    assert 4 <= most <= 9  # a chunk, and the next one


def test_long_texts_make_chunks_of_fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sk_han._validation.documents._MAX_CHARACTERS", 10)
    n_kept = []

    def word_tokenizer(text: str) -> list[str]:
        n_kept.append(len(handed))
        return [text]

    handed: list[str] = []

    def texts() -> Iterator[str | bytes]:
        for text in ["a" * 4, b"b" * 4, "c" * 4, "d" * 99, "e"]:
            handed.append(str(text))
            yield text

    HierarchicalTokenizer(word_tokenizer=word_tokenizer).fit(texts())
    assert n_kept == [3, 3, 3, 4, 5]
