"""Blocks, of which pages and terminal output are made, and the formats of numbers in them.

`sk_han._rendering.html` and `sk_han._rendering.text` write blocks. Texts of blocks are plain text;
the writer escapes them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sk_han._utils.messages import in_one_line, plural, shorten, shorten_apart

# Lengths in characters: of the beginning of a text in a title, of a label in a table, of other
# labels, and of a text without explanation. The style sheet cuts labels wider than 15rem at their
# end, but their ends may be all that differs.
EXCERPT = 100
LONGEST_NAME = 24
LONGEST_SPAN = 200
LONGEST = 1_500


class Span(NamedTuple):
    """A part of a text with its own style, such as a label, and its own direction of writing.

    Kinds are "label", "strong", "number", "small", "verdict", "code", "excerpt", "sub" and "link";
    "p6", "m6" and "w6" are shades of the colour scales.
    """

    text: object
    kind: str = "label"
    title: str = ""


class Bar(NamedTuple):
    """A bar filled to a share, in the colour of a scale, with a tick at a threshold."""

    share: float
    scale: str = ""
    threshold: float | None = None


# A sequence holds strings, spans and bars.
Text: TypeAlias = str | Span | Bar | Sequence[Any]


@dataclass(frozen=True)
class Heading:
    """A heading; the first one of a page is also its title."""

    text: Text
    level: int = 2


@dataclass(frozen=True)
class Sentence:
    """A paragraph; `kind` is a class of the style sheet."""

    text: Text
    kind: str = ""


@dataclass(frozen=True)
class Table:
    """Rows of texts and bars; the first cell of a row is its name.

    Columns after the first are aligned at their end, or at their start if the kind is "facts".
    """

    rows: Sequence[Sequence[Text]]
    head: Sequence[Text] = ()
    kind: str = ""


@dataclass(frozen=True)
class Columns:
    """Blocks side by side, if the page is wide enough."""

    blocks: Sequence[Block]


@dataclass(frozen=True)
class Fold:
    """Blocks that unfold under a title. In a terminal, a closed fold shows only its title."""

    title: Text
    blocks: Sequence[Block]
    is_open: bool = False
    kind: str = ""


class Piece(NamedTuple):
    """Text of one word, or text between words if `word` is None."""

    text: str
    word: int | None = None
    unread: bool = False


class Row(NamedTuple):
    """A sentence and the text after it, a column of a table, or text outside of all sentences."""

    # Position among the values of a document: those of sentences, then those of columns. None for
    # text outside.
    place: int | None
    pieces: list[Piece]


@dataclass(frozen=True)
class Shaded:
    """A document with shaded words and its columns, once for each class that is explained.

    `shadings` has a `sk_han._rendering.shading.Shading` for each class, and `names` their heads if
    there are several. `unknown`, shape (n_words,), marks out-of-vocabulary words.
    """

    rows: Sequence[Row]
    shadings: Sequence[Any]
    unknown: NDArray[np.bool_]
    names: Sequence[Text] = ()
    table: Sequence[Row] = ()


@dataclass(frozen=True)
class Matrix:
    """Cells shaded by their shares, (n_rows, n_columns), with `counts` as their text.

    With `diagonal`, cells on the diagonal are right predictions and others wrong ones.
    """

    rows: Sequence[Any]
    columns: Sequence[Any]
    shares: NDArray[np.float64]
    axes: tuple[str, str]
    counts: NDArray[np.int64] | None = None
    diagonal: bool = False


Block: TypeAlias = Heading | Sentence | Table | Columns | Fold | Shaded | Matrix


def text_parts(text: Text) -> Sequence[Any]:
    """Return the parts of a text; very long parts, such as labels, lose their middle."""
    parts = [text] if isinstance(text, (str, Span, Bar)) else text
    return [
        part._replace(text=shorten(str(part.text), LONGEST_SPAN)) if isinstance(part, Span)
        else shorten(part, 2 * LONGEST) if isinstance(part, str)
        else part
        for part in parts
    ]  # fmt: skip


def plain_text(text: Text) -> str:
    """Return a text in one line, without bars and styles."""
    parts = (part.text if isinstance(part, Span) else part for part in text_parts(text))
    return in_one_line("".join(str(part) for part in parts if not isinstance(part, Bar)))


def names(labels: Iterable[object]) -> list[Span]:
    """Return labels as spans that may be cut, with titles that show more of them."""
    texts = [str(label) for label in labels]
    cut = shorten_apart(texts, LONGEST_NAME)
    titles = (shorten(text, LONGEST_SPAN) for text in texts)
    return [Span(name, "name", title) for title, name in zip(titles, cut, strict=True)]


def excerpt(text: str) -> list[Any]:
    """Return the beginning of a text in one line, which a closed fold shows after its title."""
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
    """Return a document as a fold: a title with the beginning of its text, and its content.

    Without content, the fold holds the text, up to `longest` characters.
    """
    if text is None and not content:
        return Sentence(head, "han-entry")
    if not content and text is not None:
        content = [Sentence(Span(text[:longest]), "han-whole")]
        content += more(len(text) - longest, "character")
    title = [*text_parts(head), *([] if text is None else excerpt(text))]
    return Fold(title, content, is_open, "han-entry")


def more(n: int, what: str) -> list[Block]:
    """Return a sentence on how many things are not shown, if there are any."""
    return [Sentence(f"and {plural(n, f'more {what}')}", "han-small")] if n > 0 else []


def number(value: float, signed: bool) -> str:
    """Format a value with three decimals, or with `brief` if it is small or large."""
    # Below the limit, three decimals would have one significant digit or none.
    if not 0.00995 <= abs(value) < 99.95:
        return brief(value, signed)
    return format(value, "+.3f" if signed else ".3f")


def brief(value: float, signed: bool = False) -> str:
    """Format a value with two significant digits and at most six decimals, zero without a sign."""
    if abs(value) < 5e-7:
        return "0"
    sign = "+" if signed else ""
    if abs(value) >= 99.5:
        return format(value, f"{sign},.0f")
    text = format(value, f"{sign}.2g")
    return format(value, f"{sign}.6f") if "e" in text else text


def amount(value: float) -> str:
    """Format a user's number with four significant digits, from 1,000 on without decimals."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def decimal(value: float | None, places: int = 3) -> str:
    """Format a number, without a sign if it rounds to 0; None and NaN become a dash."""
    if value is None or math.isnan(value):
        return "\N{EN DASH}"
    return f"{round(value, places) + 0.0:.{places}f}"


def percent(share: float, decimals: int | None = None) -> str:
    """Format a share as a percentage, by default with a decimal if it is near 0 or 1.

    A share below 1 is never shown as 100 %.
    """
    if decimals is None:
        if 0 < abs(share) < 0.001:
            return "below 0.1\N{NO-BREAK SPACE}%"
        decimals = 1 if 0 < abs(share) < 0.0195 or 0.995 <= share < 1 else 0
    text = f"{100 * share + 0.0:.{decimals}f}"
    if share < 1 and float(text) == 100:
        return f"above {99.9 if decimals else 99}\N{NO-BREAK SPACE}%"
    return with_minus(f"{text}\N{NO-BREAK SPACE}%")


def points(difference: float) -> str:
    """Format a difference of two shares in percentage points, with its sign."""
    decimals = 2 if 0 < abs(difference) < 0.0005 else 1
    return with_minus(f"{100 * difference + 0.0:+.{decimals}f}")


def with_minus(text: str) -> str:
    """Replace hyphens by minus signs, which are as wide as a plus sign."""
    return text.replace("-", "\N{MINUS SIGN}")
