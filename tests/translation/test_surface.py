"""Words with all their signs, and texts written from them again."""

import re

import pytest

from sk_han import HierarchicalTokenizer
from sk_han.translation.alignment import (
    GLUED_AFTER,
    GLUED_BEFORE,
    SIGN_PATTERN,
    learn_forms,
    written,
)

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
