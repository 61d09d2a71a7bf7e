"""What another program must know to turn texts into the word ids of a classifier."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sk_han.documents import UNKNOWN_ID
from sk_han.text import abbreviations
from sk_han.text.sentences import BREAK

if TYPE_CHECKING:
    from sk_han.tokenizer import HierarchicalTokenizer

_STEPS = [
    "Find sentences in the text: see sentences.",
    "Find the words of each sentence: all matches of token_pattern, a regular expression of "
    "Python, of its group if it has one. Nothing else is a word.",
    "If lowercase is true, take each word in lower case, as str.lower of Python does.",
    "If strip_accents is 'unicode', decompose each word that is not ASCII by NFKD and drop "
    "combining characters; if it is 'ascii', decompose it and drop all that is not ASCII.",
    "Drop words that are empty now, and stop_words; they have gone through the last two steps.",
    "Drop sentences without words.",
    "Keep the first max_sentences sentences of a document, and of each the first max_words words; "
    "null keeps all.",
    "The id of a word is what vocabulary gives for it, and unknown_id if it is not there.",
]
_SENTENCE_STEPS = [
    "Each match of break_pattern in the text is a candidate. White space at both ends of a "
    "sentence does not belong to it.",
    "A match that begins with < is a tag, and ends a sentence. One that begins with a line end "
    "does if a second line end follows, or the mark of an item of a list.",
    "Every other match is of marks, and the sentence ends behind them, at group 1: at the end of "
    "the text, and before white space. It goes on if the mark is a full stop of an abbreviation, "
    "an initial, or the number of an item or a day; abbreviations are listed here without it. "
    "It goes on, too, after an ellipsis before a letter in lower case, and where no white space "
    "follows, but in scripts that write none.",
    "This is what happens nearly always. The exact rules are the code of "
    "sk_han.text.sentences.sentence_spans, which needs Python's re alone.",
]


def tokenizer_rules(tokenizer: HierarchicalTokenizer) -> dict[str, Any]:
    """Describe a fitted tokenizer in JSON's types; one that reads by a function is a TypeError."""
    for name in ("sentence_splitter", "word_tokenizer", "strip_accents"):
        value = getattr(tokenizer, name)
        if callable(value):
            raise TypeError(
                f"{name} of the tokenizer is a function, which JSON cannot hold: fit the "
                "classifier on word ids, and export it alone; your program then calls the "
                "function itself."
            )
    vocabulary = sorted(tokenizer.vocabulary_.items(), key=lambda item: item[1])
    reader = tokenizer._reader()
    return {
        "steps": _STEPS,
        "token_pattern": reader.token_pattern,
        "lowercase": bool(reader.lowercase),
        "strip_accents": reader.strip_accents,
        "stop_words": sorted(set(reader.normalised(reader.stop_words))),
        "max_sentences": _as_int(reader.max_sentences),
        "max_words": _as_int(reader.max_words),
        "sentences": {
            "steps": _SENTENCE_STEPS,
            "break_pattern": BREAK.pattern,
            **{
                name.lower(): sorted(getattr(abbreviations, name)) for name in abbreviations.__all__
            },
        },
        "unknown_id": UNKNOWN_ID,
        "vocabulary": {word: int(number) for word, number in vocabulary},
    }


def _as_int(limit: int | None) -> int | None:
    return None if limit is None else int(limit)
