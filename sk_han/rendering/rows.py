"""A document cut into rows, one for each sentence, and each row into words and what is between."""

from __future__ import annotations

import itertools
import re
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sk_han.explanation import DocumentExplanation

__all__ = ["Piece", "Row", "chunks_of", "folded", "rows_of", "visible"]

# C0 controls have pictures in Unicode. Tab and line breaks are layout and stay.
_PICTURES = {code: 0x2400 + code for code in range(0x20) if chr(code) not in "\t\n\r"}
_PICTURES[0x7F] = 0x2421
_WITHOUT_PICTURE = re.compile("[\x80-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")


class Piece(NamedTuple):
    """Text of one word, or (`word` is None) what stands between words."""

    text: str
    word: int | None = None
    unread: bool = False


class Row(NamedTuple):
    """A sentence and what follows it; `sentence` is None for text outside all sentences."""

    sentence: int | None
    pieces: list[Piece]


def visible(text: str) -> str:
    r"""Replace control characters and lone surrogates by visible ones, one for one.

    So text can be encoded in UTF-8, and none of it acts on a terminal or a browser.

    Examples
    --------
    >>> from sk_han.rendering.rows import visible
    >>> visible("a\x00b\x1b[31m")
    'a␀b␛[31m'
    """
    return _WITHOUT_PICTURE.sub("\ufffd", text.translate(_PICTURES))


def rows_of(explanation: DocumentExplanation) -> list[Row]:
    """Cut the text of an explanation into rows, whose pieces give the whole text again.

    What stands between two sentences belongs to the row of the first; what precedes the first
    sentence belongs to it. Of a truncated document, the rest after the last sentence that was
    read is a row of its own.
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
    """Split a row at its blanks: what stands in one chunk has no blank between.

    The texts are made `visible`, and what was not read becomes its number of characters: only
    renderings that break lines themselves ask for chunks, and they have little room.
    """
    chunks: list[list[Piece]] = [[]]
    for piece in row.pieces:
        if piece.unread:
            note = f"[not read: {len(piece.text):,} characters]"
            chunks += [[piece._replace(text=note)], []]
            continue
        for part in re.findall(r"\s+|\S+", visible(piece.text)):
            if part.isspace():
                chunks.append([])
            else:
                chunks[-1].append(piece._replace(text=part))
    return [chunk for chunk in chunks if chunk]


def folded(weights: NDArray[Any], n_open: int) -> list[tuple[range, bool]]:
    """Runs of consecutive sentences, each with whether it is folded away.

    The `n_open` sentences of the largest magnitude stay open, in their place; what lies between
    them is folded. Runs of one or two are not: a fold would take as much room.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_han.rendering.rows import folded
    >>> folded(np.array([0.5, 0.1, 0.1, 0.1, 0.2]), n_open=2)
    [(range(0, 1), False), (range(1, 4), True), (range(4, 5), False)]
    """
    closed = np.ones(len(weights), dtype=bool)
    closed[np.argsort(-np.abs(weights), kind="stable")[:n_open]] = False
    edges = [0, *(np.flatnonzero(np.diff(closed)) + 1).tolist(), len(weights)]
    return [
        (range(start, stop), bool(closed[start]) and stop - start > 2)
        for start, stop in itertools.pairwise(edges)
        if start < stop
    ]


def _is_unread(explanation: DocumentExplanation, rest: str) -> bool:
    """Whether this end of a sentence or text was cut off, not just closing punctuation."""
    return explanation.truncated and any(map(str.isalnum, rest))
