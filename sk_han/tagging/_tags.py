"""Tagged text, and checks of sentences and tags."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from itertools import chain
from reprlib import repr as brief
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sk_han._rendering.blocks import Block, Heading, Sentence, Span
from sk_han._rendering.html import page
from sk_han._rendering.text import line_width, prose
from sk_han._utils.messages import a_kind, in_one_line, plural
from sk_han._validation.labels import as_labels

# Shades of the style sheet, which labels get in turn.
_SHADES = ("p4", "m4", "w4", "p7", "m7", "w7")


class _Piece(NamedTuple):
    """Consecutive tokens of a chunk, or one token; the label is None outside of chunks."""

    label: str | None
    words: list[str]


def tagged_text(sentences: Any, labels: Any, *, width: int | None = None) -> str:
    """Return tagged sentences as lines of text.

    Chunks of ``B-x`` and ``I-x`` are shown in brackets, followed by their name. Other labels follow
    a slash, and ``O`` is not shown. Control characters are replaced by visible ones.

    Parameters
    ----------
    sentences : sequence of sequences of tokens
        As in `sk_han.SequenceTagger.fit`; only the word of a tuple is shown.
    labels : sequence of sequences of labels
        As `sk_han.SequenceTagger.predict` returns them.
    width : int, default=None
        Columns of a line; None for those of the terminal.

    Raises
    ------
    ValueError
        If the numbers of labels and tokens of a sentence differ.

    Examples
    --------
    >>> from sk_han.tagging import tagged_text
    >>> sentence = ["New", "York", "is", "big"]
    >>> print(tagged_text([sentence], [["B-NP", "I-NP", "B-VP", "O"]]))
    [New York]NP [is]VP big
    >>> print(tagged_text([sentence], [["NNP", "NNP", "VBZ", "JJ"]]))
    New/NNP York/NNP is/VBZ big/JJ
    """
    sentence_pieces, _ = _read(sentences, labels)
    chunked = any(str(tag)[:2] in ("B-", "I-") for tags in labels for tag in tags)
    texts = (
        " ".join(_format_piece(piece, chunked) for piece in pieces) for pieces in sentence_pieces
    )
    return "\n".join(line for text in texts for line in prose(text, line_width(width)))


def tagged_html(sentences: Any, labels: Any, *, full_page: bool = True) -> str:
    """Return tagged sentences as HTML, without scripts or outside assets.

    Parameters
    ----------
    sentences, labels
        See `tagged_text`.
    full_page : bool, default=True
        Whether it is a page, or a fragment for a notebook.

    Examples
    --------
    >>> from sk_han.tagging import tagged_html
    >>> "<bdi>NAME</bdi>" in tagged_html([["Anna", "sleeps"]], [["B-NAME", "O"]])
    True
    """
    sentence_pieces, number = _read(sentences, labels)
    blocks: list[Block] = [Heading("Tagged sentences", 1)]
    for pieces in sentence_pieces:
        parts = [part for piece in pieces for part in (" ", *_piece_spans(piece, number))]
        blocks.append(Sentence(parts[1:], "han-sentence"))
    return page(blocks, full_page=full_page)


def _read(sentences: Any, labels: Any) -> tuple[list[list[_Piece]], dict[str, int]]:
    """Return the pieces of each sentence, and the number of each label in alphabetical order."""
    if len(sentences) != len(labels):
        raise ValueError(f"Got {plural(len(sentences), 'sentence')} and labels of {len(labels):,}.")
    sentence_pieces = []
    for i, (tokens, tags) in enumerate(zip(sentences, labels, strict=True)):
        if len(tokens) != len(tags):
            raise ValueError(
                f"Sentence {i} has {plural(len(tokens), 'token')} and "
                f"{plural(len(tags), 'label')}: give each token one label."
            )
        words = [token if isinstance(token, str) else token[0] for token in tokens]
        sentence_pieces.append(_pieces(words, [str(tag) for tag in tags]))
    names = {
        piece.label for pieces in sentence_pieces for piece in pieces if piece.label is not None
    }
    return sentence_pieces, {label: number for number, label in enumerate(sorted(names))}


def _pieces(words: list[str], tags: list[str]) -> list[_Piece]:
    """Join the tokens of each chunk; an ``I-`` without a beginning starts one."""
    pieces: list[_Piece] = []
    # The name of the chunk that the next token may continue.
    chunk = None
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


def _format_piece(piece: _Piece, chunked: bool) -> str:
    words = " ".join(in_one_line(word) for word in piece.words)
    if piece.label is None:
        return words
    label = in_one_line(piece.label)
    return f"[{words}]{label}" if chunked else f"{words}/{label}"


def _piece_spans(piece: _Piece, number: dict[str, int]) -> list[Any]:
    text = " ".join(piece.words)
    if piece.label is None:
        return [text]
    shade = _SHADES[number[piece.label] % len(_SHADES)]
    return [Span(text, shade), Span(piece.label, "sub")]


Token = tuple[str, ...]


def as_sentences(X: Any, n_columns: int | None = None) -> list[list[Token]]:
    """Return sentences as lists of tokens, each of `n_columns` strings or as many as the first."""
    sentences = []
    for i, sentence in enumerate(_require_list(X, "X", "sentences, each a list of tokens")):
        tokens = list(_require_list(sentence, f"Sentence {i} of X", "tokens"))
        row = [
            (token,) if type(token) is str else _token(token, i, j)
            for j, token in enumerate(tokens)
        ]
        for j, token in enumerate(row):
            n_columns = len(token) if n_columns is None else n_columns
            if len(token) != n_columns:
                raise ValueError(
                    f"Token {j} of sentence {i} of X has {plural(len(token), 'column')}: "
                    f"{brief(token)}; expected {n_columns}, as in the training sentences. Give "
                    "each token its word and the same further columns."
                )
        sentences.append(row)
    return sentences


def as_tags(y: Any, lengths: Sequence[int]) -> NDArray[Any]:
    """Check the labels of all tokens, and return them as one array, shape (T,)."""
    if y is None:
        raise ValueError(
            "This SequenceTagger estimator requires y to be passed, but the target y is None."
        )
    sequences = [
        list(_require_list(tags, f"Sentence {i} of y", "labels, one for each token"))
        for i, tags in enumerate(_require_list(y, "y", "sentences, each a list of labels"))
    ]
    if len(sequences) != len(lengths):
        raise ValueError(
            "Found input variables with inconsistent numbers of samples: "
            f"{plural(len(lengths), 'sentence')} in X, {len(sequences):,} in y."
        )
    for i, (tags, n) in enumerate(zip(sequences, lengths, strict=True)):
        if len(tags) != n:
            raise ValueError(
                f"Sentence {i} has {plural(n, 'token')} in X and {plural(len(tags), 'label')} "
                "in y: give each token one label."
            )
        for j, tag in enumerate(tags):
            if not isinstance(tag, (str, int, np.integer, np.bool_)):
                raise TypeError(
                    f"Token {j} of sentence {i} has the label {brief(tag)} of type "
                    f"{type(tag).__name__} in y; labels are strings, integers or booleans. "
                    "Convert them, for example with str(label)."
                )
    return as_labels(list(chain.from_iterable(sequences)), "y")


def iob2_chunks(classes: NDArray[Any]) -> NDArray[np.int64]:
    """Return the rules of IOB2 (Tjong Kim Sang and Veenstra, 1999) as one number per label, (C,).

    The number is 0 for ``O``, k for ``B-x`` of the k-th kind of chunk, and -k for its ``I-x``,
    which must follow ``B-x`` or ``I-x``. A matrix of transitions would take memory quadratic in the
    number of labels of a file.
    """
    kinds: dict[str, int] = {}
    chunks = np.zeros(len(classes), dtype=np.int64)
    for i, label in enumerate(map(str, classes.tolist())):
        if label == "O":
            continue
        if label[:2] not in ("B-", "I-"):
            raise ValueError(
                f"scheme='iob2' needs the labels 'O', 'B-...', 'I-...'; got {label!r}. Or set None."
            )
        kind = kinds.setdefault(label[2:], len(kinds) + 1)
        chunks[i] = kind if label[0] == "B" else -kind
    return chunks


def check_iob2(
    targets: NDArray[np.int64], lengths: NDArray[np.int64], classes: NDArray[Any]
) -> None:
    """Raise a ValueError if labels of training sentences violate the rules of IOB2."""
    chunks = iob2_chunks(classes)[targets]
    starts = np.cumsum(lengths) - lengths
    before = np.concatenate([[0], chunks[:-1]])
    before[starts[lengths > 0]] = 0
    wrong = np.flatnonzero((chunks < 0) & (np.abs(before) != -chunks))
    if len(wrong):
        at = int(wrong[0])
        i = int(np.searchsorted(starts + lengths, at, side="right"))
        previous = repr(str(classes[targets[at - 1]])) if at > starts[i] else "the start"
        raise ValueError(
            f"Token {at - starts[i]} of sentence {i} in y has the label "
            f"{str(classes[targets[at]])!r} after {previous}, which IOB2 forbids: "
            "a chunk begins with 'B-'. Convert the labels, or leave the scheme out (None)."
        )


def _require_list(value: Any, what: str, of: str) -> Any:
    """Return a sequence; raise a TypeError for strings, frames and containers without order."""
    expected = f"expected a list of {of}."
    if isinstance(value, (str, bytes)):
        repair = " text.split() makes a list of a string's tokens." if "tokens" in of else ""
        raise TypeError(f"{what} is the string {brief(value)}; {expected}{repair}")
    is_iterable, is_frame = hasattr(value, "__iter__"), hasattr(value, "columns")
    has_order = hasattr(value, "__len__") and not isinstance(value, (Mapping, Set))
    if is_iterable and has_order and not is_frame:
        return value
    repair = " Give it an order, for example with list(...)." if is_iterable else ""
    # Iterating over a frame would give the names of its columns.
    if is_frame:
        repair = (
            " Of a table with a token in each row, "
            "df.groupby('sentence')['word'].apply(list) makes one."
        )
    raise TypeError(f"{what} is {a_kind(value)}; {expected}{repair}")


def _token(token: Any, sentence: int, number: int) -> Token:
    if isinstance(token, str):
        return (str.__str__(token),)
    columns = tuple(token) if isinstance(token, (tuple, list, np.ndarray)) else ()
    if not columns or not all(isinstance(column, str) for column in columns):
        raise TypeError(
            f"Token {number} of sentence {sentence} of X is {brief(token)} of type "
            f"{type(token).__name__}; a token is a string, or a tuple of strings: the word, then "
            "its further columns. Convert it with str, or leave it out."
        )
    return tuple(str.__str__(column) for column in columns)
