"""An explanation as HTML: the raw text coloured in place, without scripts or outside assets."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sk_han.rendering.colors import SCALES
from sk_han.rendering.legend import legend_markup
from sk_han.rendering.markup import bar, escaped, isolated, page, with_minus
from sk_han.rendering.notes import fold_note
from sk_han.rendering.protocols import Explained, Quantity
from sk_han.rendering.rows import Piece, Row, folded, rows_of
from sk_han.rendering.shading import Shading, brief, shading_of, side_by_side
from sk_han.utils.visible_text import in_one_line

__all__ = ["classes_markup", "document_markup", "render_html"]

OPEN_SENTENCES = 30
CLASSES_SHOWN = 5
REST_SHOWN = 2000


def render_html(
    explanation: Explained, *, show: Quantity = "contributions", full_page: bool = True
) -> str:
    """Return one document as a page or a fragment; see `DocumentExplanation.to_html`.

    No sentence is shortened: the size of the page is linear in the length of the text.
    """
    title = f"{escaped(in_one_line(explanation.predicted))} {explanation.predicted_probability:.3f}"
    shading = shading_of(explanation, show)
    body = _head(explanation) + legend_markup([explanation], show) + _text(explanation, shading)
    return page(body, title, full_page)


def document_markup(explanation: Explained, show: Quantity) -> str:
    """Return the prediction and the coloured text, for pages that have the legend elsewhere."""
    return _head(explanation) + _text(explanation, shading_of(explanation, show))


def classes_markup(explanations: Sequence[Explained], show: Quantity) -> str:
    """Return the prediction and the text in a column for each class, of one document.

    All columns have one scale of colours. Of a long document, the sentences of the largest weight
    for any class are open.
    """
    first = explanations[0]
    shadings = side_by_side(explanations, show)
    marks = [_marks(e, shading) for e, shading in zip(explanations, shadings, strict=True)]
    rows = rows_of(first)
    names = [isolated(explanation.target) for explanation in explanations]
    heads = "".join(
        f'<div class="han-cell"><b>{name}</b> <span class="han-number">{_probability(e):.3f}</span>'
        "</div>"
        for name, e in zip(names, explanations, strict=True)
    )
    blocks = [f'<div class="han-side han-side-head">{heads}</div>']
    largest = np.abs([shading.sentences for shading in shadings]).max(axis=0)
    for run, is_folded in folded(largest, OPEN_SENTENCES):
        markup = "".join(_side(rows[i], shadings, marks, names) for i in run)
        if is_folded:
            markup = f"<details><summary>{len(run)} sentences</summary>{markup}</details>"
        blocks.append(markup)
    blocks += [_row_of_rest(row, marks[0]) for row in rows if row.sentence is None]
    return (
        f"{_head(first, names_target=False)}"
        f'<div class="han-text han-sides" dir="auto" style="--han-columns: {len(explanations)}">'
        f"{''.join(blocks)}</div>"
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


def _probability(explanation: Explained) -> float:
    number = explanation.classes.tolist().index(explanation.target)
    return float(explanation.probabilities[number])


def _head(explanation: Explained, names_target: bool = True) -> str:
    """Return the predicted label and the probabilities of the likeliest classes and the target."""
    labels = explanation.classes.tolist()
    order = np.argsort(-explanation.probabilities, kind="stable").tolist()
    shown = order[:CLASSES_SHOWN]
    target = labels.index(explanation.target)
    if target not in shown and names_target:
        shown[-1] = target
    rows = "".join(
        f"{isolated(labels[i])}{bar(float(explanation.probabilities[i]))}"
        f'<span class="han-number">{explanation.probabilities[i]:.3f}</span>'
        for i in shown
    )
    more = len(labels) - len(shown)
    rest = f'<span class="han-small">and {more} more</span>' if more else ""
    explained = (
        f'<div class="han-small">explained: {isolated(explanation.target)}</div>'
        if names_target and explanation.target != explanation.predicted
        else ""
    )
    return (
        '<div class="han-head"><div><div class="han-small">predicted</div>'
        f'<div class="han-label">{isolated(explanation.predicted)}</div>{explained}</div>'
        f'<div class="han-classes">{rows}{rest}</div></div>'
    )


def _text(explanation: Explained, shading: Shading) -> str:
    marks = _marks(explanation, shading)
    rows = rows_of(explanation)
    read = [row for row in rows if row.sentence is not None]
    blocks = []
    for run, is_folded in folded(shading.sentences, OPEN_SENTENCES):
        markup = "".join(_row(read[i], shading, marks) for i in run)
        if is_folded:
            summary = with_minus(fold_note(shading, run))
            markup = f"<details><summary>{summary}</summary>{markup}</details>"
        blocks.append(markup)
    blocks += [_row_of_rest(row, marks) for row in rows[len(read) :]]
    return f'<div class="han-text" dir="auto">{"".join(blocks)}</div>'


def _row_of_rest(row: Row, marks: list[str]) -> str:
    """Return the text outside of all sentences that were read."""
    margin = "not read" if row.pieces[0].unread else ""
    sentence = _sentence(row, marks)
    markup = f'<div class="han-row"><div class="han-small">{margin}</div>{sentence}</div>'
    length = sum(len(piece.text) for piece in row.pieces)
    if length > REST_SHOWN:
        summary = f"{length:,} more characters"
        markup = f"<details><summary>{summary}</summary>{markup}</details>"
    return markup


def _row(row: Row, shading: Shading, marks: list[str]) -> str:
    weight = _weight(row.sentence or 0, shading)
    return f'<div class="han-row">{weight}{_sentence(row, marks)}</div>'


def _weight(i: int, shading: Shading) -> str:
    """Return the value of a sentence as a number and a bar."""
    value = float(shading.sentences[i])
    scale = shading.scale(value)
    quantity = "contribution" if shading.signed else "attention"
    name = f"sentence {i + 1}: {quantity} {_number(value, shading.signed)}"
    return (
        f'<div class="han-weight" role="img" aria-label="{name}" title="{name}">'
        f'<span class="han-number">{with_minus(shading.written(i))}</span>'
        f"{bar(shading.share(i), scale)}</div>"
    )


def _sentence(row: Row, marks: list[str]) -> str:
    return (
        f'<div class="han-sentence">{"".join(_piece(piece, marks) for piece in row.pieces)}</div>'
    )


def _piece(piece: Piece, marks: list[str]) -> str:
    text = escaped(piece.text)
    if piece.unread:
        return f'<mark class="han-unread" title="not read">{text}</mark>'
    if piece.word is None or not marks[piece.word]:
        return text
    return f"{marks[piece.word]}{text}</mark>"


def _marks(explanation: Explained, shading: Shading) -> list[str]:
    """Return the opening tag of each word; empty for a known word without a shade."""
    marks, attention = [], explanation.combined_attention
    for i, (level, unknown) in enumerate(
        zip(shading.levels, explanation.unknown.tolist(), strict=True)
    ):
        classes = [f"{SCALES[shading.scale(level)]}{abs(level)}"] if level else []
        classes += ["han-unknown"] if unknown else []
        title = _word_title(explanation, shading, i, attention[i])
        if unknown:
            title += ", not in the vocabulary"
        marks.append(f'<mark class="{" ".join(classes)}" title="{title}">' if classes else "")
    return marks


def _word_title(explanation: Explained, shading: Shading, word: int, combined: float) -> str:
    root = "\N{SQUARE ROOT}" if explanation.combine == "sqrt" else ""
    sentence = explanation.sentence_attention[explanation.sentence_of_word[word]]
    within = explanation.word_attention[word]
    attention = (
        f"attention {_number(combined)} = "
        f"{root}sentence {_number(sentence)} \N{MULTIPLICATION SIGN} word {_number(within)}"
    )
    if not shading.signed:
        return attention
    return f"contribution {_number(shading.words[word], signed=True)}, {attention}"


def _number(value: float, signed: bool = False) -> str:
    return with_minus(brief(value, signed))
