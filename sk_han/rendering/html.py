"""HTML: the one place that escapes, tables of rows, numbers, matrices."""

from __future__ import annotations

import bisect
import itertools
import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sk_han.rendering.shading import Explained, brief, shades, style, stylesheet, themed_axes
from sk_han.utils.messages import counted, in_one_line, in_reading_order, shortened_apart, visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes


EXCERPT = 160  # characters


LONGEST = 1_500  # characters of a text that is not explained


def page(body: str, title: str, full_page: bool, kind: str = "") -> str:
    """Return a body with the style sheet, as a fragment or a full page.

    Pages of a kind have styles of their own, for them alone, since a notebook may hold several.
    """
    classes, more_style = "sk-han", ""
    if kind:
        classes += f" han-kind-{kind}"
        more_style = style(kind).replace(".sk-han", f".sk-han:where(.han-kind-{kind})")
    styles = f"<style>\n{stylesheet()}{more_style}</style>"
    if not full_page:
        return f'{styles}\n<div class="{classes}">{body}</div>\n'
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{title}</title>\n{styles}\n</head>\n"
        f'<body class="{classes}">\n{body}\n</body>\n</html>\n'
    )


def escaped(text: Any) -> str:
    """Return text, or the `str` of a label, escaped for HTML, as characters that UTF-8 can hold."""
    # A parser turns a raw carriage return into a line feed, and offsets would be wrong.
    return escape(visible(str(text))).replace("\r", "&#13;")


def isolated(label: Any) -> str:
    """Return a label whose writing direction does not affect the words around it."""
    return f"<bdi>{escaped(label)}</bdi>"


def excerpt(text: str, longest: int) -> str:
    """Return the beginning of a text in one line, escaped."""
    words = " ".join(text[: 2 * longest].split())
    return escaped(words[:longest] + ("\N{HORIZONTAL ELLIPSIS}" if len(words) > longest else ""))


def entry(
    head: str,
    text: str | None,
    content: str | None = None,
    *,
    longest: int = LONGEST,
    link: str = "",
    is_open: bool = False,
) -> str:
    """Return a document that opens: a head with the beginning of its text, and below its content.

    Without content that is the text, of a very long one the first characters.
    """
    if content is None:
        if text is None:
            return f'<div class="han-entry">{head}</div>'
        rest = len(text) - longest
        whole = escaped(text[:longest])
        if rest > 0:
            left_out = f"and {counted(rest, 'more character')}"
            whole += f'\N{HORIZONTAL ELLIPSIS} <span class="han-small">{left_out}</span>'
        content = f'<div class="han-whole">{whole}</div>{link}'
    beginning = "" if text is None else excerpt(text, EXCERPT) or "no text"
    head = f'{head} <span class="han-small han-excerpt"><bdi>{beginning}</bdi></span>'
    return fold(head, content, "han-entry", is_open=is_open)


def more(n: int, what: str = "") -> str:
    """Say how many things are not shown, if there are any."""
    things = counted(n, f"more {what}") if what else f"{n:,} more"
    return f'<p class="han-small">and {things}</p>' if n > 0 else ""


def fold(summary: str, content: str, kind: str = "", *, is_open: bool = False) -> str:
    """Return content that unfolds under its summary; `kind` is a class of the style sheet."""
    classes = f' class="{kind}"' if kind else ""
    state = " open" if is_open else ""
    return f"<details{classes}{state}><summary>{summary}</summary>{content}</details>"


def table(head: Iterable[str], rows: Iterable[Sequence[str]], kind: str = "") -> str:
    """Return a table of markup; the first cell of each row names it."""
    classes = f' class="{kind}"' if kind else ""
    heads = "".join(f'<th scope="col">{name}</th>' for name in head)
    body = "".join(
        f'<tr><th scope="row">{name}</th>{"".join(f"<td>{cell}</td>" for cell in cells)}</tr>'
        for name, *cells in rows
    )
    return f"<table{classes}><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"


