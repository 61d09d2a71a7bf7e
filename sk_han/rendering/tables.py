"""Explanations as plain dicts and as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sk_han.inspection.results.collection import ExplanationList
from sk_han.inspection.results.document import DocumentExplanation, Level
from sk_han.utils.frames import frame_of
from sk_han.utils.optional import import_optional

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["as_dict", "as_frame", "list_as_dicts", "list_as_frame", "plain"]


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


def list_as_dicts(explanations: ExplanationList) -> list[dict[str, Any]]:
    """Return the data of each explanation, with the number and the true label of its document."""
    y_true = explanations.y_true
    true = [None] * len(explanations) if y_true is None else y_true.tolist()
    return [
        {"document": number, "true": plain(label)} | as_dict(explanation)
        for number, label, explanation in zip(
            explanations.numbers.tolist(), true, explanations, strict=True
        )
    ]


def list_as_frame(explanations: ExplanationList, level: Literal["document"] | Level) -> DataFrame:
    """Return the documents, sentences or words of explanations as rows of a pandas DataFrame."""
    if level not in ("document", "sentence", "word"):
        raise ValueError(f"level must be 'document', 'sentence' or 'word'; got {level!r}.")
    pandas = import_optional("pandas", None, "ExplanationList.to_frame")
    if level == "document":
        return _documents(explanations)
    frames = []
    for number, explanation in zip(explanations.numbers.tolist(), explanations, strict=True):
        frame = as_frame(explanation, level)
        frame.insert(0, "document", number)
        frame.insert(1, "target", pandas.Series([explanation.target] * len(frame), dtype=object))
        frames.append(frame)
    if not frames:  # for example no mistakes: a table without rows has all its columns too
        return list_as_frame(ExplanationList([_nothing()]), level)
    return pandas.concat(frames, ignore_index=True)


def _documents(explanations: ExplanationList) -> DataFrame:
    strongest = [explanation.top(1, level="sentence") for explanation in explanations]
    columns = {
        "document": explanations.numbers,
        "text": [e.text for e in explanations],
        "predicted": [e.predicted for e in explanations],
        "probability": [e.predicted_probability for e in explanations],
    }
    y_true = explanations.y_true
    if y_true is not None:
        columns["true"] = y_true.tolist()
        columns["correct"] = [
            bool(e.predicted == true) for e, true in zip(explanations, y_true, strict=True)
        ]
    return frame_of(
        columns
        | {
            "target": [e.target for e in explanations],
            "sentences": [len(e.sentence_spans) for e in explanations],
            "words": [len(e.word_spans) for e in explanations],
            "truncated": [e.truncated for e in explanations],
            "strongest_sentence": [top[0].text if top else "" for top in strongest],
            "strongest_contribution": [top[0].score if top else 0.0 for top in strongest],
        }
    )


def _nothing() -> DocumentExplanation:
    """Return the explanation of a document without words."""
    none, nothing = np.empty(0, dtype=np.int64), np.empty(0)
    return DocumentExplanation(
        text="",
        word_spans=none.reshape(0, 2),
        sentence_spans=none.reshape(0, 2),
        sentence_of_word=none,
        word_attention=nothing,
        sentence_attention=nothing,
        contributions=nothing,
        sentence_contributions=nothing,
        method="attention",
        classes=np.array([""], dtype=object),
        probabilities=np.ones(1),
        predicted="",
        target="",
        unknown=none.astype(bool),
        truncated=False,
    )


def plain(label: Any) -> Any:
    """Return a label as a type that JSON has, or else its `str`."""
    label = label.item() if isinstance(label, np.generic) else label
    return label if isinstance(label, (str, int, float, bool, type(None))) else str(label)
