"""The rules beside a graph are enough to tokenize as the tokenizer does."""

import json
import re
import unicodedata

import pytest

from sk_han import HierarchicalTokenizer
from sk_han.persistence.onnx.rules import tokenizer_rules
from sk_han.text.sentences import sentence_spans

TEXTS = [
    "Dr. No paid $3.50 at the CAFÉ. Don't miss it!!<br />Great :) film...",
    "Größe und Maß. 映画はとても良い。面白い。 Ünïcödé naïve.",
    "No. No no. Yes, the film and a day. " * 3,
    "",
    "... ---",
    "one \ud800 two",
]
TOKENIZERS = {
    "default": {},
    "words": {"tokens": "words", "strip_accents": "unicode"},
    "web": {"tokens": "web", "lowercase": False},
    "ascii": {"strip_accents": "ascii"},
    "short": {"max_words": 3, "max_sentences": 2},
    "stop words": {"stop_words": ["The", "and", "NO", "film"]},
    "english": {"stop_words": "english", "min_df": 2},
    "a group": {"token_pattern": r"\b(\w)\w*"},
}


def tokenized(text, rules):
    """Follow the steps of the rules, with nothing of the tokenizer but its sentences."""

    def stripped(word):
        parts = unicodedata.normalize("NFKD", word)
        if rules["strip_accents"] == "ascii":
            return "".join(part for part in parts if part.isascii())
        return "".join(part for part in parts if not unicodedata.combining(part))

    sentences = []
    for start, end in sentence_spans(text):
        words = re.compile(rules["token_pattern"]).findall(text, start, end)
        words = [word.lower() if rules["lowercase"] else word for word in words]
        words = [stripped(word) if rules["strip_accents"] else word for word in words]
        sentences.append([word for word in words if word and word not in rules["stop_words"]])
    sentences = [words[: rules["max_words"]] for words in sentences if words]
    numbers = rules["vocabulary"]
    return [
        [numbers.get(word, rules["unknown_id"]) for word in words]
        for words in sentences[: rules["max_sentences"]]
    ]


@pytest.mark.parametrize("params", TOKENIZERS.values(), ids=TOKENIZERS)
def test_the_rules_give_the_ids_of_the_tokenizer(params):
    tokenizer = HierarchicalTokenizer(**params).fit(TEXTS[:4])
    rules = json.loads(json.dumps(tokenizer_rules(tokenizer)))
    expected = tokenizer.transform(TEXTS).to_nested()
    assert [tokenized(text, rules) for text in TEXTS] == expected
    assert len({number for document in expected for words in document for number in words}) > 2


def test_the_rules_of_sentences_are_there():
    rules = tokenizer_rules(HierarchicalTokenizer().fit(TEXTS[:1]))["sentences"]
    assert "prof" in rules["before_name"]
    assert "etc" in rules["may_end"]
    ends = [match.end() for match in re.finditer(rules["break_pattern"], "Dr. No. Yes!<br>So")]
    assert ends == [4, 8, 12, 16]


def test_a_function_that_strips_accents_is_refused():
    tokenizer = HierarchicalTokenizer(strip_accents=str.swapcase).fit(TEXTS[:1])
    with pytest.raises(TypeError, match="strip_accents of the tokenizer is a function"):
        tokenizer_rules(tokenizer)