def brief_number(value: float, signed: bool = False) -> str:
    """Return a number of two digits, with a minus sign that is as wide as the plus."""
    return with_minus(brief(value, signed))


def bar(share: float, scale: str | None = None, threshold: float | None = None) -> str:
    """Return a bar filled to this share, in the colour of a scale, with a tick at a threshold."""
    kind = f' class="han-{scale}"' if scale else ""
    tick = ""
    if threshold is not None:
        tick = f'<b style="inset-inline-start:{100 * min(threshold, 1):.1f}%"></b>'
    return f'<span class="han-bar"><i{kind} style="width:{100 * share:.1f}%"></i>{tick}</span>'


def with_minus(text: str) -> str:
    """Replace hyphens by minus signs, which are as wide as the plus."""
    return text.replace("-", "\N{MINUS SIGN}")


INCHES_PER_NAME = 0.32


_LONGEST_NAME = 40  # characters


LARGEST_FIGURE = 40.0  # inches: beyond it, names of giants are drawn smaller


def plot_matrix(
    shares: NDArray[np.float64],
    rows: Sequence[Any],
    columns: Sequence[Any],
    ax: Axes | None,
    door: str,
) -> Axes:
    """Draw shares from 0 to 1, (n_rows, n_columns), as shades; `door` asks for matplotlib."""
    shown = shortened_apart([in_one_line(name) for name in (*columns, *rows)], _LONGEST_NAME)
    margin = 1.5 + 0.1 * max(map(len, shown), default=0)  # inches, for names beside the shades
    size = [min(margin + INCHES_PER_NAME * len(names), LARGEST_FIGURE) for names in (columns, rows)]
    ax, theme = themed_axes(ax, door, size)
    from matplotlib.colors import LinearSegmentedColormap

    scale = LinearSegmentedColormap.from_list(
        "attention", [theme.page, *shades(theme, "attention")]
    )
    if shares.size:
        ax.imshow(shares, cmap=scale, vmin=0, vmax=1, aspect="auto")
    ax.set_xticks(range(len(columns)), shown[: len(columns)], rotation=90, parse_math=False)
    ax.set_yticks(range(len(rows)), shown[len(columns) :], parse_math=False)
    ax.xaxis.tick_top()
    ax.tick_params(length=0, labelcolor=theme.text)
    ax.spines[:].set_color(theme.rule)
    return ax


# Most words that a rendering without folding shows of a document.
WORDS_SHOWN = 1000


FEWEST_WORDS = 20


# Neighbours shown on each side of a heavy word.
AROUND = 5


LONGEST_PIECE = 300


class Piece(NamedTuple):
    """Text of one word, or (`word` is None) text between words, or a note on the text."""

    text: str
    word: int | None = None
    unread: bool = False
    note: bool = False


class Row(NamedTuple):
    """A sentence and the text after it; `sentence` is None for text outside all sentences."""

    sentence: int | None
    pieces: list[Piece]


def rows_of(explanation: Explained) -> list[Row]:
    """Cut the text of an explanation into rows; their pieces, joined, are the whole text.

    Text between two sentences belongs to the row of the first one, text before the first sentence
    to its row. In a truncated document, the text after the last sentence that was read is a row
    of its own.
    """
    text, spans = explanation.text, explanation.sentence_spans.tolist()
    if not spans:
        unread = _is_unread(explanation, text)
        return [Row(None, [Piece(text, unread=unread)])] if text else []
    starts = [0, *(start for start, _ in spans[1:]), len(text)]
    rest = text[spans[-1][1] :]
    if _is_unread(explanation, rest):
        starts[-1] = len(text) - len(rest.lstrip())
    words = explanation.word_spans.tolist()
    numbers = np.searchsorted(explanation.sentence_of_word, np.arange(len(spans) + 1)).tolist()
    rows = []
    for i, (first, last) in enumerate(itertools.pairwise(numbers)):
        pieces, at = [], starts[i]
        for word in range(first, last):
            start, end = words[word]
            pieces += [Piece(text[at:start]), Piece(text[start:end], word)]
            at = end
        rest = text[at : spans[i][1]]
        pieces.append(Piece(rest, unread=_is_unread(explanation, rest)))
        pieces.append(Piece(text[max(at, spans[i][1]) : starts[i + 1]]))
        rows.append(Row(i, [piece for piece in pieces if piece.text]))
    if starts[-1] < len(text):
        rows.append(Row(None, [Piece(text[starts[-1] :], unread=True)]))
    return rows


