"""Training reads excerpts of long documents; whatever scores them reads all of them."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from skorch.callbacks import Callback

from sk_han import DocumentArray
from tests.tiny_models import LABELS, TEXTS, tiny

sentences = st.lists(st.integers(1, 9), min_size=1, max_size=7)
nested_documents = st.lists(st.lists(sentences, max_size=6), max_size=5)


def excerpts(nested: Any, most_words: int, seed: int = 0) -> list[list[list[int]]]:
    documents = DocumentArray.from_nested(nested)
    return documents.excerpts(most_words, np.random.RandomState(seed)).to_nested()


def words_of(document: list[list[int]]) -> int:
    return sum(map(len, document))


def is_run(kept: list[list[int]], document: list[list[int]], most_words: int) -> bool:
    """Whether these sentences are a run of those, perhaps over the end, no longer than it must."""
    n = len(kept)
    for first in range(len(document)):
        rows = [(first + i) % len(document) for i in range(n)]
        run = [document[row][:most_words] for row in rows]
        if words_of(run[:-1]) < most_words <= words_of(run):
            of_run = [document[row] for row in sorted(rows)]
            pairs = zip(kept, of_run, strict=True)
            if all(_is_part(own, whole, most_words) for own, whole in pairs):
                return True
    return False


def _is_part(own: list[int], whole: list[int], most_words: int) -> bool:
    size = min(len(whole), most_words)
    return own in [whole[at : at + size] for at in range(len(whole) - size + 1)]


@given(nested_documents, st.integers(1, 12), st.integers(0, 99))
def test_an_excerpt_is_a_run_of_sentences(nested: Any, most_words: int, seed: int) -> None:
    for kept, document in zip(excerpts(nested, most_words, seed), nested, strict=True):
        if words_of(document) <= most_words:
            assert kept == document
        else:
            assert is_run(kept, document, most_words)


def test_every_sentence_is_read_about_equally_often() -> None:
    document = [[number] * 5 for number in range(1, 12)]  # an excerpt of 15 words has three
    read = np.array([words for s in range(2_000) for words, *_ in excerpts([document], 15, s)[0]])
    # The standard deviation of a count of 2,000 draws with 3 / 11 is 20.
    assert np.abs(np.bincount(read)[1:] - 2_000 * 3 / 11).max() < 100


def test_every_word_of_a_giant_sentence_is_read() -> None:
    read = [excerpts([[list(range(1, 12))]], 3, seed)[0][0] for seed in range(200)]
    assert {tuple(words) for words in read} == {(i, i + 1, i + 2) for i in range(1, 10)}


def test_columns_stay_with_their_documents() -> None:
    documents = DocumentArray.from_nested([[[2, 3], [4]], [[5]]])
    documents.columns = np.array([[1], [2]], dtype=np.int32)
    assert documents.excerpts(1, np.random.RandomState(0)).columns is documents.columns


# In fits

LONG = [f"{text} {text} {text}" for text in TEXTS]
SETTINGS = {"max_epochs": 2, "batch_size": 4, "validation_fraction": 0.3}


class Read(Callback):
    """Note the lengths of sentences and documents of each training and validation batch."""

    sentences: ClassVar[dict[bool, list[list[int]]]] = {}  # of the class: `fit` copies a callback
    documents: ClassVar[dict[bool, list[list[int]]]] = {}

    def on_batch_begin(self, net: Any, batch: Any = None, training: bool = False, **_: Any) -> None:
        """Note those of a batch."""
        read = batch[0].inputs
        self.sentences.setdefault(training, []).append(read.words_per_sentence.tolist())
        self.documents.setdefault(training, []).append(read.words_per_document.tolist())


@pytest.fixture(autouse=True)
def _nothing_read() -> None:
    Read.sentences.clear()
    Read.documents.clear()


def excerpt_model(**params: Any) -> Any:
    return tiny(callbacks=[Read()], net_params={"excerpt_words": 6}, **SETTINGS | params)


def longest_read() -> int:
    return max(max(lengths) for lengths in Read.documents[True])


def test_training_reads_excerpts_and_validation_whole_documents() -> None:
    model = excerpt_model().fit(LONG, LABELS)
    whole = model.tokenizer_.transform(LONG).words_per_document
    assert longest_read() < 12 < whole.min()
    assert {n for lengths in Read.documents[False] for n in lengths} <= set(whole.tolist())


@pytest.mark.parametrize(
    "fit",
    [
        lambda model: model.partial_fit(LONG, LABELS, classes=["neg", "pos"]),
        lambda model: model.set_params(warm_start=True).fit(LONG, LABELS).fit(LONG, LABELS),
        lambda model: model.fit(LONG, LABELS, X_unlabelled=LONG),
    ],
    ids=["portion", "warm start", "unlabelled text"],
)
def test_partial_and_repeated_fits_read_excerpts_too(fit: Any) -> None:
    fit(excerpt_model(max_epochs=1))
    assert longest_read() < 12
