"""A document cut into rows, one for each sentence, and each row into words and gaps."""

from __future__ import annotations

import bisect
import itertools
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sk_han.rendering.protocols import Explained
from sk_han.utils.counts import counted
from sk_han.utils.visible_text import in_reading_order

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
