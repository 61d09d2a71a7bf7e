"""Sentences of the legends: what the numbers of an explanation mean."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sk_han.rendering.markup import isolated
from sk_han.rendering.protocols import Explained, ExplainedDocuments
from sk_han.rendering.shading import Shading, adds_up, brief, number
from sk_han.utils.visible_text import in_one_line

NO_WORDS = "No words of this document were read."

NOTES = {
    "shapley": "what a sentence adds on average over the orders in which sentences can be put in, "
    "so that those of a document sum to its log-odds less those of a document without words; its "
    "words share it, an estimate",
    "gradient_attention": "attention \N{MULTIPLICATION SIGN} gradient, an estimate",
}
# What the number before a sentence is.
SHAPLEY_VALUE = "what the sentence adds on average, whichever others are there before it"
_COUNTS_FOR_NOTHING = 0.02


def attention_note(combine: str) -> str:
    """Describe attention, and how the attention of both levels became one number."""
    note = "weights of the model's pooling, not a measure of importance"
    if combine == "sqrt":
        note += ", \N{SQUARE ROOT}sentence \N{MULTIPLICATION SIGN} word"
    return note


def named(answer: Any, write: Callable[[Any], str]) -> str:
    """Name a class, or the labels of a document that may have several, a tuple."""
    if not isinstance(answer, tuple):
        return write(answer)
    return ", ".join(map(write, answer)) or "no label"


def explains_its_answer(explanation: Explained) -> bool:
    """Return whether an explanation is for what is predicted, and for nothing less."""
    if explanation.labels is None:
        return explanation.against is None and bool(explanation.predicted == explanation.target)
    return explanation.labels == (explanation.target,)


def likeliest(explanation: Explained, n: int, true: Any = None) -> list[int]:
    """Return the numbers of the n likeliest labels, and of all that the document gets or has."""
    order = np.argsort(-explanation.probabilities, kind="stable").tolist()
    shown = explanation.labels or ()
    if isinstance(true, tuple):
        shown = (*shown, *true)
    return [i for place, i in enumerate(order) if place < n or explanation.classes[i] in shown]


def probability_of(explanation: Explained, i: int) -> str:
    """Write the probability of a label, and whether it reaches the threshold, if there is one."""
    probability, thresholds = explanation.probabilities[i], explanation.thresholds
    if thresholds is None:
        return f"{probability:.3f}"
    threshold = thresholds[i]
    sign = "\N{GREATER-THAN OR EQUAL TO}" if probability >= threshold else "<"
    for decimals in (3, 4, 5, 6):
        written = f"{probability:.{decimals}f}", f"{threshold:.{decimals}f}"
        if probability == threshold or written[0] != written[1]:
            break
    return f" {sign} ".join(written)


def probabilities_of(explanation: Explained, n: int, true: Any) -> list[str]:
    """Name the likeliest labels, and the one explained, with their probabilities."""
    target = explanation.classes.tolist().index(explanation.target)
    return [
        f"{in_one_line(explanation.classes[i])} {probability_of(explanation, i)} "
        f"{mistaken(explanation, i, true)}".rstrip()
        for i in dict.fromkeys([*likeliest(explanation, n, true), target])
    ]


def true_of(document: ExplainedDocuments) -> Any:
    """Return the true label, or labels, of the one document of explanations; None if unknown."""
    return None if document.y_true is None else document.y_true[0]


def mistaken(explanation: Explained, i: int, true: Any) -> str:
    """Say whether a label is missed or wrongly given, if the labels that are true are known."""
    if explanation.labels is None or not isinstance(true, tuple):
        return ""
    label = explanation.classes[i]
    if (label in explanation.labels) == (label in true):
        return ""
    return "missed" if label in true else "wrongly given"


def comparison(explanation: Explained, write: Callable[[Any], str]) -> str:
    """Name the class that an explanation is for, and the one that it is compared with."""
    rival = explanation.against
    return write(explanation.target) + ("" if rival is None else f" rather than {write(rival)}")


def target_of(explanations: Sequence[Explained], write: Callable[[Any], str]) -> str:
    """Name the class that explanations are for, in words if they are for several."""
    targets = {comparison(explanation, write) for explanation in explanations}
    if len(targets) == 1:
        return targets.pop()
    if all(e.target == e.predicted and e.against is None for e in explanations):
        is_class = explanations[0].labels is None
        return "the predicted class" if is_class else "the most probable label"
    kind = "class" if explanations[0].labels is None else "label"
    return f"the {kind} named above them"


def methods_note(explanations: Sequence[Explained]) -> str:
    """Describe contributions: their target, their unit, and each method, for HTML."""
    groups: dict[tuple[object, ...], list[Explained]] = {}
    for explanation in explanations:
        kind = (explanation.method, _is_linear(explanation))
        groups.setdefault(kind, []).append(explanation)
    return "; ".join(_method_note(group) for group in groups.values())


def _method_note(explanations: Sequence[Explained]) -> str:
    first = explanations[0]
    method = first.method
    if method == "random":
        return "random numbers, a control"
    note = f": {NOTES[method]}" if method in NOTES else ""
    summed = [e for e in explanations if e.base_value is not None and len(e.sentence_spans)]
    if not all(map(adds_up, summed)):
        note += "; but a calibration has changed the probability that is shown"
    has_ngrams = any(np.any(explanation.ngram_contributions) for explanation in explanations)
    by_ngrams = method == "gradient_attention" and has_ngrams
    if by_ngrams and max(map(_network_share, explanations)) < _COUNTS_FOR_NOTHING:
        note += "; nearly all of it comes from n-grams, and next to nothing from the network"
    if by_ngrams and _is_linear(first):
        note += "; the n-grams' part is exact"
    given = (e.sentence_errors for e in explanations if e.sentence_errors is not None)
    of_sentences = [each.max(initial=0) for each in given]
    if any(of_sentences):
        note += f"; the standard error of a sentence is at most {brief(max(of_sentences))}"
    return (
        f"plus speaks for {target_of(explanations, isolated)}, minus against it, in log-odds "
        f"(0.69 doubles the odds), by {isolated(method)}{note}"
    )


def _is_linear(explanation: Explained) -> bool:
    """Return whether log-odds are linear in the n-grams: of a label, and of one of two classes."""
    return explanation.labels is not None or len(explanation.classes) == 2


def _network_share(explanation: Explained) -> float:
    """Return the network's share of the contributions, by absolute values."""
    ngrams = np.asarray(explanation.ngram_contributions)
    network = float(np.abs(explanation.contributions - ngrams).sum())
    whole = network + float(np.abs(ngrams).sum())
    return network / whole if whole else 0.0


def fold_note(shading: Shading, run: range) -> str:
    """Describe folded sentences by their number and the sum of their values."""
    total = float(shading.sentences[run.start : run.stop].sum())
    of = "in sum" if shading.signed else "of the attention"
    return f"{len(run)} sentences with {number(total, shading.signed)} {of}"
