"""Tagged sentences as lines for a terminal and as HTML: functions of tokens and labels alone."""

from __future__ import annotations

from typing import Any, NamedTuple

from sk_han.rendering.explanation_text import line_width, terminal_has_color, wrapped
from sk_han.rendering.markup import escaped, isolated, page
from sk_han.utils.counts import counted
from sk_han.utils.visible_text import in_one_line

# Black on backgrounds of the 256-colour palette, and shades of the style sheet, for labels in turn.
_CODES = ("38;5;16;48;5;79", "38;5;16;48;5;117", "38;5;16;48;5;215", "38;5;16;48;5;183")
_SHADES = ("p4", "m4", "w4", "p7", "m7", "w7")


class _Piece(NamedTuple):
    """Neighbouring tokens with one label; None outside of chunks."""

    label: str | None
    words: list[str]


def tagged_text(
    sentences: Any, labels: Any, *, color: bool | None = None, width: int | None = None
) -> str:
    """Return tagged sentences as lines of text.

    Chunks of the labels ``B-x`` and ``I-x`` stand in brackets with their name after them, other
    labels after a slash; ``O`` is not shown. Control characters are replaced by visible ones.

    Parameters
    ----------
    sentences : sequence of sequences of tokens
        As in `sk_han.SequenceTagger.fit`; of tuples the word is shown.
    labels : sequence of sequences of labels
        As `sk_han.SequenceTagger.predict` returns them.
    color : bool, default=None
        Whether to colour labels; None for a terminal that can.
    width : int, default=None
        Columns of a line; None for those of the terminal.

    Raises
    ------
    ValueError
        If a sentence has another number of labels than of tokens.

    Examples
    --------
    >>> from sk_han.tagging import tagged_text
    >>> sentence = ["New", "York", "is", "big"]
    >>> print(tagged_text([sentence], [["B-NP", "I-NP", "B-VP", "O"]], color=False))
    [New York]NP [is]VP big
    >>> print(tagged_text([sentence], [["NNP", "NNP", "VBZ", "JJ"]], color=False))
    New/NNP York/NNP is/VBZ big/JJ
    """
    color = terminal_has_color() if color is None else color
    width = line_width(width)
    found, number = _read(sentences, labels)
    chunked = any(str(tag)[:2] in ("B-", "I-") for tags in labels for tag in tags)
    lines: list[str] = []
    for pieces in found:
        chunks = [chunk for piece in pieces for chunk in _chunks(piece, chunked, color, number)]
        lines += wrapped(chunks, width)
    return "\n".join(lines)


def tagged_html(sentences: Any, labels: Any, *, full_page: bool = True) -> str:
    """Return tagged sentences as HTML, without scripts or outside assets.

    Parameters
    ----------
    sentences, labels
        As of `tagged_text`.
    full_page : bool, default=True
        Whether it is a page, or a fragment for a notebook.

    Examples
    --------
    >>> from sk_han.tagging import tagged_html
    >>> "<bdi>NAME</bdi>" in tagged_html([["Anna", "sleeps"]], [["B-NAME", "O"]])
    True
    """
    found, number = _read(sentences, labels)
    rows = []
    for pieces in found:
        marked = " ".join(_marked(piece, number) for piece in pieces)
        rows.append(f'<p class="han-sentence" dir="auto">{marked}</p>')
    return page("\n".join(rows), "Tagged sentences", full_page)


def _read(sentences: Any, labels: Any) -> tuple[list[list[_Piece]], dict[str, int]]:
    """Return the pieces of each sentence, and the labels with numbers in alphabetical order."""
    if len(sentences) != len(labels):
        raise ValueError(
            f"Given are {counted(len(sentences), 'sentence')} and labels of {len(labels):,}."
        )
    found = []
    for i, (tokens, tags) in enumerate(zip(sentences, labels, strict=True)):
        if len(tokens) != len(tags):
            raise ValueError(
                f"Sentence {i} has {counted(len(tokens), 'token')} and "
                f"{counted(len(tags), 'label')}: give each token one label."
            )
        words = [token if isinstance(token, str) else token[0] for token in tokens]
        found.append(_pieces(words, [str(tag) for tag in tags]))
    named = {piece.label for pieces in found for piece in pieces if piece.label is not None}
    return found, {label: number for number, label in enumerate(sorted(named))}


def _pieces(words: list[str], tags: list[str]) -> list[_Piece]:
    """Join the tokens of a chunk; an ``I-`` without a beginning begins one."""
    pieces: list[_Piece] = []
    chunk = None  # the name of the one that may go on
    for word, tag in zip(words, tags, strict=True):
        name = tag[2:] if tag[:2] in ("B-", "I-") else None
        if tag[:2] == "I-" and chunk == name:
            pieces[-1].words.append(word)
        elif tag == "O":
            pieces.append(_Piece(None, [word]))
        else:
            pieces.append(_Piece(tag if name is None else name, [word]))
        chunk = name
    return pieces


def _chunks(
    piece: _Piece, chunked: bool, color: bool, number: dict[str, int]
) -> list[list[tuple[str, str]]]:
    words = [in_one_line(word) or " " for word in piece.words]
    if piece.label is None:
        return [[(word, "")] for word in words]
    label = in_one_line(piece.label)
    if color:
        code = f"\x1b[{_CODES[number[piece.label] % len(_CODES)]}m"
        chunks = [[(word, code)] for word in words]
        chunks[-1].append((f" {label}", "\x1b[2m"))
        return chunks
    if not chunked:
        return [[(f"{words[0]}/{label}", "")]]
    words[0] = f"[{words[0]}"
    words[-1] = f"{words[-1]}]{label}"
    return [[(word, "")] for word in words]


def _marked(piece: _Piece, number: dict[str, int]) -> str:
    text = escaped(" ".join(piece.words))
    if piece.label is None:
        return text
    shade = _SHADES[number[piece.label] % len(_SHADES)]
    label = f'<sub class="han-small">{isolated(piece.label)}</sub>'
    return f'<mark class="{shade}">{text}</mark>{label}'
