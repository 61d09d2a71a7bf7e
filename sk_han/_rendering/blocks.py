"""What results show, as blocks: headings, sentences, tables, shaded text, matrices.

`sk_han._rendering.html` and `sk_han._rendering.text` write blocks. Texts are plain: escaping is the
business of the writer.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sk_han._utils.messages import counted, in_one_line, shortened, shortened_apart

EXCERPT = 100  # characters of the beginning of a text
LONGEST_NAME = 24  # characters: the style sheet cuts wider ones than 15rem at their end
LONGEST_SPAN = 200
LONGEST = 1_500  # characters of a text that is not explained


class Span(NamedTuple):
    """A part of a text that is set apart, a label for example, whose direction is its own.

    Of the kinds "label", "strong", "number", "small", "verdict", "code", "excerpt", "sub" and
    "link"; "p6", "m6" and "w6" are shades of the colour scales.
    """

    text: object
    kind: str = "label"
    title: str = ""


class Bar(NamedTuple):
    """A bar filled to a share, in the colour of a scale, with a tick at a threshold."""

    share: float
    scale: str = ""
    threshold: float | None = None


Text: TypeAlias = str | Span | Bar | Sequence[Any]  # the last of any of the first


@dataclass(frozen=True)
class Heading:
    """A heading; the first one of a page is its title too."""

    text: Text
    level: int = 2


@dataclass(frozen=True)
class Sentence:
    """A paragraph; its kind is a class of the style sheet."""

    text: Text
    kind: str = ""


@dataclass(frozen=True)
class Table:
    """Rows of texts and bars, of which the first cell names the row.

    Of the kind "facts" all columns are aligned at their start, else those after the first at
    their end.
    """

    rows: Sequence[Sequence[Text]]
    head: Sequence[Text] = ()
    kind: str = ""


@dataclass(frozen=True)
class Columns:
    """Blocks side by side, where there is room."""

    blocks: Sequence[Block]


@dataclass(frozen=True)
class Fold:
    """Blocks that unfold under a title. In a terminal, those of a closed fold are left out."""

    title: Text
    blocks: Sequence[Block]
    is_open: bool = False
    kind: str = ""


class Piece(NamedTuple):
    """Text of one word, or (`word` is None) text between words."""

    text: str
    word: int | None = None
    unread: bool = False


class Row(NamedTuple):
    """A sentence and the text after it, or a column of a table; text outside has no place."""

    place: int | None  # among the values of a document: those of sentences, then of columns
    pieces: list[Piece]


@dataclass(frozen=True)
class Shaded:
    """A document with shaded words and its columns, once for each class that it is explained for.

    `shadings` have the values for each class (`sk_han._rendering.shading.Shading`), `names` the
    heads of several; `unknown`, shape (n_words,), marks words without an entry in the vocabulary.
    """

    rows: Sequence[Row]
    shadings: Sequence[Any]
    unknown: NDArray[np.bool_]
    names: Sequence[Text] = ()
    table: Sequence[Row] = ()


@dataclass(frozen=True)
class Matrix:
    """Cells shaded by their shares, shape (n_rows, n_columns); `counts` stand in them.

    With `diagonal`, cells on it are right and others wrong.
    """

    rows: Sequence[Any]
    columns: Sequence[Any]
    shares: NDArray[np.float64]
    axes: tuple[str, str]
    counts: NDArray[np.int64] | None = None
    diagonal: bool = False


Block: TypeAlias = Heading | Sentence | Table | Columns | Fold | Shaded | Matrix


def parts_of(text: Text) -> Sequence[Any]:
    """Return the parts of a text, of which very long ones, such as labels, lack their middle."""
    parts = [text] if isinstance(text, (str, Span, Bar)) else text
    return [
        part._replace(text=shortened(str(part.text), LONGEST_SPAN)) if isinstance(part, Span)
        else shortened(part, 2 * LONGEST) if isinstance(part, str)
        else part
        for part in parts
    ]  # fmt: skip


def plain_text(text: Text) -> str:
    """Return a text in one line, without bars and what sets its parts apart."""
    parts = (part.text if isinstance(part, Span) else part for part in parts_of(text))
    return in_one_line("".join(str(part) for part in parts if not isinstance(part, Bar)))


def names(labels: Iterable[object]) -> list[Span]:
    """Return labels that may be cut, each with a title that has all of it."""
    texts = [str(label) for label in labels]
    cut = shortened_apart(texts, LONGEST_NAME)
    titles = (shortened(text, LONGEST_SPAN) for text in texts)
    return [Span(name, "name", title) for title, name in zip(titles, cut, strict=True)]


def excerpt(text: str) -> list[Any]:
    """Return the beginning of a text in one line, to follow a title until it is opened."""
    words = " ".join(text[: 2 * EXCERPT].split())
    rest = "\N{HORIZONTAL ELLIPSIS}" * (len(words) > EXCERPT)
    return [" ", Span(f"\N{EN DASH} {words[:EXCERPT] or 'no text'}{rest}", "excerpt")]


def entry(
    head: Text,
    text: str | None,
    content: Sequence[Block] = (),
    *,
    longest: int = LONGEST,
    is_open: bool = False,
) -> Block:
    """Return a document that opens: a head with the beginning of its text, and below its content.

    Without content that is the text, of a very long one the first characters.
    """
    if text is None and not content:
        return Sentence(head, "han-entry")
    if not content and text is not None:
        content = [Sentence(Span(text[:longest]), "han-whole")]
        content += more(len(text) - longest, "character")
    title = [*parts_of(head), *([] if text is None else excerpt(text))]
    return Fold(title, content, is_open, "han-entry")


def more(n: int, what: str) -> list[Block]:
    """Say how many things are not shown, if there are any."""
    return [Sentence(f"and {counted(n, f'more {what}')}", "han-small")] if n > 0 else []


def number(value: float, signed: bool) -> str:
    """Write a value with three decimals, or with two digits or none if it is small or large."""
    # Below, three decimals round to one significant digit or none.
    if not 0.00995 <= abs(value) < 99.95:
        return brief(value, signed)
    return format(value, "+.3f" if signed else ".3f")


def brief(value: float, signed: bool = False) -> str:
    """Write a value with two significant digits but at most six decimals, and zero without sign."""
    if abs(value) < 5e-7:
        return "0"
    sign = "+" if signed else ""
    if abs(value) >= 99.5:
        return format(value, f"{sign},.0f")
    written = format(value, f"{sign}.2g")
    return format(value, f"{sign}.6f") if "e" in written else written


def decimal(value: float | None, places: int = 3) -> str:
    """Write a number, what rounds to 0 without a sign; a dash where there is none."""
    if value is None or math.isnan(value):
        return "\N{EN DASH}"
    return f"{round(value, places) + 0.0:.{places}f}"


def percent(share: float, decimals: int | None = None) -> str:
    """Write a share as a percentage, by default with a decimal where it is near 0 or 1.

    What is not the whole is not written as such.
    """
    if decimals is None:
        if 0 < abs(share) < 0.001:
            return "below 0.1\N{NO-BREAK SPACE}%"
        decimals = 1 if 0 < abs(share) < 0.0195 or 0.995 <= share < 1 else 0
    written = f"{100 * share + 0.0:.{decimals}f}"
    if share < 1 and float(written) == 100:
        return f"above {99.9 if decimals else 99}\N{NO-BREAK SPACE}%"
    return with_minus(f"{written}\N{NO-BREAK SPACE}%")


def points(difference: float) -> str:
    """Write a difference of two shares in percentage points, with its sign."""
    decimals = 2 if 0 < abs(difference) < 0.0005 else 1
    return with_minus(f"{100 * difference + 0.0:+.{decimals}f}")


def with_minus(text: str) -> str:
    """Replace hyphens by minus signs, which are as wide as the plus."""
    return text.replace("-", "\N{MINUS SIGN}")
