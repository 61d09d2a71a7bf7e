"""How words are written in a translation."""

import pytest

from sk_han import DocumentArray, HierarchicalTokenizer
from sk_han.translation._alignment import (
    SIGN_PATTERN,
    detokenize,
    learn_forms,
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
        detokenize([(forms[i], int(glued[i])) for words in text for i in words], capitals)
        for text in nested
    ]


@pytest.mark.parametrize("texts", [TEXTS, [text.lower() for text in TEXTS]])
def test_a_text_is_restored_as_written(texts):
    assert rewritten(texts) == texts


# Pairs as the translation network reads them.


def documents(*lengths):
    nested = [[list(range(2, 2 + n))] if n else [] for n in lengths]
    return DocumentArray.from_nested(nested)
