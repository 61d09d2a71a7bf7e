"""An explanation as HTML: the raw text coloured in place, without scripts or outside assets."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from sk_han.explanation import DocumentExplanation, Quantity
from sk_han.rendering.rows import Piece, Row, folded, rows_of, visible
from sk_han.rendering.shading import LEVELS, Shading, shading_of
from sk_han.rendering.style import SCALES, stylesheet

__all__ = ["render_html", "render_html_list"]

OPEN_SENTENCES = 30
OPEN_DOCUMENTS = 3
CLASSES_SHOWN = 5
EXCERPT = 100
REST_SHOWN = 2000


def render_html(
    explanation: DocumentExplanation, *, show: Quantity = "contributions", full_page: bool = True
) -> str:
    """Render one document.

    Of a document of more than 30 sentences, the 30 with the largest weights stay open, in their
    place; the others are folded.

    Parameters
    ----------
    explanation : DocumentExplanation
    show : {"contributions", "attention"}, default="contributions"
        What colours and bars show.
    full_page : bool, default=True
        Whether to give a whole page, or a fragment to put into one.

    Returns
    -------
    str
        All text and labels are escaped; control characters and lone surrogates are replaced by
        visible ones, so the result can be written in UTF-8.
    """
    title = f"{_label(explanation.predicted)} {_probability(explanation):.3f}"
    return _page(_document(explanation, show), title, full_page)


def render_html_list(
    explanations: Sequence[DocumentExplanation],
    *,
    show: Quantity = "contributions",
    full_page: bool = True,
    n_left_out: int = 0,
) -> str:
    """Render several documents, the first three open and the others folded.

    Parameters
    ----------
    explanations : sequence of DocumentExplanation
    show : {"contributions", "attention"}, default="contributions"
        What colours and bars show.
    full_page : bool, default=True
        Whether to give a whole page, or a fragment to put into one.
    n_left_out : int, default=0
        How many more documents to speak of at the end.

    Returns
    -------
    str
    """
    parts = [
        f'<details class="han-document"{" open" if i < OPEN_DOCUMENTS else ""}>'
        f"<summary>{_summary(explanation, i)}</summary>{_document(explanation, show)}</details>"
        for i, explanation in enumerate(explanations)
    ]
    if n_left_out:
        parts.append(
            f'<p class="han-small">and {n_left_out} more documents; '
            "<code>to_html(path)</code> writes all of them.</p>"
        )
    title = f"{len(explanations)} document{'s' * (len(explanations) != 1)}"
    return _page("".join(parts) or '<p class="han-small">No documents.</p>', title, full_page)


def _page(body: str, title: str, full_page: bool) -> str:
    style = f"<style>\n{stylesheet()}</style>"
    if not full_page:
        return f'{style}\n<div class="sk-han">{body}</div>\n'
    return (
        '<!DOCTYPE html>\n<html>\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f'<title>{title}</title>\n{style}\n</head>\n<body class="sk-han">\n{body}\n</body>\n'
        "</html>\n"
    )


def _document(explanation: DocumentExplanation, show: Quantity) -> str:
    shading = shading_of(explanation, show)
    return _head(explanation) + _text(explanation, shading) + _legend(explanation, shading)


def _head(explanation: DocumentExplanation) -> str:
    """The predicted label, and the probabilities of the likeliest classes and the target."""
    labels = explanation.classes.tolist()
    order = np.argsort(-explanation.probabilities, kind="stable").tolist()
    shown = order[:CLASSES_SHOWN]
    target = labels.index(explanation.target)
    if target not in shown:
        shown[-1] = target
    rows = "".join(
        f"<bdi>{_label(labels[i])}</bdi>{_bar(float(explanation.probabilities[i]))}"
        f'<span class="han-number">{explanation.probabilities[i]:.3f}</span>'
        for i in shown
    )
    more = len(labels) - len(shown)
    rest = f'<span class="han-small">and {more} more</span>' if more else ""
    explained = (
        f'<div class="han-small">explained: <bdi>{_label(explanation.target)}</bdi></div>'
        if explanation.target != explanation.predicted
        else ""
    )
    return (
        '<div class="han-head"><div><div class="han-small">predicted</div>'
        f'<div class="han-label"><bdi>{_label(explanation.predicted)}</bdi></div>{explained}</div>'
        f'<div class="han-classes">{rows}{rest}</div></div>'
    )


def _text(explanation: DocumentExplanation, shading: Shading) -> str:
    marks = _marks(explanation, shading)
    rows = rows_of(explanation)
    read = [row for row in rows if row.sentence is not None]
    parts = []
    for run, is_folded in folded(shading.sentences, OPEN_SENTENCES):
        markup = "".join(_row(read[i], shading, marks) for i in run)
        if is_folded:
            share = explanation.sentence_attention[run.start : run.stop].sum()
            summary = f"{len(run)} sentences with {share:.3f} of the attention"
            markup = f"<details><summary>{summary}</summary>{markup}</details>"
        parts.append(markup)
    for row in rows[len(read) :]:
        markup = f'<div class="han-row"><div></div>{_sentence(row, marks)}</div>'
        length = sum(len(piece.text) for piece in row.pieces)
        if length > REST_SHOWN:
            summary = f"{length:,} more characters"
            markup = f"<details><summary>{summary}</summary>{markup}</details>"
        parts.append(markup)
    return f'<div class="han-text" dir="auto">{"".join(parts)}</div>'


def _row(row: Row, shading: Shading, marks: list[str]) -> str:
    i = row.sentence or 0
    value = float(shading.sentences[i])
    scale = shading.scale(value)
    name = f"sentence {i + 1}: {_quantity(shading)} {_number(value, shading.signed)}"
    digits = f"{value:+.3f}".replace("-", "\N{MINUS SIGN}") if shading.signed else f"{value:.3f}"
    return (
        '<div class="han-row">'
        f'<div class="han-weight" role="img" aria-label="{name}" title="{name}">'
        f'<span class="han-number">{digits}</span>{_bar(shading.share(i), scale)}</div>'
        f"{_sentence(row, marks)}</div>"
    )


def _sentence(row: Row, marks: list[str]) -> str:
    return (
        f'<div class="han-sentence">{"".join(_piece(piece, marks) for piece in row.pieces)}</div>'
    )


def _piece(piece: Piece, marks: list[str]) -> str:
    text = _escaped(piece.text)
    if piece.unread:
        return f'<mark class="han-unread" title="not read">{text}</mark>'
    if piece.word is None or not marks[piece.word]:
        return text
    return f"{marks[piece.word]}{text}</mark>"


def _marks(explanation: DocumentExplanation, shading: Shading) -> list[str]:
    """Opening tag of each word; none for a known word whose weight rounds to no shade."""
    marks = []
    for i, (level, unknown) in enumerate(
        zip(shading.levels, explanation.unknown.tolist(), strict=True)
    ):
        classes = [f"{SCALES[shading.scale(level)]}{abs(level)}"] if level else []
        classes += ["han-unknown"] if unknown else []
        title = _word_title(explanation, shading, i) + (", not in the vocabulary" * unknown)
        marks.append(f'<mark class="{" ".join(classes)}" title="{title}">' if classes else "")
    return marks


def _word_title(explanation: DocumentExplanation, shading: Shading, word: int) -> str:
    sentence = explanation.sentence_attention[explanation.sentence_of_word[word]]
    within = explanation.word_attention[word]
    attention = (
        f"attention {_number(sentence * within)} = "
        f"sentence {_number(sentence)} \N{MULTIPLICATION SIGN} word {_number(within)}"
    )
    if not shading.signed:
        return attention
    return f"contribution {_number(shading.words[word], signed=True)}, {attention}"


def _legend(explanation: DocumentExplanation, shading: Shading) -> str:
    """The colour scale with its numbers, what it shows, and the marks that occur."""
    limit = shading.word_limit
    if shading.signed:
        target = f"<bdi>{_label(explanation.target)}</bdi>"
        scale = (
            f"<span>against {target} {_number(-limit, signed=True)}</span>"
            f"<span>{_swatches('against')}</span><span>0</span>"
            f"<span>{_swatches('toward')}</span>"
            f"<span>{_number(limit, signed=True)} toward {target}</span>"
        )
        note = f"contributions by {_escaped(explanation.method)}"
    else:
        scale = (
            f"<span>attention 0</span><span>{_swatches('attention')}</span>"
            f"<span>{_number(limit)}</span>"
        )
        note = "weights of the model\u2019s pooling, not a measure of importance"
    entries = [f'<span class="han-scale">{scale}</span>', f"<span>{note}</span>"]
    if explanation.unknown.any():
        entries.append(
            '<span><mark class="han-unknown">dotted</mark>: not in the vocabulary</span>'
        )
    if explanation.truncated:
        entries.append('<span><mark class="han-unread">hatched</mark>: not read</span>')
    if not len(explanation.word_spans):
        entries = ["<span>No words of this document were read.</span>"]
    return f'<div class="han-legend han-small">{"".join(entries)}</div>'


def _swatches(scale: str) -> str:
    levels = range(LEVELS, 0, -1) if scale == "against" else range(1, LEVELS + 1)
    return "".join(f'<mark class="{SCALES[scale]}{level}"></mark>' for level in levels)


def _summary(explanation: DocumentExplanation, number: int) -> str:
    excerpt = " ".join(explanation.text[: 2 * EXCERPT].split())
    cut = excerpt[:EXCERPT] + "\N{HORIZONTAL ELLIPSIS}" * (len(excerpt) > EXCERPT)
    return (
        f'<span class="han-number">{number}</span> '
        f"<b><bdi>{_label(explanation.predicted)}</bdi></b> "
        f'<span class="han-number">{_probability(explanation):.3f}</span> '
        f'<span class="han-small"><bdi>{_escaped(cut)}</bdi></span>'
    )


def _bar(share: float, scale: str | None = None) -> str:
    kind = f' class="han-{scale}"' if scale else ""
    return f'<span class="han-bar"><i{kind} style="width:{100 * share:.1f}%"></i></span>'


def _quantity(shading: Shading) -> str:
    return "contribution" if shading.signed else "attention"


def _number(value: float, signed: bool = False) -> str:
    digits = f"{value:+.2g}" if signed else f"{value:.2g}"
    return digits.replace("-", "\N{MINUS SIGN}")


def _probability(explanation: DocumentExplanation) -> float:
    return float(
        explanation.probabilities[explanation.classes.tolist().index(explanation.predicted)]
    )


def _label(label: Any) -> str:
    return _escaped(str(label))


def _escaped(text: str) -> str:
    # A parser turns a raw carriage return into a line feed, and offsets would drift.
    return escape(visible(text)).replace("\r", "&#13;")
