"""Blocks as lines of text, for a terminal."""

from __future__ import annotations

import shutil
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest

import numpy as np

from sk_han._rendering.blocks import (
    Bar,
    Block,
    Columns,
    Fold,
    Heading,
    Row,
    Sentence,
    Shaded,
    Span,
    Table,
    Text,
    number,
    plain_text,
    text_parts,
)
from sk_han._rendering.shading import NO_WORDS, Shading, fold_runs
from sk_han._utils.messages import in_one_line, in_reading_order, plural

# Sentences of a long document that are not folded, and cells of a bar.
OPEN_SENTENCES, BAR_CELLS = 20, 6
# A terminal narrower than this is treated as one of this width.
NARROWEST = 30
# Characters of a document are divided among its sentences, but none is cut to fewer than the
# second.
MOST_CHARACTERS, FEWEST_CHARACTERS = 6_000, 120
# Number and longest length of the strongest words below a document.
WORDS, LONGEST_WORD = 5, 40
_EIGHTHS = " ▏▎▍▌▋▊▉"


def format_lines(blocks: Iterable[Block], *, width: int | None = None) -> str:
    """Return blocks as lines of text, as wide as the terminal or of `width` columns.

    Rows of tables are wrapped only to an explicit width. A matrix is left out, and a closed fold
    shows only its title.
    """
    text = "\n".join(_lines(blocks, line_width(width), width is None))
    return text.replace("\N{NO-BREAK SPACE}", " ").strip("\n")


def _lines(blocks: Iterable[Block], width: int, wide_tables: bool) -> Iterator[str]:
    for block in blocks:
        if isinstance(block, Heading):
            yield from [""] * (block.level < 4)
            yield from prose(plain_text(block.text), width)
        elif isinstance(block, Sentence):
            yield from prose(plain_text(block.text), width)
        elif isinstance(block, Table):
            rows = [[_cell(cell) for cell in row] for row in block.rows]
            is_facts = block.kind == "facts"
            for line in table_lines([_cell(cell) for cell in block.head], rows, is_facts):
                yield from [line] if wide_tables else _hanging(line, width)
        elif isinstance(block, Columns):
            yield from _lines(block.blocks, width, wide_tables)
        elif isinstance(block, Fold):
            yield from [""] * block.is_open
            yield from prose(plain_text(block.title), width)
            if block.is_open:
                yield from _lines(block.blocks, width, wide_tables)
        elif isinstance(block, Shaded):
            yield from _document(block, width)


def _cell(text: Text) -> str:
    return in_one_line("".join(
        "" if isinstance(part, Bar) else str(part.text) if isinstance(part, Span) else part
        for part in text_parts(text)
    ))  # fmt: skip


def table_lines(
    head: Sequence[str], rows: Iterable[Sequence[str]], is_facts: bool = False
) -> list[str]:
    """Return the lines of a table, its columns after the first aligned right, except for facts."""
    cells = [*([head] if head else []), *rows]
    widths = [max(map(columns, column)) for column in zip_longest(*cells, fillvalue="")]
    lines = []
    for row in cells:
        padded = []
        for place, (cell, width) in enumerate(zip(row, widths, strict=False)):
            blanks = " " * (width - columns(cell))
            # A column of bars has no text, so it is left out.
            if width:
                padded.append(cell + blanks if is_facts or not place else blanks + cell)
        lines.append(f"{'  ' * is_facts}{'  '.join(padded)}".rstrip())
    return lines


def _hanging(line: str, width: int) -> Iterator[str]:
    """Yield a line of a table, wrapped with a hanging indent."""
    if columns(line) <= width:
        yield line
        return
    first, *rest = prose(line, width - 4)
    yield f"  {first}" if line.startswith(" ") else first
    yield from (f"    {continuation}" for continuation in rest)


