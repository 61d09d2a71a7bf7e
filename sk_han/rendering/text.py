"""Blocks as lines of text, for a terminal."""

from __future__ import annotations

import math
import os
import re
import shutil
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest

from sk_han.rendering.blocks import (
    Bar,
    Block,
    Columns,
    Fold,
    Heading,
    Piece,
    Row,
    Sentence,
    Shaded,
    Span,
    Table,
    Text,
    parts_of,
    plain_text,
)
from sk_han.rendering.colors import LEVELS
from sk_han.rendering.shading import NO_WORDS, Shading, folded, gap, shortened, words_for_each
from sk_han.utils.messages import counted, in_one_line, in_reading_order

OPEN_SENTENCES = 20
BAR_CELLS = 6
NARROWEST = 30
LONGEST_PIECE = 300
# Black on a background of the 256-colour palette, weak to strong: legible on any theme.
_BACKGROUNDS = {
    "attention": (158, 122, 79, 43),
    "toward": (153, 117, 75, 39),
    "against": (223, 216, 215, 208),
}
_EIGHTHS = " ▏▎▍▌▋▊▉"


def lines_of(
    blocks: Iterable[Block], *, width: int | None = None, color: bool | None = None
) -> str:
    """Return blocks as text in lines as wide as the terminal, or of `width` columns.

    Rows of tables are broken at a given width alone. Matrices and charts have no text, and of a
    closed fold there is the title.
    """
    color = terminal_has_color() if color is None else color
    found = "\n".join(_lines(blocks, line_width(width), color, width is None))
    return found.replace("\N{NO-BREAK SPACE}", " ").strip("\n")


def _lines(blocks: Iterable[Block], width: int, color: bool, wide_tables: bool) -> Iterator[str]:
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
            yield from _lines(block.blocks, width, color, wide_tables)
        elif isinstance(block, Fold):
            yield from [""] * block.is_open
            yield from prose(plain_text(block.title), width)
            if block.is_open:
                yield from _lines(block.blocks, width, color, wide_tables)
        elif isinstance(block, Shaded):
            yield from _document(block, width, color)


def _cell(text: Text) -> str:
    return in_one_line("".join(
        "" if isinstance(part, Bar) else str(part.text) if isinstance(part, Span) else part
        for part in parts_of(text)
    ))  # fmt: skip


def table_lines(
    head: Sequence[str], rows: Iterable[Sequence[str]], is_facts: bool = False
) -> list[str]:
    """Return a table as lines: the first column starts at the left, the others end at the right.

    Columns of facts start at the left.
    """
    cells = [*([head] if head else []), *rows]
    widths = [max(map(columns, column)) for column in zip_longest(*cells, fillvalue="")]
    found = []
    for row in cells:
        padded = []
        for place, (cell, width) in enumerate(zip(row, widths, strict=False)):
            blanks = " " * (width - columns(cell))
            if width:  # a column of bars is empty
                padded.append(cell + blanks if is_facts or not place else blanks + cell)
        found.append(f"{'  ' * is_facts}{'  '.join(padded)}".rstrip())
    return found


def _hanging(line: str, width: int) -> Iterator[str]:
    """Yield a line of a table, the rest of a long one indented."""
    if columns(line) <= width:
        yield line
        return
    first, *rest = wrapped([[(word, "")] for word in line.split()], width - 4)
    yield f"  {first}" if line.startswith(" ") else first
    yield from (f"    {each}" for each in rest)


def _document(shaded: Shaded, width: int, color: bool) -> Iterator[str]:
    """Yield the sentences of a document; of several columns the first alone."""
    shading = shaded.columns[0]
    rows = list(shaded.rows)
    runs = folded(shading.sentences, OPEN_SENTENCES)
    shown = [i for run, is_folded in runs if not is_folded for i in run]
    n_words = words_for_each([rows[i] for i in shown])
    number_width = max((len(shading.written(i)) for i in shown), default=0)

    def styled(row: Row, width: int) -> Iterator[str]:
        """Return the lines of a row, of pairs of a text and the ANSI codes before it."""
        chunks = ([_styled(p, shaded, color) for p in chunk] for chunk in chunks_of(row))
        return wrapped(chunks, width)

    for run, is_folded in runs:
        if is_folded:
            yield f"       ... {shading.fold_note(run)}"
            continue
        for i in run:
            bar = _bar(0.0 if shading.is_unclear(i) else shading.share(i))
            margin = f"{shading.written(i):<{number_width}} {bar} "
            text = styled(shortened(rows[i], n_words), width - len(margin))
            yield margin + ("\n" + " " * len(margin)).join(text)
    if shading.sum_note():
        yield from prose(shading.sum_note(), width)
    for row in rows:
        if row.sentence is None:
            yield from styled(row, width)
    if not len(shading.words):
        yield NO_WORDS


