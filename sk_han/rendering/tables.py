"""An explanation as plain dicts and as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sk_han.explanation.document import DocumentExplanation, Level
from sk_han.utils.optional import import_optional

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["as_dict", "as_frame", "plain"]


def as_dict(explanation: DocumentExplanation) -> dict[str, Any]:
    """Return all data of an explanation as dicts, lists, strings and numbers."""
    words = [
        {
            "text": text,
            "start": start,
            "end": end,
            "attention": attention,
            "combined_attention": combined,
            "contribution": contribution,
            "ngram_contribution": by_ngrams,
            "unknown": unknown,
        }
        for text, (
            start,
            end,
        ), attention, combined, contribution, by_ngrams, unknown in zip(
            explanation.words,
            explanation.word_spans.tolist(),
            explanation.word_attention.tolist(),
            explanation.combined_attention.tolist(),
            explanation.contributions.tolist(),
            np.asarray(explanation.ngram_contributions).tolist(),
            explanation.unknown.tolist(),
            strict=True,
        )
    ]
    n_sentences = len(explanation.sentence_spans)
    first_word = np.searchsorted(explanation.sentence_of_word, np.arange(n_sentences + 1))
    sentences = [
        {
            "text": text,
            "start": start,
            "end": end,
            "attention": attention,
            "contribution": contribution,
            "words": words[first_word[i] : first_word[i + 1]],
        }
        for i, (text, (start, end), attention, contribution) in enumerate(
            zip(
                explanation.sentences,
                explanation.sentence_spans.tolist(),
                explanation.sentence_attention.tolist(),
                explanation.sentence_contributions.tolist(),
                strict=True,
            )
        )
    ]
    return {
        "text": explanation.text,
        "method": explanation.method,
        "signed": explanation.signed,
        "combine": explanation.combine,
        "spread": explanation.spread,
        "completeness_error": explanation.completeness_error,
        "classes": [plain(label) for label in explanation.classes.tolist()],
        "probabilities": explanation.probabilities.tolist(),
        "predicted": plain(explanation.predicted),
        "target": plain(explanation.target),
        "truncated": explanation.truncated,
        "sentences": sentences,
    }


def as_frame(explanation: DocumentExplanation, level: Level) -> DataFrame:
    """Return the words or sentences of an explanation as rows of a pandas DataFrame."""
    if level not in ("word", "sentence"):
        raise ValueError(f"level must be 'word' or 'sentence'; got {level!r}.")
    pandas = import_optional("pandas", None, "DocumentExplanation.to_frame")
    if level == "sentence":
        return pandas.DataFrame(
            {
                "sentence": pandas.Series(explanation.sentences, dtype=object),
                "start": explanation.sentence_spans[:, 0],
                "end": explanation.sentence_spans[:, 1],
                "attention": explanation.sentence_attention,
                "contribution": explanation.sentence_contributions,
            }
        )
    return pandas.DataFrame(
        {
            "word": pandas.Series(explanation.words, dtype=object),
            "start": explanation.word_spans[:, 0],
            "end": explanation.word_spans[:, 1],
            "sentence": explanation.sentence_of_word,
            "attention": explanation.word_attention,
            "combined_attention": explanation.combined_attention,
            "contribution": explanation.contributions,
            "ngram_contribution": explanation.ngram_contributions,
            "unknown": explanation.unknown,
        }
    )


def plain(label: Any) -> Any:
    """Return a label as a type that JSON has, or else its `str`."""
    label = label.item() if isinstance(label, np.generic) else label
    return label if isinstance(label, (str, int, float, bool, type(None))) else str(label)