def _document(document: Shaded, width: int) -> Iterator[str]:
    """Yield sentences, columns and strongest words of a document, for its first explained class.

    For a long document only the sentences with the largest values are shown, and long sentences are
    cut.
    """
    shading: Shading = document.shadings[0]
    runs = fold_runs(shading.sentences, OPEN_SENTENCES)
    read = [row for row in document.rows if row.place is not None]
    shown = [read[i] for run, is_folded in runs if not is_folded for i in run]
    room = max(FEWEST_CHARACTERS, MOST_CHARACTERS // max(len(shown), 1))
    numbers = max(
        (len(shading.format_value(row.place or 0)) for row in (*shown, *document.table)), default=0
    )

    def lines(row: Row) -> Iterator[str]:
        place = row.place or 0
        bar = _bar(0.0 if shading.is_unclear(place) else shading.share(place))
        margin = f"{shading.format_value(place):<{numbers}} {bar} "
        text = _row_text(row, room)
        for line in prose(text, width - len(margin)):
            yield margin + line
            margin = " " * len(margin)

    for run, is_folded in runs:
        if is_folded:
            yield f"       ... {shading.fold_note(run)}"
        else:
            yield from (line for i in run for line in lines(read[i]))
    yield from (line for row in document.table for line in lines(row))
    yield from prose(shading.sum_note(), width) if shading.sum_note() else ()
    for row in document.rows:
        if row.place is None:
            yield from prose(_row_text(row, room), width)
    yield from prose(strongest_words(document), width) if len(shading.words) else [NO_WORDS]


def strongest_words(document: Shaded) -> str:
    """Return the words with the largest values, with these values, in the order of the text."""
    shading: Shading = document.shadings[0]
    order = np.argsort(-np.abs(shading.words), kind="stable")[:WORDS]
    texts = {piece.word: piece.text for row in document.rows for piece in row.pieces}
    words = [
        f"{in_one_line(texts[i], LONGEST_WORD)} {number(float(shading.words[i]), shading.signed)}"
        for i in sorted(order.tolist())
        if shading.levels[i]
    ]
    return f"Strongest words: {', '.join(words)}" if words else ""


def _row_text(row: Row, room: int) -> str:
    """Return the first `room` characters of a row, and how many are left out or were not read."""
    text = "".join(piece.text for piece in row.pieces if not piece.unread)
    n_unread = sum(len(piece.text) for piece in row.pieces if piece.unread)
    rest = f" \N{HORIZONTAL ELLIPSIS} {plural(len(text) - room, 'more character')}"
    unread = f" [not read: {plural(n_unread, 'character')}]"
    return in_reading_order(text[:room]) + rest * (len(text) > room) + unread * bool(n_unread)


def _bar(share: float) -> str:
    full, part = divmod(round(8 * BAR_CELLS * share), 8)
    return f"{'█' * full + _EIGHTHS[part].strip():<{BAR_CELLS}}"


def line_width(width: int | None) -> int:
    """Return a width, by default that of the terminal, but at least `NARROWEST`."""
    return max(NARROWEST, shutil.get_terminal_size().columns if width is None else width)


def prose(text: str, width: int) -> Iterator[str]:
    """Wrap a text at blanks; a word wider than a line is broken anywhere."""
    line, used = "", 0
    for word in text.split():
        length = columns(word)
        if used and used + 1 + length > width:
            yield line
            line, used = "", 0
        elif used:
            line, used = line + " ", used + 1
        for run in [word] if length <= width else word:
            if used and used + columns(run) > width:
                yield line
                line, used = "", 0
            line, used = line + run, used + columns(run)
    yield line


def columns(text: str) -> int:
    """Return the width of a text in terminal cells: an ideograph takes two, an accent none."""
    if text.isascii():
        return len(text)
    return sum(
        0
        if unicodedata.category(character) in ("Mn", "Me", "Cf")
        else 1 + (unicodedata.east_asian_width(character) in "WF")
        for character in text
    )
