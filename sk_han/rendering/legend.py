"""What the colours of a page mean, in words; how the numbers were found, behind a fold."""

from __future__ import annotations

from collections.abc import Sequence

from sk_han.rendering.colors import SCALES
from sk_han.rendering.markup import brief_number, fold, isolated
from sk_han.rendering.notes import NO_WORDS, SHAPLEY_VALUE, attention_note, methods_note, target_of
from sk_han.rendering.protocols import Explained, Quantity
from sk_han.rendering.shading import LEVELS, WEAK_SHARE, shading_of

_RANDOM = "These colours are random numbers, a control: they say nothing about the document."
_ATTENTION = (
    "Green words got the model's attention: the stronger the colour, the more. Attention is not a "
    "reason: it speaks neither for a class nor against one, and a word that got much of it may "
    "have changed nothing. The bar before a sentence is the attention that the sentence got."
)
_SCALE_OF_DOCUMENT = "Shades compare words of one document, not of two documents."
_THRESHOLDS = (
    "Behind the probability of a label, and as a tick on its bar, stands the threshold from which "
    "on a document gets it."
)
_LOG_ODDS = (
    "The unit is log-odds: with +0.69 the odds for the class are twice as high (50 % become 67 %), "
    "with +2.3 ten times (50 % become 91 %); minus is the same downwards."
)
_WEAK = (
    "Words without colour are the weakest ones, which together hold at most "
    f"{100 * WEAK_SHARE:g} % of the {{quantity}} of their document."
)


def legend_markup(explanations: Sequence[Explained], show: Quantity) -> str:
    """Return one legend for all these explanations."""
    read = [explanation for explanation in explanations if len(explanation.word_spans)]
    if not read:
        return f'<div class="han-legend han-small"><span>{NO_WORDS}</span></div>'
    signed = [e for e in read if shading_of(e, show).signed]
    unsigned = [e for e in read if not shading_of(e, show).signed]
    random = [e for e in signed if e.method == "random"]
    signed = [e for e in signed if e.method != "random"]
    words, folded = [], []
    if signed:
        words.append(_colours(signed))
        note = methods_note(signed)
        folded += [_scale(signed, show), f"{note[0].upper()}{note[1:]}.", _LOG_ODDS]
    if random:
        words.append(_RANDOM)
    if unsigned:
        words.append(_ATTENTION)
        notes = dict.fromkeys(attention_note(e.combine) for e in unsigned)
        folded += [_scale(unsigned, show), *(f"Attention: {note}." for note in notes)]
    folded.append(_WEAK.format(quantity="contributions" if signed else "values"))
    if any(explanation.thresholds is not None for explanation in explanations):
        words.append(_THRESHOLDS)
    if len(explanations) > 1:
        words.append(_SCALE_OF_DOCUMENT)
    found = "".join(f"<p>{note}</p>" for note in folded)
    return (
        '<div class="han-legend han-small">'
        f"{''.join(f'<p>{paragraph}</p>' for paragraph in [*words, *_marks(read)])}"
        f"{fold('How the numbers were found', found)}</div>"
    )


def _colours(explanations: Sequence[Explained]) -> str:
    target = target_of(explanations, isolated)
    by_shapley = all(e.method == "shapley" for e in explanations)
    weight = SHAPLEY_VALUE if by_shapley else "the sum of its words"
    return (
        f'<mark class="p6">Blue</mark> words speak for {target}, <mark class="m6">orange</mark> '
        "words against it: the stronger the colour, the more. The number before a sentence "
        f"is {weight}: plus for, minus against; +0.7 makes the odds twice as high. "
        "Words without colour made little difference. "
        "All this is what the model made of the words, whether it is right or wrong."
    )


def _scale(explanations: Sequence[Explained], show: Quantity) -> str:
    """Return the colours from end to end; with their numbers, if they are of one document."""
    shading = shading_of(explanations[0], show)
    limit, alone = shading.word_limit, len(explanations) == 1
    if not shading.signed:
        most = brief_number(limit) if alone else "most of the document"
        return (
            '<span class="han-scale"><span>attention 0 '
            f"{_swatches('attention')} {most}</span></span>"
        )
    ends = (brief_number(-limit, True), brief_number(limit, True)) if alone else ("", "")
    # Two spans: if the line breaks, each end stays with its half of the scale.
    return (
        f'<span class="han-scale"><span>against {ends[0]} {_swatches("against")} 0</span>'
        f"<span>{_swatches('toward')} {ends[1]} toward</span></span>"
    )


def _marks(explanations: Sequence[Explained]) -> list[str]:
    """Return what marks mean that occur, if any do."""
    marks = []
    if any(explanation.unknown.any() for explanation in explanations):
        marks.append('<mark class="han-unknown">dotted</mark>: not in the vocabulary')
    if any(explanation.truncated for explanation in explanations):
        marks.append('<mark class="han-unread">hatched</mark>: not read')
    return [", ".join(marks)] if marks else []


def _swatches(scale: str) -> str:
    levels = range(LEVELS, 0, -1) if scale == "against" else range(1, LEVELS + 1)
    return "".join(f'<mark class="{SCALES[scale]}{level}"></mark>' for level in levels)
