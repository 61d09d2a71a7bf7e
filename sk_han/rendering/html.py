"""Blocks as HTML, without scripts and outside assets; the one place that escapes."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any

import numpy as np

from sk_han.rendering.blocks import (
    LONGEST_SPAN,
    Bar,
    Block,
    Columns,
    Fold,
    Heading,
    Matrix,
    Piece,
    Row,
    Sentence,
    Shaded,
    Span,
    Table,
    Text,
    names,
    parts_of,
    plain_text,
    with_minus,
)
from sk_han.rendering.colors import LEVELS, SCALES, stylesheet
from sk_han.rendering.shading import folded
from sk_han.utils.messages import counted, in_one_line, visible

OPEN_SENTENCES = 30
REST_SHOWN = 2000  # characters after what was read
UPRIGHT_FROM, SMALL_FROM = 6, 11  # columns of a matrix


def page(blocks: Iterable[Block], *, full_page: bool) -> str:
    """Return blocks as a page, or with the style sheet as a fragment of one."""
    found = list(blocks)
    titles = (plain_text(block.text) for block in found if isinstance(block, Heading))
    styles = f"<style>\n{stylesheet()}</style>"
    if not full_page:
        return f'{styles}\n<div class="sk-han">{markup(found)}</div>\n'
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{escaped(next(titles))}</title>\n{styles}\n</head>\n"
        f'<body class="sk-han">\n<main>{markup(found)}</main>\n</body>\n</html>\n'
    )


def escaped(text: Any) -> str:
    """Return text, or the `str` of a label, escaped for HTML, as characters that UTF-8 can hold."""
    # A parser turns a raw carriage return into a line feed, and offsets would be wrong.
    return escape(visible(str(text))).replace("\r", "&#13;")


def markup(blocks: Iterable[Block]) -> str:
    """Return blocks as markup within an element of the class ``sk-han``."""
    return "".join(WRITERS[type(block)](block) for block in blocks)


def _inline(text: Text) -> str:
    return "".join(
        _span(part) if isinstance(part, Span) else _bar(part) if isinstance(part, Bar)
        else escaped(part)
        for part in parts_of(text)
    )  # fmt: skip


def _span(span: Span) -> str:
    title = f' title="{escaped(span.title)}"' if span.title else ""
    text = escaped(span.text)
    if span.kind[0] in SCALES.values() and span.kind[1:].isdecimal():
        return f'<mark class="{span.kind}"{title}>{text}</mark>'
    if span.kind == "code":
        return f"<code>{text}</code>"
    isolated = f"<bdi>{text}</bdi>"
    if span.kind == "label" and not title:
        return isolated
    if span.kind == "strong":
        return f"<b{title}>{isolated}</b>"
    tag = "sub" if span.kind == "sub" else "span"
    return f'<{tag} class="han-{span.kind}"{title}>{isolated}</{tag}>'


def _bar(bar: Bar) -> str:
    kind = f' class="han-{bar.scale}"' if bar.scale else ""
    tick = ""
    if bar.threshold is not None:
        tick = f'<b style="inset-inline-start:{100 * min(bar.threshold, 1):.1f}%"></b>'
    width = f"width:{100 * min(1, max(0, bar.share)):.1f}%"
    return f'<span class="han-bar"><i{kind} style="{width}"></i>{tick}</span>'


def _heading(heading: Heading) -> str:
    return f"<h{heading.level}>{_inline(heading.text)}</h{heading.level}>"


def _sentence(sentence: Sentence) -> str:
    kind = f' class="{sentence.kind}"' if sentence.kind else ""
    direction = ' dir="auto"' if sentence.kind == "han-sentence" else ""
    return f"<p{kind}{direction}>{_inline(sentence.text)}</p>"


def _table(table: Table) -> str:
    head = "".join(f'<th scope="col">{_inline(name)}</th>' for name in table.head)
    rows = "".join(
        f'<tr><th scope="row">{_inline(name)}</th>'
        f"{''.join(f'<td>{_inline(cell)}</td>' for cell in cells)}</tr>"
        for name, *cells in table.rows
    )
    head = f"<thead><tr>{head}</tr></thead>" if head else ""
    kind = f' class="han-{table.kind}"' if table.kind else ""
    return f'<div class="han-wide"><table{kind}>{head}<tbody>{rows}</tbody></table></div>'


def _columns(columns: Columns) -> str:
    return f'<div class="han-columns">{markup(columns.blocks)}</div>'


def _fold(fold: Fold) -> str:
    kind, state = (f' class="{fold.kind}"' if fold.kind else ""), " open" * fold.is_open
    content = f"<div>{markup(fold.blocks)}</div>"
    return f"<details{kind}{state}><summary>{_inline(fold.title)}</summary>{content}</details>"


def _matrix(matrix: Matrix) -> str:
    n = len(matrix.columns)
    kinds = "han-matrix" + " han-upright" * (n >= UPRIGHT_FROM) + " han-many" * (n >= SMALL_FROM)
    row_names, column_names = map(names, (matrix.rows, matrix.columns))
    head = "".join(f'<th scope="col">{_inline(name)}</th>' for name in column_names)
    wrong = matrix.shares.copy()
    if matrix.diagonal:
        np.fill_diagonal(wrong, 0)
    worst = max(0.1, float(wrong.max(initial=0.0))) if matrix.counts is not None else 1.0
    rows = []
    for i, name in enumerate(row_names):
        cells = []
        for j, share in enumerate(matrix.shares[i].tolist()):
            right = matrix.diagonal and i == j
            scale = "w" if matrix.counts is None else "p" if right else "m"
            level = round(LEVELS * share / (1 if right else worst))
            cells.append(_cell(matrix, i, j, f"{scale}{max(1, level)}" if level or share else ""))
        rows.append(f'<tr><th scope="row">{_inline(name)}</th>{"".join(cells)}</tr>')
    corner = escaped(" \\ ".join(filter(None, matrix.axes)))
    return (
        f'<div class="han-wide"><table class="{kinds}"><thead><tr><th class="han-small">{corner}'
        f"</th>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def _cell(matrix: Matrix, i: int, j: int, shade: str) -> str:
    """Return one cell of a matrix; its title names row, column and value."""
    kind = f' class="{shade or "han-none"}"'
    said = ", ".join(
        in_one_line(name, LONGEST_SPAN) for name in (matrix.rows[i], matrix.columns[j])
    )
    if matrix.counts is None:
        return f'<td{kind} title="{escaped(said)}: {matrix.shares[i, j]:.2f}"></td>'
    count = int(matrix.counts[i, j])
    if not count:
        return f"<td{kind}>\N{MIDDLE DOT}</td>"
    return f'<td{kind} title="{escaped(f"{said}: {counted(count)}")}">{count:,}</td>'


def _shaded(shaded: Shaded) -> str:
    """Return the rows of a document, of which those of little weight are folded."""
    marks = [_marks(column, shaded.unknown) for column in shaded.columns]
    read = [row for row in shaded.rows if row.sentence is not None]
    largest = np.abs([column.sentences for column in shaded.columns]).max(axis=0)
    found = []
    if shaded.names:
        heads = "".join(f'<div class="han-cell">{_inline(name)}</div>' for name in shaded.names)
        found.append(f'<div class="han-row han-head">{heads}</div>')
    for run, is_folded in folded(largest, OPEN_SENTENCES):
        markup = "".join(_row(shaded, read[i], marks) for i in run)
        alone = len(shaded.columns) == 1
        note = shaded.columns[0].fold_note(run) if alone else f"{len(run)} sentences"
        found.append(_fold_of_rows(note, markup) if is_folded else markup)
    sums = [column.sum_note() for column in shaded.columns]
    if any(sums):
        cells = "".join(f'<div class="han-cell han-small">{_note(each)}</div>' for each in sums)
        found.append(f'<div class="han-row">{cells}</div>')
    for row in shaded.rows[len(read) :]:
        length = sum(len(piece.text) for piece in row.pieces)
        markup = f'<div class="han-row">{_rest(row)}</div>'
        note = f"{length:,} more characters"
        found.append(_fold_of_rows(note, markup) if length > REST_SHOWN else markup)
    kind = "han-text han-sides" if shaded.names else "han-text"
    columns = f' style="--han-columns: {len(shaded.columns)}"' if shaded.names else ""
    return f'<div class="{kind}" lang="" dir="auto"{columns}>{"".join(found)}</div>'


def _fold_of_rows(note: str, markup: str) -> str:
    return f"<details><summary>{_note(note)}</summary>{markup}</details>"


def _note(text: str) -> str:
    """Return a note that reads from left to right among text that may not."""
    return f'<bdi lang="en" dir="ltr">{escaped(with_minus(text))}</bdi>'


def _row(shaded: Shaded, row: Row, marks: list[list[str]]) -> str:
    """Return a sentence with its value, once for each column."""
    cells = []
    for i, (column, of_words) in enumerate(zip(shaded.columns, marks, strict=True)):
        name = f'<div class="han-of">{_inline(shaded.names[i])}</div>' if shaded.names else ""
        at = row.sentence or 0
        quantity = "contribution" if column.signed else "attention"
        said = with_minus(f"sentence {at + 1}: {quantity} {column.written(at)}")
        pale = " han-pale" * column.is_unclear(at)
        cells.append(
            f'<div class="han-cell">{name}'
            f'<div class="han-weight{pale}" role="img" aria-label="{said}" '
            f'title="{said}"><span class="han-number">{with_minus(column.written(at))}</span>'
            f"{_bar(Bar(column.share(at), column.scale(column.sentences[at])))}</div>"
            f'<div class="han-sentence">{"".join(_piece(p, of_words) for p in row.pieces)}</div>'
            "</div>"
        )
    return f'<div class="han-row">{"".join(cells)}</div>'


def _rest(row: Row) -> str:
    """Return the text outside of all sentences that were read."""
    margin = _note("not read") if row.pieces[0].unread else ""
    pieces = "".join(_piece(piece, []) for piece in row.pieces)
    return (
        f'<div class="han-cell"><div class="han-small">{margin}</div>'
        f'<div class="han-sentence">{pieces}</div></div>'
    )


def _piece(piece: Piece, marks: list[str]) -> str:
    text = escaped(piece.text)
    if piece.unread:
        return f'<mark class="han-unread" title="not read">{text}</mark>'
    if piece.word is None or not marks[piece.word]:
        return text
    return f"{marks[piece.word]}{text}</mark>"


def _marks(column: Any, unknown: Any) -> list[str]:
    """Return the opening tag of each word; empty for a known word without a shade."""
    marks = [""] * len(column.levels)
    for i, (level, is_unknown) in enumerate(zip(column.levels, unknown.tolist(), strict=True)):
        if level or is_unknown:
            kinds = [f"{SCALES[column.scale(level)]}{abs(level)}"] * bool(level)
            kinds += ["han-unknown"] * is_unknown
            title = column.title(i) + ", not in the vocabulary" * is_unknown
            marks[i] = f'<mark class="{" ".join(kinds)}" title="{escaped(with_minus(title))}">'
    return marks


WRITERS: dict[type, Any] = {
    Heading: _heading,
    Sentence: _sentence,
    Table: _table,
    Columns: _columns,
    Fold: _fold,
    Matrix: _matrix,
    Shaded: _shaded,
}
