"""Sentences of the legends: what the numbers of an explanation mean."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sk_han.explanation.document import DocumentExplanation
from sk_han.rendering.shading import Shading, brief, number

__all__ = [
    "GRADIENT_METHODS",
    "NOTES",
    "NO_WORDS",
    "attention_note",
    "contribution_note",
    "fold_note",
]

NO_WORDS = "No words of this document were read."

NOTES = {
    "sentence_alone": "what the model says to each sentence alone; in its words, an estimate",
    "gradient_attention": "attention \N{MULTIPLICATION SIGN} gradient, an estimate",
    "gradient_input": "word vector \N{MULTIPLICATION SIGN} gradient, an estimate",
    "integrated_gradients": "gradients averaged while the words' vectors grow from zero",
    "occlusion": "what is lost when one word, or one sentence, is left out",
}
GRADIENT_METHODS = (
    "sentence_alone",
    "gradient_attention",
    "gradient_input",
    "integrated_gradients",
)


def attention_note(combine: str) -> str:
    """Describe attention, and how the attention of both levels became one number."""
    note = "weights of the model's pooling, not a measure of importance"
    if combine == "sqrt":
        note += ", \N{SQUARE ROOT}sentence \N{MULTIPLICATION SIGN} word"
    return note


def contribution_note(explanation: DocumentExplanation, write: Callable[[Any], str]) -> str:
    """Describe contributions: their target, their unit and their method.

    `write` formats target and method: control characters made visible, or escaped for HTML.
    """
    if explanation.method == "random":
        return "random numbers, a control"
    method = explanation.method
    note = f": {NOTES[method]}" if method in NOTES else ""
    if explanation.spread:
        note += (
            f"; {100 * explanation.spread:.3g} % of what a sentence gets from the network is "
            "shared evenly by its words"
        )
    has_ngrams = method in GRADIENT_METHODS and np.any(explanation.ngram_contributions)
    # With two classes the log-odds are linear in the n-grams, with more they are not.
    if has_ngrams and len(explanation.classes) == 2:
        note += "; the n-grams' part is exact"
    if explanation.completeness_error is not None:
        note += f"; the sum is {brief(explanation.completeness_error)} off"
    return (
        f"plus speaks for {write(explanation.target)}, minus against it, in log-odds "
        f"(0.69 doubles the odds), by {write(method)}{note}"
    )


def fold_note(shading: Shading, run: range) -> str:
    """Describe folded sentences by their number and the sum of their values."""
    total = float(shading.sentences[run.start : run.stop].sum())
    if shading.signed:
        return f"{len(run)} sentences with {number(total, True)} in sum"
    return f"{len(run)} sentences with {number(total, False)} of the attention"
