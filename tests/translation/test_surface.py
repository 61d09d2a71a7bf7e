"""How words are written in a translation."""

import re

import numpy as np
import pytest

from sk_han import DocumentArray, HierarchicalTokenizer
from sk_han._training.net import Batches
from sk_han.translation._alignment import (
    GLUED_AFTER,
    GLUED_BEFORE,
    SIGN_PATTERN,
    learn_forms,
    written,
)
from sk_han.translation._fit import TextPairs, with_end_marks

TEXTS = [
    "A man in a T-shirt, with Anna.",
    "The man's T-shirt (blue) is Anna's.",
    "(Anna) smiles. A T-shirt!",
    "In a park, a man smiles (again).",
]


def rewritten(texts):
    tokenizer = HierarchicalTokenizer(token_pattern=SIGN_PATTERN)
    tokenizer.fit(texts)
    documents, spans = tokenizer.locate(texts)
    found = [each.word_spans for each in spans]
    forms, glued, capitals = learn_forms(texts, documents, found, tokenizer.vocabulary_)
    nested = documents.to_nested()
    return [
        written([(forms[i], int(glued[i])) for words in text for i in words], capitals)
        for text in nested
    ]


@pytest.mark.parametrize("texts", [TEXTS, [text.lower() for text in TEXTS]])
def test_a_text_is_written_as_it_was(texts):
    assert rewritten(texts) == texts


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("T-shirt", ["T", "-", "shirt"]),
        ("the man's", ["the", "man", "'s"]),
        ("'quoted'", ["'", "quoted", "'"]),
        ("a_b 5 €", ["a", "_", "b", "5", "€"]),
        ("東京", ["東", "京"]),
        ("", []),
    ],
)
def test_no_sign_is_lost(text, words):
    assert re.findall(SIGN_PATTERN, text) == words


def test_a_word_that_never_occurs_is_written_as_in_the_vocabulary():
    tokenizer = HierarchicalTokenizer(vocabulary=["a", "b"]).fit(["a"])
    documents, spans = tokenizer.locate(["A a a"])
    found = [each.word_spans for each in spans]
    forms, glued, _ = learn_forms(["A a a"], documents, found, {"a": 2, "b": 5})
    assert forms == ["", "", "a", "", "", "b"]
    assert glued.tolist() == [0] * 6


def test_words_after_the_end_of_a_sentence_start_with_a_capital():
    words = [("a", 0), (".", GLUED_BEFORE), ("b", 0), ("(", GLUED_AFTER), ("c", 0)]
    assert written(words, capitals=True) == "A. B (c"
    assert written(words, capitals=False) == "a. b (c"


# Pairs as the translation network reads them.


def documents(*lengths):
    nested = [[list(range(2, 2 + n))] if n else [] for n in lengths]
    return DocumentArray.from_nested(nested)


def test_pairs_have_end_marks_and_each_word_of_a_target_the_weight_of_its_pair():
    texts = documents(2, 0, 1)
    assert with_end_marks(texts).tolist() == [2, 3, 0, 0, 2, 0]
    assert with_end_marks(texts, in_front=True).tolist() == [0, 2, 3, 0, 0, 2]
    pairs = TextPairs(documents(1, 1), documents(2, 0), np.array([0.5, 3.0]))
    assert pairs.targets.tolist() == [2, 3, 0, 0]
    assert pairs.weights.tolist() == [0.5, 0.5, 0.5, 3.0]
    assert pairs[[1]].weights.tolist() == [3.0]


def test_batches_have_targets_of_similar_length_and_every_pair_once():
    lengths = np.random.RandomState(0).permutation(np.repeat(np.arange(1, 12), 10))
    numbers = np.arange(len(lengths)).astype(float) + 1
    pairs = TextPairs(documents(*lengths), documents(*lengths), numbers)
    batches = Batches(pairs, 7, np.random.RandomState(1))
    drawn = [batch for batch, _ in batches]
    assert len(drawn) == 16
    seen = np.concatenate([batch.pair_weights for batch in drawn])
    assert np.array_equal(np.sort(seen), numbers)
    assert max(np.ptp(batch.translations.words_per_document) for batch in drawn) <= 1
    first = [int(batch.translations.words_per_document[0]) for batch in drawn]
    assert first != sorted(first)
    again = next(iter(batches))[0].pair_weights
    assert not np.array_equal(again, drawn[0].pair_weights)
