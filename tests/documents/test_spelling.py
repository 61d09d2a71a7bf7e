"""Documents that know how their words are written, whatever is chosen of them."""

import pickle
from itertools import pairwise

import numpy as np
import pytest

from sk_han import DocumentArray, HierarchicalTokenizer
from sk_han._documents import code_points, each_sentence_alone

TEXTS = ["A good film. Good!", "", "un film très bon", "good old film"]


@pytest.fixture(scope="module")
def tokenizer():
    return HierarchicalTokenizer(min_df=2).fit(TEXTS)


@pytest.fixture(scope="module")
def documents(tokenizer):
    return tokenizer.transform(TEXTS)


def written(documents):
    types, words = documents.spelling
    found = [words[number] for number in types]
    starts = documents.sentence_starts[documents.document_starts]
    return [found[a:b] for a, b in pairwise(starts)]


EXPECTED = [
    ["a", "good", "film", ".", "good", "!"],
    [],
    ["un", "film", "très", "bon"],
    ["good", "old", "film"],
]


def test_words_outside_of_the_vocabulary_are_there(documents):
    assert written(documents) == EXPECTED
    assert (documents.word_ids == 1).any()
    assert documents.with_word_ids(documents.word_ids).spelling is None


def test_a_fit_knows_the_same_as_a_transform(tokenizer):
    assert written(HierarchicalTokenizer(min_df=2).fit_transform(TEXTS)) == EXPECTED
    assert written(tokenizer.locate(TEXTS)[0]) == EXPECTED


@pytest.mark.parametrize("rows", [[2, 0], slice(1, 3), np.array([True, False, False, True]), []])
def test_rows_are_chosen(documents, rows):
    numbers = np.arange(4)[rows]
    assert written(documents[rows]) == [EXPECTED[number] for number in numbers]


def test_kept_words_are_chosen(documents):
    kept = documents.keep_words(documents.word_ids > 1)
    assert written(kept) == [["good", "film", "good"], [], ["film"], ["good", "film"]]
    assert written(each_sentence_alone(documents))[1] == ["good", "!"]


def test_pickles_hold_the_words_of_their_rows_alone(documents):
    loaded = pickle.loads(pickle.dumps(documents[[2]]))
    assert written(loaded) == [EXPECTED[2]]
    assert sorted(loaded.spelling.words) == ["bon", "film", "très", "un"]


def test_joined_documents_have_both(documents, tokenizer):
    more = tokenizer.transform(["un bon"])
    joined = DocumentArray.concatenate([documents[[2]], more, documents[[0]]])
    assert written(joined) == [EXPECTED[2], ["un", "bon"], EXPECTED[0]]


def test_joined_with_ids_alone_the_others_keep_theirs(documents):
    of_ids = DocumentArray.from_nested([[[2, 3]]])
    assert of_ids.spelling is None
    assert DocumentArray.concatenate([of_ids, of_ids]).spelling is None
    joined = DocumentArray.concatenate([documents, of_ids, documents[[0]]])
    assert written(joined[[0, 2, 3, 5]]) == [EXPECTED[0], EXPECTED[2], EXPECTED[3], EXPECTED[0]]
    assert joined[[4]].spelling.types.tolist() == [-1, -1]
    assert pickle.loads(pickle.dumps(joined[[4, 2]])).spelling.types.tolist()[:2] == [-1, -1]


def test_characters_are_code_points():
    characters, lengths = code_points(["a𝒳", "", "\ud800"])
    assert characters.tolist() == [ord("a"), 0x1D4B3, 0xD800]
    assert lengths.tolist() == [2, 0, 1]
