"""The tokenizer of a stored model, without scikit-learn."""

from __future__ import annotations

from typing import Any

from sk_han.documents import DocumentArray
from sk_han.storage.fields import fields_of
from sk_han.storage.json_values import from_plain
from sk_han.text.reader import DocumentReader, DocumentSpans, documents_of, words_of
from sk_han.text.reading_params import check_reading
from sk_han.text.tokenizer_state import tokenizer_fields
from sk_han.text.tokens import TOKEN_PATTERNS
from sk_han.validation.texts import check_texts

__all__ = ["ServedTokenizer"]

# Parameters that a file may lack, since it is older than they are.
_DEFAULTS = {
    "lowercase": True,
    "strip_accents": None,
    "tokens": "words+marks",
    "token_pattern": None,
    "stop_words": None,
    "max_sentences": None,
    "max_words": None,
    "n_jobs": None,
    "output": "ragged",
}
_OF_LEARNING = ("min_df", "max_features", "vocabulary")
_CALLABLES = ("sentence_splitter", "word_tokenizer")


class ServedTokenizer:
    """A fitted `HierarchicalTokenizer` that only transforms.

    Parameters
    ----------
    data : object
        The description of a tokenizer in a model file.

    Attributes
    ----------
    vocabulary_ : dict of str to int

    Raises
    ------
    ValueError
        If it is no valid description, or the tokenizer reads by what is not in the file.
    """

    def __init__(self, data: Any) -> None:
        fields, self.vocabulary_, stop_words = tokenizer_fields(data)
        names = [*_DEFAULTS, *_OF_LEARNING, *_CALLABLES]
        stored = fields_of(fields["params"], "params of the tokenizer", [], names)
        # A given vocabulary was checked when it was fitted.
        plain = {k: from_plain(v) for k, v in stored.items() if k not in _OF_LEARNING}
        for name in _CALLABLES:
            if plain.pop(name, None) is not None:
                raise ValueError(f"it reads by a {name}, a function that no file holds")
        params = _DEFAULTS | plain
        check_reading(params)
        if params["stop_words"] == "english":
            if stop_words is None:
                raise ValueError(
                    "its stop_words='english' are words of scikit-learn, which a file of this age "
                    "does not hold: load it with sk_han.load, and save it again"
                )
            params["stop_words"] = stop_words
        pattern = params["token_pattern"] or TOKEN_PATTERNS[params["tokens"]]
        names = ["lowercase", "strip_accents", "max_sentences", "max_words"]
        self._reader = DocumentReader(
            token_pattern=pattern,
            stop_words=params["stop_words"] or (),
            **{name: params[name] for name in names},
        )

    def transform(self, X: Any) -> DocumentArray:
        """Turn texts into word ids, as `HierarchicalTokenizer.transform` does without padding."""
        return documents_of(*self._reader.read(check_texts(X)), self.vocabulary_)

    def locate(self, texts: Any) -> tuple[DocumentArray, list[DocumentSpans]]:
        """Return documents and the positions of their words and sentences."""
        return self._reader.locate(check_texts(texts), self.vocabulary_)

    def inverse_transform(self, documents: DocumentArray) -> list[list[list[str]]]:
        """Return the words of documents."""
        return words_of(documents, self.vocabulary_)
