"""An explanation as HTML: the raw text coloured in place, without scripts or outside assets."""

from __future__ import annotations

import numpy as np

from sk_han.explanation.document import DocumentExplanation, Quantity
from sk_han.rendering.colors import SCALES
from sk_han.rendering.markup import bar, escaped, isolated, page, with_minus
from sk_han.rendering.notes import NO_WORDS, attention_note, contribution_note, fold_note
from sk_han.rendering.rows import Piece, Row, folded, in_one_line, rows_of
from sk_han.rendering.shading import LEVELS, Shading, brief, shading_of

__all__ = ["document_markup", "render_html"]

OPEN_SENTENCES = 30
CLASSES_SHOWN = 5
REST_SHOWN = 2000


def render_html(
    explanation: DocumentExplanation, *, show: Quantity = "contributions", full_page: bool = True
) -> str:
    """Return one document as a page or a fragment; see `DocumentExplanation.to_html`.

    No sentence is shortened: the size of the page is linear in the length of the text.
    """
    title = f"{escaped(in_one_line(explanation.predicted))} {explanation.predicted_probability:.3f}"
    return page(document_markup(explanation, show), title, full_page)


def document_markup(explanation: DocumentExplanation, show: Quantity) -> str:
    """Return the prediction, the legend and the coloured text."""
    shading = shading_of(explanation, show)
    return _head(explanation) + _legend(explanation, shading) + _text(explanation, shading)


def _head(explanation: DocumentExplanation) -> str:
    """Return the predicted label and the probabilities of the likeliest classes and the target."""
    labels = explanation.classes.tolist()
    order = np.argsort(-explanation.probabilities, kind="stable").tolist()
    shown = order[:CLASSES_SHOWN]
    target = labels.index(explanation.target)
    if target not in shown:
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
        if explanation.target != explanation.predicted
        else ""
    )
    return (
        '<div class="han-head"><div><div class="han-small">predicted</div>'
        f'<div class="han-label">{isolated(explanation.predicted)}</div>{explained}</div>'
        f'<div class="han-classes">{rows}{rest}</div></div>'
    )


def _text(explanation: DocumentExplanation, shading: Shading) -> str:
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
    for row in rows[len(read) :]:
        margin = "not read" if row.pieces[0].unread else ""
        sentence = _sentence(row, marks)
        markup = f'<div class="han-row"><div class="han-small">{margin}</div>{sentence}</div>'
        length = sum(len(piece.text) for piece in row.pieces)
        if length > REST_SHOWN:
            summary = f"{length:,} more characters"
            markup = f"<details><summary>{summary}</summary>{markup}</details>"
        blocks.append(markup)
    return f'<div class="han-text" dir="auto">{"".join(blocks)}</div>'


def _row(row: Row, shading: Shading, marks: list[str]) -> str:
    i = row.sentence or 0
    value = float(shading.sentences[i])
    scale = shading.scale(value)
    quantity = "contribution" if shading.signed else "attention"
    name = f"sentence {i + 1}: {quantity} {_number(value, shading.signed)}"
    return (
        '<div class="han-row">'
        f'<div class="han-weight" role="img" aria-label="{name}" title="{name}">'
        f'<span class="han-number">{with_minus(shading.written(i))}</span>'
        f"{bar(shading.share(i), scale)}</div>"
        f"{_sentence(row, marks)}</div>"
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


def _marks(explanation: DocumentExplanation, shading: Shading) -> list[str]:
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


def _word_title(
    explanation: DocumentExplanation, shading: Shading, word: int, combined: float
) -> str:
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


def _legend(explanation: DocumentExplanation, shading: Shading) -> str:
    """Return the colour scale with its numbers, its meaning, and the marks that occur."""
    limit = shading.word_limit
    if shading.signed:
        # Two spans: if the line breaks, each end stays with its half of the scale.
        scale = (
            f"<span>against {_number(-limit, signed=True)} {_swatches('against')} 0</span>"
            f"<span>{_swatches('toward')} {_number(limit, signed=True)} toward</span>"
        )
        note = contribution_note(explanation, isolated)
    else:
        scale = f"<span>attention 0 {_swatches('attention')} {_number(limit)}</span>"
        note = attention_note(explanation.combine)
    entries = [f'<span class="han-scale">{scale}</span>', f"<span>{note}</span>"]
    if explanation.unknown.any():
        entries.append(
            '<span><mark class="han-unknown">dotted</mark>: not in the vocabulary</span>'
        )
    if explanation.truncated:
        entries.append('<span><mark class="han-unread">hatched</mark>: not read</span>')
    if not len(explanation.word_spans):
        entries = [f"<span>{NO_WORDS}</span>"]
    return f'<div class="han-legend han-small">{"".join(entries)}</div>'


def _swatches(scale: str) -> str:
    levels = range(LEVELS, 0, -1) if scale == "against" else range(1, LEVELS + 1)
    return "".join(f'<mark class="{SCALES[scale]}{level}"></mark>' for level in levels)


def _number(value: float, signed: bool = False) -> str:
    return with_minus(brief(value, signed))
