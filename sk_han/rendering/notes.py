"""What the numbers of an explanation are, in the words of every legend."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sk_han.explanation import DocumentExplanation
from sk_han.rendering.shading import Shading

__all__ = ["NO_WORDS", "attention_note", "contribution_note", "fold_note"]

NO_WORDS = "No words of this document were read."

_NOTES = {
    "gradient_attention": "attention \N{MULTIPLICATION SIGN} gradient, a first-order estimate",
    "gradient_input": "word vector \N{MULTIPLICATION SIGN} gradient, a first-order estimate",
    "integrated_gradients": "gradients averaged on the way from zero vectors to the words'",
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
    if method in _BY_GRADIENTS and np.any(explanation.ngram_contributions):
        note += "; n-grams exactly"
    if explanation.completeness_error is not None:
        note += f"; the sum is {explanation.completeness_error:.2g} off"
    return f"contributions to the log-odds of {write(explanation.target)} by {write(method)}{note}"


def fold_note(shading: Shading, run: range) -> str:
    """Say how many sentences are folded away, and what they weigh together."""
    total = float(shading.sentences[run.start : run.stop].sum())
    if shading.signed:
        return f"{len(run)} sentences with {total:+.3f} in sum"
    return f"{len(run)} sentences with {total:.3f} of the attention"