def chunks_of(row: Row) -> list[list[Piece]]:
    """Split a row at its blanks; a chunk is a run of pieces without a blank between them.

    The texts are `in_reading_order`. Text that was not read, and the rest of a very long word,
    become a note of their number of characters: renderings that need chunks break lines
    themselves, and have little room. A note is a chunk of its own.
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
            chunks += [[_gap(len(piece.text) - len(text), "characters")], []]
    return [chunk for chunk in chunks if chunk]


def words_for_each(rows: Sequence[Row]) -> int:
    """Compute how many words to show of each of these rows.

    Rows that have no more than `WORDS_SHOWN` words in all are shown whole.
    """
    lengths = [sum(piece.word is not None for piece in row.pieces) for row in rows]
    if sum(lengths) <= WORDS_SHOWN:
        return max(lengths, default=0)
    return max(FEWEST_WORDS, WORDS_SHOWN // len(rows))


def shortened(row: Row, weights: NDArray[Any], n_words: int) -> Row:
    """Shorten a row of more than `n_words` words to its heaviest ones with their neighbours.

    `weights`, shape (n_words of the document,), are those of all words. Each gap becomes a note
    with its number of words; text that was not read stays.
    """
    words = [piece.word for piece in row.pieces if piece.word is not None]
    if len(words) <= n_words:
        return row
    weights = weights[words[0] : words[-1] + 1]
    # How many heavy words fit depends on whether they share neighbours.
    n_heavy = bisect.bisect(
        range(n_words),
        n_words,
        key=lambda n: sum(
            len(run) for run, is_folded in folded(weights, n, AROUND) if not is_folded
        ),
    )
    runs = folded(weights, n_heavy - 1, AROUND)
    hidden = {words[i] for run, is_folded in runs if is_folded for i in run}
    notes = {words[run[0]]: _gap(len(run), "words") for run, is_folded in runs if is_folded}
    pieces, word = [], words[0]
    for piece in row.pieces:
        word = word if piece.word is None else piece.word
        if piece.word in notes:
            pieces.append(notes[piece.word])
        if word not in hidden or piece.unread:
            pieces.append(piece)
    return Row(row.sentence, pieces)


def _gap(n: int, what: str) -> Piece:
    return Piece(f"\N{HORIZONTAL ELLIPSIS} {n:,} {what} \N{HORIZONTAL ELLIPSIS}", note=True)


def folded(weights: NDArray[Any], n_open: int, around: int = 0) -> list[tuple[range, bool]]:
    """Split sentences or words into runs, each with whether it is folded.

    The `n_open` of the largest magnitude stay open, with `around` neighbours on each side; the
    runs between them are folded. A run of one or two stays open too, since a fold takes as much
    room.
    """
    closed = np.ones(len(weights), dtype=bool)
    heaviest = np.argsort(-np.abs(weights), kind="stable")[:n_open]
    near = heaviest[:, None] + np.arange(-around, around + 1)
    closed[np.clip(near, 0, max(0, len(weights) - 1))] = False
    edges = [0, *(np.flatnonzero(np.diff(closed)) + 1).tolist(), len(weights)]
    return [
        (range(start, stop), bool(closed[start]) and stop - start > 2)
        for start, stop in itertools.pairwise(edges)
        if start < stop
    ]


def _is_unread(explanation: Explained, rest: str) -> bool:
    """Return whether this end of a sentence or text has words that a limit cut off."""
    return explanation.truncated and any(map(str.isalnum, rest))
