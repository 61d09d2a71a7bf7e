"""Sentences of a summary, for readers who have never heard of log-odds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sk_han.rendering.markup import with_minus
from sk_han.rendering.numbers import decimal, percent
from sk_han.rendering.protocols import Part, Removed, Summarized, SummarizedClass
from sk_han.rendering.shading import number
from sk_han.utils.counts import counted

PART_TITLES: dict[Part, str] = {
    "network": "Words, by the network",
    "ngrams": "Words and n-grams, by the linear models",
}


def legend(summary: Summarized) -> str:
    """Say what the numbers are."""
    kind, becomes = "class", "another class would be predicted"
    if summary.several_labels:
        kind, becomes = "label", "another label would be the most probable one"
    decides = (
        f"A term decides in a document if without it {becomes}, and one of the two is the {kind} "
        "shown; the share is of all documents that have the term, or of up to 100 of them drawn at "
        "random, not only of those counted here. "
    )
    return (
        f"A number is what a term brings to its {kind} on average, in the documents that have it: "
        f"plus speaks for the {kind}, minus against it. 0.69 doubles the odds of the {kind} (from "
        "1:1 to 2:1, say), 1.39 makes them four times as high. "
        f"{'' if summary.removal is None else decides}Strong and frequent terms stand first."
    )


def about(summary: Summarized) -> str:
    """Say which documents were read."""
    documents = counted(summary.n_documents)
    if summary.n_given > summary.n_documents:
        documents += f", drawn at random from {summary.n_given:,}"
    return documents


def about_class(
    found: SummarizedClass, summary: Summarized, write: Callable[[str], str] = str
) -> str:
    """Say how often the class is predicted, and what each part brings.

    `write` formats the numbers: it may put a true minus sign for the hyphen.
    """
    near = ""
    if len(summary.classes) > 2 or summary.several_labels:
        kind = "label" if summary.several_labels else "class"
        near = f", the second most probable {kind} of {found.n_others:,} more"
        if _is_of_explanations(summary):
            near = f", explained for {found.n_others:,} more"
    verb = "the most probable label of" if summary.several_labels else "predicted for"
    said = f"{verb} {counted(found.n_predicted)}{near}"
    if found.n_predicted:
        # Exactly 0 is a part that is missing, or that reads vectors of sentences and no words.
        parts = {"network": found.network, "linear models": found.ngrams}
        brought = [f"{write(number(n, True))} by the {name}" for name, n in parts.items() if n]
        if brought:
            said += f"; there its words bring {', '.join(brought)}"
    return said


def honesty_note(summary: Summarized) -> str:
    """Say how much of the predictions the shown words carry, and that it is to be asked."""
    if summary.reads_vectors:
        return (
            "What sentence vectors bring belongs to no word and is not shown: a network here is "
            "one that reads words. So how much of the predictions these terms carry was not "
            "measured."
        )
    if _is_of_explanations(summary):
        return (
            "How much of the predictions these terms carry was not measured: that needs the model, "
            "summarize(estimator, documents), and one that reads words alone."
        )
    return f"How much do these terms tell? {removal_note(summary.removal, summary)}"


def _is_of_explanations(summary: Summarized) -> bool:
    """Return whether there was no model, which measures what its words carry, but explanations."""
    return summary.removal is None and not summary.reads_vectors


def likeliest_kind(summary: Summarized) -> str:
    """Name what the falls of probabilities are of."""
    return "most probable label" if summary.several_labels else "predicted class"


def removal_note(removal: Removed, summary: Summarized) -> str:
    """Say what becomes of predictions without the shown words."""
    changes = f"{percent(removal.changed)} of the predictions change"
    if summary.several_labels:
        changes = f"another label becomes the most probable in {percent(removal.changed)} of them"
    falls = (removal.fall, removal.fall_random, removal.fall_all)
    fall, fall_random, fall_all = (with_minus(decimal(each, 2)) for each in falls)
    note = (
        f"Without the words shown as speaking for the {likeliest_kind(summary)} of the documents "
        f"({percent(removal.share_of_words)} of all words), its probability falls by "
        f"{fall} on average, and {changes}. "
        f"Without as many words drawn at random: {fall_random} and "
        f"{percent(removal.changed_random)}. Without any words: {fall_all} and "
        f"{percent(removal.changed_all)}."
    )
    carried, at_random = removal.carried, removal.carried_random
    # Falls do not add up: without some words it may be more than without all, and is no share then.
    if all(each is not None and 0 <= each <= 1 for each in (carried, at_random)):
        note += (
            f" So the shown words carry {percent(carried)} of what all words do, those drawn at "
            f"random {percent(at_random)}."
        )
    return note


def side_titles(
    summary: Summarized, found: SummarizedClass, write: Callable[[Any], str]
) -> dict[bool, str]:
    """Return the titles of the terms that speak for a class (True) and against it (False)."""
    against = f"against {write(found.label)}"
    if len(summary.classes) == 2 and not summary.several_labels:
        first, second = summary.classes
        other = first if found is second else second
        against = f"for {write(other.label)}, {against}"
    return {True: f"for {write(found.label)}", False: against}


def shown_classes(summary: Summarized) -> list[SummarizedClass]:
    """Return the classes to draw, those predicted most often first; of two classes the second.

    What speaks against the second of two classes is what speaks for the first.
    """
    if len(summary.classes) == 2 and not summary.several_labels:
        return [summary.classes[1]]
    return sorted(summary.classes, key=lambda found: -found.n_predicted)