def chunks_of(row: Row) -> list[list[Piece]]:
    """Split a row at its blanks; a chunk is a run of pieces without a blank between them.

    The texts are `in_reading_order`. Text that was not read, and the rest of a very long word,
    become a note of their number of characters. A note is a chunk of its own.
    """
    chunks: list[list[Piece]] = [[]]
    for piece in row.pieces:
        if piece.note or piece.unread:
            n_unread = counted(len(piece.text), "character")
            note = piece.text if piece.note else f"[not read: {n_unread}]"
            chunks += [[Piece(note, note=True)], []]
            continue
        text = piece.text if piece.text.isspace() else piece.text[:LONGEST_PIECE]
        for part in re.findall(r"\s+|\S+", in_reading_order(text)):
            if part.isspace():
                chunks.append([])
            else:
                chunks[-1].append(piece._replace(text=part))
        if len(text) < len(piece.text):
            chunks += [[gap(len(piece.text) - len(text), "characters")], []]
    return [chunk for chunk in chunks if chunk]


def _bar(share: float) -> str:
    full, part = divmod(round(8 * BAR_CELLS * share), 8)
    return f"{'█' * full + _EIGHTHS[part].strip():<{BAR_CELLS}}"


def _styled(piece: Piece, shaded: Shaded, color: bool) -> tuple[str, str]:
    shading: Shading = shaded.columns[0]
    if piece.word is None:
        return piece.text, ""
    if color:
        level = shading.levels[piece.word]
        codes = ["4"] if shaded.unknown[piece.word] else []
        if level:
            backgrounds = _BACKGROUNDS[shading.scale(level)]
            step = math.ceil(abs(level) * len(backgrounds) / LEVELS) - 1
            codes += ["38;5;16", f"48;5;{backgrounds[step]}"]
        return piece.text, f"\x1b[{';'.join(codes)}m" if codes else ""
    value, limit = float(shading.words[piece.word]), shading.word_limit
    if not limit or abs(value) < limit / 2:
        return piece.text, ""
    mark = "~" if value < 0 else "*"
    return f"{mark}{piece.text}{mark}", ""


def line_width(width: int | None) -> int:
    """Return a width, by default that of the terminal, or the narrowest if that is wider."""
    return max(NARROWEST, shutil.get_terminal_size().columns if width is None else width)


def terminal_has_color() -> bool:
    """Return whether standard output is a terminal that shows colours."""
    # https://no-color.org: any value but the empty one turns colour off.
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return sys.stdout is not None and sys.stdout.isatty()


def wrapped(chunks: Iterable[list[tuple[str, str]]], width: int) -> Iterator[str]:
    """Yield lines of at most this many columns; a chunk wider than a line breaks anywhere."""
    line, used = "", 0
    for chunk in chunks:
        length = sum(columns(text) for text, _ in chunk)
        if used and used + 1 + length > width:
            yield line
            line, used = "", 0
        elif used:
            line, used = line + " ", used + 1
        for text, code in chunk:
            unbroken = [text] if length <= width else list(text)
            for run in unbroken:
                if used and used + columns(run) > width:
                    yield line
                    line, used = "", 0
                line += f"{code}{run}\x1b[0m" if code else run
                used += columns(run)
    yield line


def prose(text: str, width: int) -> Iterator[str]:
    """Yield the lines of a text, broken at its blanks."""
    return wrapped([[(word, "")] for word in text.split()], width)


def columns(text: str) -> int:
    """Count the terminal cells of a text: an ideograph takes two, an accent none."""
    if text.isascii():
        return len(text)
    return sum(
        0
        if unicodedata.category(character) in ("Mn", "Me", "Cf")
        else 1 + (unicodedata.east_asian_width(character) in "WF")
        for character in text
    )
