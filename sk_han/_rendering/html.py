"""Blocks as HTML, without scripts or external files, by one template that escapes every text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from html import escape
from typing import Any

import numpy as np

from sk_han._rendering.blocks import (
    LONGEST_SPAN,
    Block,
    Heading,
    Matrix,
    Row,
    Shaded,
    names,
    plain_text,
    text_parts,
    with_minus,
)
from sk_han._rendering.colors import LEVELS, SCALES, stylesheet
from sk_han._rendering.shading import fold_runs
from sk_han._utils.messages import in_one_line, plural, visible

# Sentences of a long document that are not folded, and characters shown of text that was not read.
OPEN_SENTENCES = 30
REST_SHOWN = 2000


def page(blocks: Iterable[Block], *, full_page: bool) -> str:
    """Return blocks as a whole page, or as a fragment with its style sheet."""
    content = list(blocks)
    options: dict[str, Any] = {"content": content, "styles": stylesheet()}
    if full_page:
        titles = (plain_text(block.text) for block in content if isinstance(block, Heading))
        options["title"] = next(titles)
    return str(_template().render(options))


def markup(blocks: Iterable[Block]) -> str:
    """Return blocks as markup, for an element of the class ``sk-han``."""
    return str(_template().render(content=list(blocks)))


def escape_text(text: Any) -> str:
    """Escape text, or the `str` of a label, for HTML, and replace what UTF-8 cannot encode."""
    # HTML parsers convert a raw carriage return to a line feed, which would shift offsets.
    return escape(visible(str(text))).replace("\r", "&#13;")


@cache
def _template() -> Any:
    """Return the compiled template. Jinja2 is imported here, so that predictions do not load it."""
    from jinja2 import Environment, PackageLoader
    from markupsafe import Markup

    environment = Environment(
        loader=PackageLoader("sk_han", "_rendering"),
        autoescape=True,
        finalize=lambda text: text if isinstance(text, Markup) else Markup(escape_text(text)),
    )
    environment.tests["shade"] = _is_shade
    environment.globals.update(
        kind_of=lambda block: type(block).__name__,
        names=names,
        text_parts=text_parts,
        percentage=lambda share: f"{100 * min(1, max(0, share)):.1f}%",
        rest_shown=REST_SHOWN,
        rests_of=_rests,
        rows_of=_matrix_rows,
        runs_of=_runs,
        with_minus=with_minus,
    )
    return environment.get_template("page.html.jinja")


def _is_shade(kind: str) -> bool:
    return kind[0] in SCALES.values() and kind[1:].isdecimal()


def _matrix_rows(matrix: Matrix) -> Iterator[tuple[Any, list[tuple[str, str, str]]]]:
    """Yield the name of each row, and class, title and text of its cells."""
    wrong = matrix.shares.copy()
    if matrix.diagonal:
        np.fill_diagonal(wrong, 0)
    worst = max(0.1, float(wrong.max(initial=0.0))) if matrix.counts is not None else 1.0
    for i, name in enumerate(names(matrix.rows)):
        cells = []
        for j, share in enumerate(matrix.shares[i].tolist()):
            right = matrix.diagonal and i == j
            scale = "w" if matrix.counts is None else "p" if right else "m"
            level = round(LEVELS * share / (1 if right else worst))
            kind = f"{scale}{max(1, level)}" if level or share else "han-none"
            labels = (matrix.rows[i], matrix.columns[j])
            title = ", ".join(in_one_line(label, LONGEST_SPAN) for label in labels)
            if matrix.counts is None:
                cells.append((kind, f"{title}: {share:.2f}", ""))
            elif count := int(matrix.counts[i, j]):
                cells.append((kind, f"{title}: {plural(count)}", f"{count:,}"))
            else:
                cells.append((kind, "", "\N{MIDDLE DOT}"))
        yield name, cells


def _runs(document: Shaded) -> Iterator[tuple[str, list[Iterable[dict[str, Any]]]]]:
    """Yield runs of sentences, each with the title of its fold or "", and then the columns.

    A row has a cell for each class that is explained.
    """
    first, alone = document.shadings[0], len(document.shadings) == 1
    marks = [_marks(shading, document.unknown) for shading in document.shadings]
    read = [row for row in document.rows if row.place is not None]
    largest = np.abs([shading.sentences for shading in document.shadings]).max(axis=0)
    for run, is_folded in fold_runs(largest, OPEN_SENTENCES):
        title = first.fold_note(run) if alone else f"{len(run)} sentences"
        yield title * is_folded, [_cells(document, read[i], marks) for i in run]
    yield "", [_cells(document, row, marks) for row in document.table]


def _cells(
    document: Shaded, row: Row, marks: list[list[tuple[str, str]]]
) -> Iterator[dict[str, Any]]:
    place = row.place or 0
    n_sentences = len(document.shadings[0].sentences)
    what = f"sentence {place + 1}" if place < n_sentences else row.pieces[0].text
    for i, (shading, of_words) in enumerate(zip(document.shadings, marks, strict=True)):
        number = with_minus(shading.format_value(place))
        yield {
            "name": document.names[i] if document.names else "",
            "pale": " han-pale" * shading.is_unclear(place),
            "said": f"{what}: {'contribution' if shading.signed else 'attention'} {number}",
            "number": number,
            "share": shading.share(place),
            "scale": shading.scale(shading.values[place]),
            "kind": "han-sentence" if place < n_sentences else "han-column",
            "pieces": _pieces(row, of_words),
        }


def _rests(document: Shaded) -> Iterator[tuple[list[tuple[str, str, str]], bool, int]]:
    """Yield text outside of all sentences: its pieces, whether it was not read, and its length."""
    for row in document.rows:
        if row.place is None:
            length = sum(len(piece.text) for piece in row.pieces)
            yield _pieces(row, []), row.pieces[0].unread, length


def _pieces(row: Row, marks: list[tuple[str, str]]) -> list[tuple[str, str, str]]:
    """Return the pieces of a row: text, and class and title of its mark, or ""."""
    return [
        (piece.text, "han-unread", "not read") if piece.unread
        else (piece.text, *(("", "") if piece.word is None else marks[piece.word]))
        for piece in row.pieces
    ]  # fmt: skip


def _marks(shading: Any, unknown: Any) -> list[tuple[str, str]]:
    """Return class and title of the mark of each word; "" for a known word without a shade."""
    marks = [("", "")] * len(shading.levels)
    for i, (level, is_unknown) in enumerate(zip(shading.levels, unknown.tolist(), strict=True)):
        if level or is_unknown:
            kinds = [f"{SCALES[shading.scale(level)]}{abs(level)}"] * bool(level)
            kinds += ["han-unknown"] * is_unknown
            title = shading.title(i) + ", not in the vocabulary" * is_unknown
            marks[i] = " ".join(kinds), with_minus(title)
    return marks
