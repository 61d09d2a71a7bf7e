"""Explanations as HTML: the raw text coloured in place, without scripts or outside assets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sk_han.rendering.explanation_text import (
    NO_WORDS,
    SHAPLEY_VALUE,
    attention_note,
    comparison,
    explains_its_answer,
    fold_note,
    likeliest,
    methods_note,
    mistaken,
    named,
    probability_of,
    target_of,
    true_of,
)
from sk_han.rendering.html import (
    Piece,
    Row,
    bar,
    brief_number,
    escaped,
    excerpt,
    fold,
    folded,
    isolated,
    page,
    rows_of,
    with_minus,
)
from sk_han.rendering.shading import (
    LEVELS,
    SCALES,
    WEAK_SHARE,
    Explained,
    ExplainedDocuments,
    Quantity,
    Shading,
    shading_of,
    side_by_side,
)
from sk_han.utils.messages import counted, in_one_line

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
        f"{''.join(f'<p>{paragraph}</p>' for paragraph in [*words, *_legend_marks(read)])}"
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


def _legend_marks(explanations: Sequence[Explained]) -> list[str]:
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


OPEN_SENTENCES = 30


CLASSES_SHOWN = 5


REST_SHOWN = 2000


OPEN_DOCUMENTS = 3


EXCERPT = 100


_WRONG = '<span class="han-verdict">\N{BALLOT X} wrong</span>'


def render_html(
    explanation: Explained, *, show: Quantity = "contributions", full_page: bool = True
) -> str:
    """Return one document as a page or a fragment; see `DocumentExplanation.to_html`.

    No sentence is shortened: the size of the page is linear in the length of the text.
    """
    title = escaped(named(explanation.answer, in_one_line))
    if explanation.labels is None:
        title += f" {explanation.predicted_probability:.3f}"
    shading = shading_of(explanation, show)
    body = _head(explanation) + legend_markup([explanation], show) + _text(explanation, shading)
    return page(body, title, full_page)


def render_html_list(
    explanations: ExplainedDocuments,
    *,
    misclassified_first: bool = False,
    show: Quantity = "contributions",
    full_page: bool = True,
    max_documents: int | None = None,
) -> str:
    """Return several documents, the first three open; see `ExplanationList.to_html`."""
    documents = list(explanations.by_document())
    has_true = explanations.y_true is not None
    wrong = [has_true and bool(each[0].answer != true_of(each)) for each in documents]
    order = list(range(len(documents)))
    if misclassified_first:
        order.sort(key=lambda i: not wrong[i])
    shown = order[:max_documents]
    blocks = []
    if documents:
        blocks.append(legend_markup([e for i in shown for e in documents[i]], show))
    if documents and has_true:
        mark = f", marked {_WRONG}" if any(wrong) else ""
        blocks.append(
            f'<p class="han-count">{sum(wrong)} of {len(wrong)} documents misclassified '
            f"({sum(wrong) / len(wrong):.1%}){mark}</p>"
        )
    for position, i in enumerate(shown):
        document, is_open = documents[i], position < OPEN_DOCUMENTS
        if len(document) == 1:
            markup = document_markup(document[0], show, true_of(document))
        else:
            markup = _classes(list(document), show, true_of(document))
        kind = "han-document han-wrong" if wrong[i] else "han-document"
        blocks.append(fold(_summary(document, wrong[i]), markup, kind, is_open=is_open))
    if len(shown) < len(order):
        blocks.append(
            f'<p class="han-small">and {counted(len(order) - len(shown), "more document")}; '
            "<code>to_html(path)</code> writes all of them.</p>"
        )
    body = "".join(blocks) or '<p class="han-small">No documents.</p>'
    return page(body, counted(len(documents)), full_page)


def _summary(document: ExplainedDocuments, is_wrong: bool) -> str:
    explanation, verdict = document[0], f"{_WRONG} " if is_wrong else ""
    true = true_of(document)
    if true is not None:
        verdict += f'<span class="han-small">true: {named(true, isolated)}</span> '
    beginning = excerpt(explanation.text, EXCERPT)
    probability = ""
    if explanation.labels is None:  # those of several labels are below
        probability = f'<span class="han-number">{explanation.predicted_probability:.3f}</span> '
    return (
        f'<span class="han-number">{document.numbers[0]}</span> '
        f"<b>{named(explanation.answer, isolated)}</b> {probability}{verdict}"
        f'<span class="han-small han-excerpt"><bdi>{beginning}</bdi></span>'
    )


def document_markup(explanation: Explained, show: Quantity, true: Any = None) -> str:
    """Return the prediction and the coloured text, for pages that have the legend elsewhere.

    Of several labels `true` are those that the document has, a tuple.
    """
    return _head(explanation, true) + _text(explanation, shading_of(explanation, show))


def _classes(explanations: Sequence[Explained], show: Quantity, true: Any) -> str:
    """Return the prediction and the text in a column for each class, of one document.

    All columns have one scale of colours. Of a long document, the sentences of the largest weight
    for any class are open.
    """
    first = explanations[0]
    shadings = side_by_side(explanations, show)
    marks = [_marks(e, shading) for e, shading in zip(explanations, shadings, strict=True)]
    rows = rows_of(first)
    names = [comparison(explanation, isolated) for explanation in explanations]
    probabilities = [probability_of(e, e.classes.tolist().index(e.target)) for e in explanations]
    heads = "".join(
        f'<div class="han-cell"><b>{name}</b> <span class="han-number">{escaped(p)}</span></div>'
        for name, p in zip(names, probabilities, strict=True)
    )
    blocks = [f'<div class="han-side han-side-head">{heads}</div>']
    largest = np.abs([shading.sentences for shading in shadings]).max(axis=0)
    for run, is_folded in folded(largest, OPEN_SENTENCES):
        markup = "".join(_side(rows[i], shadings, marks, names) for i in run)
        blocks.append(fold(_note(f"{len(run)} sentences"), markup) if is_folded else markup)
    sums = [_note(shading.sum_note()) for shading in shadings if shading.sum_note()]
    if sums:
        cells = "".join(f'<div class="han-cell han-small">{each}</div>' for each in sums)
        blocks.append(f'<div class="han-side">{cells}</div>')
    blocks += [_row_of_rest(row, marks[0]) for row in rows if row.sentence is None]
    return (
        f"{_head(first, true, names_target=False)}"
        '<div class="han-text han-sides" lang="" dir="auto" '
        f'style="--han-columns: {len(explanations)}">{"".join(blocks)}</div>'
    )


def _side(
    row: Row, shadings: Sequence[Shading], marks: Sequence[list[str]], names: Sequence[str]
) -> str:
    cells = "".join(
        f'<div class="han-cell"><div class="han-small han-of">{name}</div>'
        f"{_weight(row.sentence or 0, shading)}{_sentence(row, words)}</div>"
        for name, shading, words in zip(names, shadings, marks, strict=True)
    )
    return f'<div class="han-side">{cells}</div>'


def _head(explanation: Explained, true: Any = None, *, names_target: bool = True) -> str:
    """Return what is predicted and the probabilities of the likeliest classes and the target."""
    labels = explanation.classes.tolist()
    shown = likeliest(explanation, CLASSES_SHOWN, true)
    target = labels.index(explanation.target)
    if target not in shown and names_target:
        shown = [*(shown[:-1] if explanation.labels is None else shown), target]
    rows = "".join(_class(explanation, i, true) for i in shown)
    more = len(labels) - len(shown)
    rest = f'<span class="han-small">and {more} more</span>' if more else ""
    explained = ""
    if names_target and not explains_its_answer(explanation):
        explained = f'<div class="han-small">explained: {comparison(explanation, isolated)}</div>'
    return (
        '<div class="han-head"><div><div class="han-small">predicted</div>'
        f'<div class="han-label">{named(explanation.answer, isolated)}</div>{explained}</div>'
        f'<div class="han-classes">{rows}{rest}</div></div>'
    )


def _class(explanation: Explained, i: int, true: Any) -> str:
    """Return a label, its probability as a bar and a number, and whether it is a mistake."""
    threshold = None if explanation.thresholds is None else float(explanation.thresholds[i])
    number = f'<span class="han-number">{escaped(probability_of(explanation, i))}</span>'
    mistake = mistaken(explanation, i, true)
    if mistake:
        number = f'<span>{number} <span class="han-verdict">{mistake}</span></span>'
    share = bar(float(explanation.probabilities[i]), threshold=threshold)
    return f"{isolated(explanation.classes[i])}{share}{number}"


def _text(explanation: Explained, shading: Shading) -> str:
    marks = _marks(explanation, shading)
    rows = rows_of(explanation)
    read = [row for row in rows if row.sentence is not None]
    blocks = []
    for run, is_folded in folded(shading.sentences, OPEN_SENTENCES):
        markup = "".join(_row(_weight(i, shading), read[i], marks) for i in run)
        blocks.append(fold(_note(fold_note(shading, run)), markup) if is_folded else markup)
    if shading.sum_note():
        blocks.append(f'<div class="han-small">{_note(shading.sum_note())}</div>')
    blocks += [_row_of_rest(row, marks) for row in rows[len(read) :]]
    return f'<div class="han-text" lang="" dir="auto">{"".join(blocks)}</div>'


def _row_of_rest(row: Row, marks: list[str]) -> str:
    """Return the text outside of all sentences that were read."""
    margin = _note("not read") if row.pieces[0].unread else ""
    markup = _row(f'<div class="han-small">{margin}</div>', row, marks)
    length = sum(len(piece.text) for piece in row.pieces)
    return fold(_note(f"{length:,} more characters"), markup) if length > REST_SHOWN else markup


def _note(text: str) -> str:
    """Return a note that reads from left to right among text that may not."""
    return f'<bdi lang="en" dir="ltr">{with_minus(text)}</bdi>'


def _row(margin: str, row: Row, marks: list[str]) -> str:
    return f'<div class="han-row">{margin}{_sentence(row, marks)}</div>'


def _weight(i: int, shading: Shading) -> str:
    """Return the value of a sentence as a number and a bar."""
    value = float(shading.sentences[i])
    quantity = "contribution" if shading.signed else "attention"
    name = f"sentence {i + 1}: {quantity} {brief_number(value, shading.signed)}"
    return (
        f'<div class="han-weight" role="img" aria-label="{name}" title="{name}">'
        f'<span class="han-number">{with_minus(shading.written(i))}</span>'
        f"{bar(shading.share(i), shading.scale(value))}</div>"
    )


def _sentence(row: Row, marks: list[str]) -> str:
    pieces = "".join(_piece(piece, marks) for piece in row.pieces)
    return f'<div class="han-sentence">{pieces}</div>'


def _piece(piece: Piece, marks: list[str]) -> str:
    text = escaped(piece.text)
    if piece.unread:
        return f'<mark class="han-unread" title="not read">{text}</mark>'
    if piece.word is None or not marks[piece.word]:
        return text
    return f"{marks[piece.word]}{text}</mark>"


def _marks(explanation: Explained, shading: Shading) -> list[str]:
    """Return the opening tag of each word; empty for a known word without a shade."""
    marks, attention = [""] * len(shading.levels), explanation.combined_attention
    unknowns = explanation.unknown.tolist()
    for i, (level, unknown) in enumerate(zip(shading.levels, unknowns, strict=True)):
        if not level and not unknown:
            continue
        classes = [f"{SCALES[shading.scale(level)]}{abs(level)}"] if level else []
        title = _word_title(explanation, shading, i, attention[i])
        if unknown:
            classes.append("han-unknown")
            title += ", not in the vocabulary"
        marks[i] = f'<mark class="{" ".join(classes)}" title="{title}">'
    return marks


def _word_title(explanation: Explained, shading: Shading, word: int, combined: float) -> str:
    root = "\N{SQUARE ROOT}" if explanation.combine == "sqrt" else ""
    sentence = explanation.sentence_attention[explanation.sentence_of_word[word]]
    within = explanation.word_attention[word]
    attention = (
        f"attention {brief_number(combined)} = {root}sentence {brief_number(sentence)} "
        f"\N{MULTIPLICATION SIGN} word {brief_number(within)}"
    )
    if not shading.signed:
        return attention
    return f"contribution {brief_number(shading.words[word], signed=True)}, {attention}"
