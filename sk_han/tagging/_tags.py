"""Tags of tokens: spans, checks, and tagged text."""

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
from sk_han._utils.messages import a_kind, counted, in_one_line
from sk_han._validation.labels import as_labels

# Shades of the style sheet, for labels in turn.
_SHADES = ("p4", "m4", "w4", "p7", "m7", "w7")


class _Piece(NamedTuple):
    """Neighbouring tokens with one label; None outside of chunks."""

    label: str | None
    words: list[str]


def tagged_text(sentences: Any, labels: Any, *, width: int | None = None) -> str:
    """Return tagged sentences as lines of text.

    Chunks of the labels ``B-x`` and ``I-x`` stand in brackets with their name after them, other
    labels after a slash; ``O`` is not shown. Control characters are replaced by visible ones.

    Parameters
    ----------
    sentences : sequence of sequences of tokens
        As in `sk_han.SequenceTagger.fit`; of tuples the word is shown.
    labels : sequence of sequences of labels
        As `sk_han.SequenceTagger.predict` returns them.
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
    >>> print(tagged_text([sentence], [["B-NP", "I-NP", "B-VP", "O"]]))
    [New York]NP [is]VP big
    >>> print(tagged_text([sentence], [["NNP", "NNP", "VBZ", "JJ"]]))
    New/NNP York/NNP is/VBZ big/JJ
    """
    found, _ = _read(sentences, labels)
    chunked = any(str(tag)[:2] in ("B-", "I-") for tags in labels for tag in tags)
    texts = (" ".join(_bracketed(piece, chunked) for piece in pieces) for pieces in found)
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
    found, number = _read(sentences, labels)
    blocks: list[Block] = [Heading("Tagged sentences", 1)]
    for pieces in found:
        parts = [part for piece in pieces for part in (" ", *_marked(piece, number))]
        blocks.append(Sentence(parts[1:], "han-sentence"))
    return page(blocks, full_page=full_page)


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


def _bracketed(piece: _Piece, chunked: bool) -> str:
    words = " ".join(in_one_line(word) for word in piece.words)
    if piece.label is None:
        return words
    label = in_one_line(piece.label)
    return f"[{words}]{label}" if chunked else f"{words}/{label}"


def _marked(piece: _Piece, number: dict[str, int]) -> list[Any]:
    text = " ".join(piece.words)
    if piece.label is None:
        return [text]
    shade = _SHADES[number[piece.label] % len(_SHADES)]
    return [Span(text, shade), Span(piece.label, "sub")]


Token = tuple[str, ...]


def as_sentences(X: Any, n_columns: int | None = None) -> list[list[Token]]:
    """Return sentences as lists of tokens, each of `n_columns` strings, by default as the first."""
    sentences = []
    for i, sentence in enumerate(_listed(X, "X", "sentences, each a list of tokens")):
        tokens = list(_listed(sentence, f"Sentence {i} of X", "tokens"))
        found = [
            (token,) if type(token) is str else _token(token, i, j)
            for j, token in enumerate(tokens)
        ]
        for j, token in enumerate(found):
            n_columns = len(token) if n_columns is None else n_columns
            if len(token) != n_columns:
                raise ValueError(
                    f"Token {j} of sentence {i} of X has {counted(len(token), 'column')}: "
                    f"{brief(token)}; expected {n_columns}, as of the first token of the training "
                    "sentences. Give every token as many: the word, then its further columns."
                )
        sentences.append(found)
    return sentences


def as_tags(y: Any, lengths: Sequence[int]) -> NDArray[Any]:
    """Return the labels of all tokens as one array, shape (T,), checked."""
    if y is None:
        raise ValueError(
            "This SequenceTagger estimator requires y to be passed, but the target y is None."
        )
    sequences = [
        list(_listed(tags, f"Sentence {i} of y", "labels, one for each token"))
        for i, tags in enumerate(_listed(y, "y", "sentences, each a list of labels"))
    ]
    if len(sequences) != len(lengths):
        raise ValueError(
            "Found input variables with inconsistent numbers of samples: "
            f"{counted(len(lengths), 'sentence')} in X, {len(sequences):,} in y."
        )
    for i, (tags, n) in enumerate(zip(sequences, lengths, strict=True)):
        if len(tags) != n:
            raise ValueError(
                f"Sentence {i} has {counted(n, 'token')} in X and {counted(len(tags), 'label')} "
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


def chunks_of(classes: NDArray[Any]) -> NDArray[np.int64]:
    """Return what label may follow what by IOB2 (Tjong Kim Sang and Veenstra, 1999), (C,).

    0 for ``O``, k for ``B-x`` of the k-th kind of chunk, and -k for its ``I-x``, before which
    ``B-x`` or ``I-x`` stands. A table of pairs would take the square of the labels of a file.
    """
    kinds: dict[str, int] = {}
    chunks = np.zeros(len(classes), dtype=np.int64)
    for i, label in enumerate(map(str, classes.tolist())):
        if label == "O":
            continue
        if label[:2] not in ("B-", "I-"):
            raise ValueError(
                f"scheme='iob2' needs the labels 'O', 'B-...' and 'I-...'; got {label!r}. Leave "
                "the scheme out (None) for other labels."
            )
        kind = kinds.setdefault(label[2:], len(kinds) + 1)
        chunks[i] = kind if label[0] == "B" else -kind
    return chunks


def check_iob2(
    targets: NDArray[np.int64], lengths: NDArray[np.int64], classes: NDArray[Any]
) -> None:
    """Check that labels of training sentences keep the rules of IOB2."""
    chunks = chunks_of(classes)[targets]
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


def _listed(value: Any, what: str, of: str) -> Any:
    """Return a value if it is a sequence, but no string, frame, or what has no order."""
    expected = f"expected a list of {of}."
    if isinstance(value, (str, bytes)):
        repair = " text.split() makes a list of a string's tokens." if "tokens" in of else ""
        raise TypeError(f"{what} is the string {brief(value)}; {expected}{repair}")
    is_iterable, is_frame = hasattr(value, "__iter__"), hasattr(value, "columns")
    has_order = hasattr(value, "__len__") and not isinstance(value, (Mapping, Set))
    if is_iterable and has_order and not is_frame:
        return value
    repair = " Give it an order, for example with list(...)." if is_iterable else ""
    if is_frame:  # to iterate one gives the names of its columns
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
