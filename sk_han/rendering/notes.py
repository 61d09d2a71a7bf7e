"""What the numbers of an explanation are, in the words of every legend."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sk_han.explanation.document import DocumentExplanation
from sk_han.rendering.shading import Shading, brief, number

__all__ = ["NO_WORDS", "attention_note", "contribution_note", "fold_note"]

NO_WORDS = "No words of this document were read."

_NOTES = {
    "gradient_attention": "attention \N{MULTIPLICATION SIGN} gradient, an estimate",
    "gradient_input": "word vector \N{MULTIPLICATION SIGN} gradient, an estimate",
    "integrated_gradients": "gradients averaged while the words' vectors grow from zero",
    "occlusion": "what is lost when one word, or one sentence, is left out",
}
_BY_GRADIENTS = ("gradient_attention", "gradient_input", "integrated_gradients")


def attention_note(combine: str) -> str:
    """Say what attention is, and how the shown numbers were made of that of both levels."""
    square_root = ", \N{SQUARE ROOT}sentence \N{MULTIPLICATION SIGN} word" * (combine == "sqrt")
    return f"weights of the model's pooling, not a measure of importance{square_root}"


def contribution_note(explanation: DocumentExplanation, write: Callable[[Any], str]) -> str:
    """Say what contributions are, to which target, and by what method they were found.

    `write` gives target and method as they shall stand there: visible, or escaped for a page.
    """
    method = explanation.method
    if method == "random":
        return "random numbers, a control"
    note = f": {_NOTES[method]}" if method in _NOTES else ""
    if explanation.spread:
        note += (
            f"; {100 * explanation.spread:.3g} % of what a sentence gets from the network is "
            "shared evenly by its words"
        )
    of_ngrams = method in _BY_GRADIENTS and np.any(explanation.ngram_contributions)
    # The log-odds of one of two classes are linear in the n-grams; of more classes they are not.
    if of_ngrams and len(explanation.classes) == 2:
        note += "; the n-grams' part is exact"
    if explanation.completeness_error is not None:
        note += f"; the sum is {brief(explanation.completeness_error)} off"
    return (
        f"plus speaks for {write(explanation.target)}, minus against it, in log-odds "
        f"(0.69 doubles the odds), by {write(method)}{note}"
    )


def fold_note(shading: Shading, run: range) -> str:
    """Say how many sentences are folded away, and what they weigh together."""
    total = float(shading.sentences[run.start : run.stop].sum())
    if shading.signed:
        return f"{len(run)} sentences with {number(total, True)} in sum"
    return f"{len(run)} sentences with {number(total, False)} of the attention"
