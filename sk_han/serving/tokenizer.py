"""The tokenizer of a stored model, without scikit-learn."""

from __future__ import annotations

from typing import Any

from sk_han.documents import DocumentArray
from sk_han.text.reader import DocumentReader, DocumentSpans, documents_of, words_of
from sk_han.text.reading_params import DEFAULTS
from sk_han.text.tokenizer_state import stored_tokenizer
from sk_han.text.tokens import TOKEN_PATTERNS
from sk_han.validation.texts import check_texts


class ServedTokenizer:
    """A fitted `HierarchicalTokenizer` that only transforms, of its description in a model file."""

    def __init__(self, data: Any) -> None:
        stored = stored_tokenizer(data)
        self.vocabulary_, params = stored.vocabulary, DEFAULTS | stored.params
        if params["stop_words"] == "english":
            params["stop_words"] = stored.stop_words
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
