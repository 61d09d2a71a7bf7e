"""Summaries as HTML and text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from sk_han.rendering.explanation_text import columns, line_width, prose
from sk_han.rendering.html import bar, escaped, fold, isolated, page, with_minus
from sk_han.rendering.shading import (
    SCALES,
    Part,
    Removed,
    Summarized,
    SummarizedClass,
    SummarizedTerm,
    decimal,
    number,
    percent,
)
from sk_han.utils.messages import counted, in_one_line

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


OPEN_CLASSES = 3


def render_summary_html(summary: Summarized, *, full_page: bool) -> str:
    """Return a summary as a page or a fragment; see `Summary.to_html`."""
    shown = shown_classes(summary)
    blocks = [
        '<div class="han-head"><div><div class="han-small">what the model says over</div>'
        f'<div class="han-label">{about(summary)}</div></div></div>',
        _honesty(summary),
        f'<p class="han-small han-note">{legend(summary)} '
        "A click on a term shows where it stands.</p>",
    ]
    for position, found in enumerate(shown):
        heading = (
            f'<b class="han-label">{isolated(found.label)}</b> '
            f'<span class="han-small">{escaped(about_class(found, summary, with_minus))}</span>'
        )
        content, is_open = _class(summary, found), position < OPEN_CLASSES
        blocks.append(fold(heading, content, "han-document han-class", is_open=is_open))
    return page("".join(blocks), f"Summary of {about(summary)}", full_page, "summary")


def _honesty(summary: Summarized) -> str:
    removal = summary.removal
    note = f'<p class="han-note">{honesty_note(summary)}</p>'
    if removal is None:
        return note
    falls = {
        "without the shown words": (removal.fall, "toward"),
        "without as many drawn at random": (removal.fall_random, None),
        "without any words": (removal.fall_all, None),
    }
    longest = max(*(fall for fall, _ in falls.values()), 1e-9)
    rows = "".join(
        f"<span>{name}</span>{bar(max(fall, 0) / longest, scale)}"
        f'<span class="han-number">{with_minus(decimal(fall, 2))}</span>'
        for name, (fall, scale) in falls.items()
    )
    return (
        '<div class="han-honesty"><div class="han-small">fall of the probability of the '
        f'{likeliest_kind(summary)}</div><div class="han-classes">{rows}</div></div>{note}'
    )


def _class(summary: Summarized, found: SummarizedClass) -> str:
    longest = max((abs(term.contribution) for term in found.terms), default=1.0)
    titles = side_titles(summary, found, isolated)
    columns = "<span>brings</span><span>documents</span>"
    if summary.removal is not None:
        columns += "<span>decides</span>"
    blocks = []
    for part, title in PART_TITLES.items():
        sides = "".join(
            _side(found.of(part, speaks_for=speaks_for), heading, columns, longest)
            for speaks_for, heading in titles.items()
        )
        blocks.append(f'<h4>{title}</h4><div class="han-terms">{sides}</div>')
    if found.removal is not None and (len(summary.classes) > 2 or summary.several_labels):
        blocks.append(f'<p class="han-small han-note">{removal_note(found.removal, summary)}</p>')
    return "".join(blocks)


def _side(terms: Sequence[SummarizedTerm], heading: str, columns: str, longest: float) -> str:
    rows = "".join(_term(term, longest) for term in terms) or '<div class="han-small">none</div>'
    head = (
        f'<div class="han-term han-small"><span class="han-heading">{heading}</span>{columns}</div>'
    )
    return f'<div class="han-list">{head}{rows}</div>'


def _term(term: SummarizedTerm, longest: float) -> str:
    scale = "toward" if term.speaks_for else "against"
    decides = "" if term.decides is None else percent(term.decides)
    weight = "" if term.weight is None else f", weight {number(term.weight, True)}"
    title = with_minus(f"in {percent(term.share)} of the documents of its class{weight}")
    row = (
        f'<bdi class="han-name">{escaped(term.text)}</bdi>'
        f"{bar(abs(term.contribution) / (longest or 1), scale)}"
        f'<span class="han-number">{with_minus(number(term.contribution, True))}</span>'
        f'<span class="han-number" title="{title}">{term.n_documents:,}</span>'
        f'<span class="han-number">{decides}</span>'
    )
    contexts = "".join(_context(context, f"{SCALES[scale]}5") for context in term.contexts)
    return f'<details><summary class="han-term">{row}</summary>{contexts}</details>'


def _context(context: Any, mark: str) -> str:
    place = f"document {context.document}, characters {context.start}\N{EN DASH}{context.end}"
    # Single blanks, as HTML shows them, those at the ends too.
    before, after = (re.sub(r"\s+", " ", text) for text in (context.before, context.after))
    if context.cut_before:
        before = f"\N{HORIZONTAL ELLIPSIS}{before.lstrip()}"
    if context.cut_after:
        after = f"{after.rstrip()}\N{HORIZONTAL ELLIPSIS}"
    return (
        f'<div class="han-context" dir="auto">{escaped(before)}'
        f'<mark class="{mark}">{escaped(context.written)}</mark>{escaped(after)} '
        f'<span class="han-small">{place}, predicted {isolated(context.predicted)}</span></div>'
    )


CLASSES_SHOWN = 10


LONGEST_TERM = 28


def render_summary_text(summary: Summarized, *, width: int | None) -> str:
    """Return a summary as lines; see `Summary.to_text`."""
    width = line_width(width)
    shown = shown_classes(summary)
    lines = [f"What the model says over {about(summary)}", ""]
    lines += prose(honesty_note(summary), width)
    for found in shown[:CLASSES_SHOWN]:
        lines += ["", *_class_lines(summary, found, width)]
    if (more := len(shown) - CLASSES_SHOWN) > 0:
        kind = "more label" if summary.several_labels else "more class"
        lines += ["", f"... and {counted(more, kind)}, in to_html() and to_frame()"]
    return "\n".join([*lines, "", *prose(legend(summary), width)])


def _class_lines(summary: Summarized, found: SummarizedClass, width: int) -> Iterator[str]:
    yield from prose(f"{in_one_line(found.label)}: {about_class(found, summary)}", width)
    titles = side_titles(summary, found, in_one_line)
    for part, title in PART_TITLES.items():
        yield f"  {title}"
        for speaks_for, heading in titles.items():
            terms = found.of(part, speaks_for=speaks_for)
            yield f"    {heading}{'' if terms else ': none'}"
            yield from map(_term_line, terms)


def _term_line(term: SummarizedTerm) -> str:
    text = in_one_line(term.text, LONGEST_TERM)
    blanks = " " * max(0, LONGEST_TERM - columns(text))
    documents = f"{term.n_documents:>7,} document{'s' if term.n_documents > 1 else ' '}"
    decides = "" if term.decides is None else f"  decides in {percent(term.decides)}"
    return (
        f"      {text}{blanks} {number(term.contribution, True):>7} {documents}{decides}".rstrip()
    )
