"""Explanations as tables of pandas."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sk_han.rendering.protocols import Explained, ExplainedDocuments, Level
from sk_han.utils.frames import frame_of
from sk_han.utils.optional import import_optional

if TYPE_CHECKING:
    from pandas import DataFrame

# A table without rows, of no mistakes for example, has all its columns too.
_NO_SPANS, _NO_NUMBERS = np.empty((0, 2), dtype=np.int64), np.empty(0)
_NOTHING: Any = SimpleNamespace(
    words=(),
    sentences=(),
    word_spans=_NO_SPANS,
    sentence_spans=_NO_SPANS,
    sentence_of_word=_NO_SPANS[:, 0],
    word_attention=_NO_NUMBERS,
    combined_attention=_NO_NUMBERS,
    sentence_attention=_NO_NUMBERS,
    contributions=_NO_NUMBERS,
    sentence_contributions=_NO_NUMBERS,
    ngram_contributions=_NO_NUMBERS,
    unknown=np.empty(0, dtype=bool),
    target=None,
)


def columns_of(explanation: Explained, level: Level) -> dict[str, Any]:
    """Return what there is to say of each word or sentence."""
    if level == "sentence":
        return {
            "text": explanation.sentences,
            "start": explanation.sentence_spans[:, 0],
            "end": explanation.sentence_spans[:, 1],
            "attention": explanation.sentence_attention,
            "contribution": explanation.sentence_contributions,
        }
    if level == "word":
        return {
            "text": explanation.words,
            "start": explanation.word_spans[:, 0],
            "end": explanation.word_spans[:, 1],
            "attention": explanation.word_attention,
            "combined_attention": explanation.combined_attention,
            "contribution": explanation.contributions,
            "ngram_contribution": explanation.ngram_contributions,
            "unknown": explanation.unknown,
        }
    raise ValueError(f"level must be 'word' or 'sentence'; got {level!r}.")


def explanation_frame(explanation: Explained, level: Level) -> DataFrame:
    """Return the words or sentences of an explanation as rows of a pandas DataFrame."""
    columns = columns_of(explanation, level)
    pandas = import_optional("pandas", None, "DocumentExplanation.to_frame")
    frame = pandas.DataFrame({level: pandas.Series(columns.pop("text"), dtype=object)} | columns)
    if level == "word":
        frame.insert(3, "sentence", explanation.sentence_of_word)
    return frame


def explanations_frame(
    explanations: ExplainedDocuments, level: Literal["document"] | Level
) -> DataFrame:
    """Return the documents, sentences or words of explanations as rows of a pandas DataFrame."""
    if level not in ("document", "sentence", "word"):
        raise ValueError(f"level must be 'document', 'sentence' or 'word'; got {level!r}.")
    pandas = import_optional("pandas", None, "ExplanationList.to_frame")
    if level == "document":
        return _documents(explanations)
    compared = any(e.against is not None for e in explanations)
    numbered = list(zip(explanations.numbers.tolist(), explanations, strict=True))
    frames = []
    for number, explanation in numbered or [(0, _NOTHING)]:
        frame = explanation_frame(explanation, level)
        frame.insert(0, "document", number)
        for name in ("against", "target") if compared else ("target",):
            values = [getattr(explanation, name)] * len(frame)
            frame.insert(1, name, pandas.Series(values, dtype=object))
        frames.append(frame)
    return pandas.concat(frames, ignore_index=True)


def _documents(explanations: ExplainedDocuments) -> DataFrame:
    strongest = [explanation.top(1, level="sentence") for explanation in explanations]
    columns = {
        "document": explanations.numbers,
        "text": [e.text for e in explanations],
        "predicted": [e.answer for e in explanations],
        "probability": [e.predicted_probability for e in explanations],
    }
    y_true = explanations.y_true
    if y_true is not None:
        columns["true"] = y_true.tolist()
        columns["correct"] = [
            bool(e.answer == true) for e, true in zip(explanations, y_true, strict=True)
        ]
    columns["target"] = [e.target for e in explanations]
    if any(e.labels is not None for e in explanations):
        columns["target_probability"] = [
            float(e.probabilities[e.classes.tolist().index(e.target)]) for e in explanations
        ]
    if any(e.against is not None for e in explanations):
        columns["against"] = [e.against for e in explanations]
    return frame_of(
        columns
        | {
            "sentences": [len(e.sentence_spans) for e in explanations],
            "words": [len(e.word_spans) for e in explanations],
            "truncated": [e.truncated for e in explanations],
            "strongest_sentence": [top[0].text if top else "" for top in strongest],
            "strongest_contribution": [top[0].score if top else 0.0 for top in strongest],
        },
        "ExplanationList.to_frame",
    )
