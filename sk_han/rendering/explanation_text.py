"""Explanations as lines for a terminal."""

from __future__ import annotations

import math
import os
import shutil
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from sk_han.rendering.notes import (
    NO_WORDS,
    NOTES,
    SHAPLEY_VALUE,
    comparison,
    explains_its_answer,
    fold_note,
    named,
    probabilities_of,
    target_of,
    true_of,
)
from sk_han.rendering.protocols import Explained, ExplainedDocuments, Quantity
from sk_han.rendering.rows import Piece, Row, chunks_of, folded, rows_of, shortened, words_for_each
from sk_han.rendering.shading import LEVELS, Shading, brief, shading_of, side_by_side
from sk_han.utils.argument_checks import check_count
from sk_han.utils.counts import counted
from sk_han.utils.visible_text import in_one_line

OPEN_SENTENCES = 20
CLASSES_SHOWN = 3
BAR_CELLS = 6
NARROWEST = 30

# Black on a background of the 256-colour palette, weak to strong: legible on any theme.
_BACKGROUNDS = {
    "attention": (158, 122, 79, 43),
    "toward": (153, 117, 75, 39),
    "against": (223, 216, 215, 208),
}
_EIGHTHS = " ▏▎▍▌▋▊▉"


def render_text(
    explanation: Explained,
    *,
    show: Quantity = "contributions",
    color: bool | None = None,
    width: int | None = None,
) -> str:
    """Return probabilities, a paragraph for each sentence, a legend and a line of help.

    See `DocumentExplanation.to_text`. What is long is cut as `shortened` and `chunks_of` say;
    without colour, words of at least half the largest weight stand between asterisks, or between
    tildes if they speak against the target.
    """
    color = terminal_has_color() if color is None else color
    width = line_width(width)
    head, shading = _head(explanation), shading_of(explanation, show)
    lines = _document(explanation, shading, color, width, head)
    lines += _legends([explanation], show, color, width)
    return "\n".join(lines)


def render_text_list(
    explanations: ExplainedDocuments,
    *,
    show: Quantity,
    color: bool | None,
    width: int | None,
    max_documents: int | None,
) -> str:
    """Return documents and their classes below each other; see `ExplanationList.to_text`."""
    if max_documents is not None:
        check_count("max_documents", max_documents)
    color = terminal_has_color() if color is None else color
    width = line_width(width)
    documents = list(explanations.by_document())
    shown = documents[:max_documents]
    blocks = []
    for document in shown:
        marked = true_of(document)
        true = "" if document.y_true is None else f", true: {named(marked, in_one_line)}"
        for explanation, shading in zip(document, side_by_side(list(document), show), strict=True):
            head = f"[{document.numbers[0]}] {_head(explanation, marked)}{true}"
            blocks.append("\n".join(_document(explanation, shading, color, width, head)))
    if shown:
        found = [explanation for document in shown for explanation in document]
        blocks.append("\n".join(_legends(found, show, color, width)))
    if len(shown) < len(documents):
        blocks.append(f"... and {counted(len(documents) - len(shown), 'more document')}")
    return "\n\n".join(blocks) or "No documents."


def _document(
    explanation: Explained, shading: Shading, color: bool, width: int, head: str
) -> list[str]:
    """Return a head and the sentences."""
    rows = rows_of(explanation)
    runs = folded(shading.sentences, OPEN_SENTENCES)
    shown = [i for run, is_folded in runs if not is_folded for i in run]
    n_words = words_for_each([rows[i] for i in shown])
    number_width = max((len(shading.written(i)) for i in shown), default=0)
    lines = list(prose(head, width))

    def styled(row: Row, width: int) -> Iterator[str]:
        """Return the lines of a row, of pairs of a text and the ANSI codes before it."""
        chunks = (
            [_styled(piece, explanation, shading, color) for piece in chunk]
            for chunk in chunks_of(row)
        )
        return wrapped(chunks, width)

    for run, is_folded in runs:
        if is_folded:
            lines.append(f"       ... {fold_note(shading, run)}")
            continue
        for i in run:
            margin = f"{shading.written(i):<{number_width}} {_bar(shading.share(i))} "
            text = styled(shortened(rows[i], shading.words, n_words), width - len(margin))
            lines.append(margin + ("\n" + " " * len(margin)).join(text))
    if shading.sum_note():
        lines += prose(shading.sum_note(), width)
    for row in rows:
        if row.sentence is None:
            lines += styled(row, width)
    if not len(explanation.word_spans):
        lines.append(NO_WORDS)
    return lines


def _legends(
    explanations: Sequence[Explained], show: Quantity, color: bool, width: int
) -> list[str]:
    """Return the meaning of the marks, once for documents whose marks mean the same."""
    target = target_of(explanations, in_one_line)
    notes: list[str] = []
    for explanation in explanations:
        if len(explanation.word_spans):
            shading = shading_of(explanation, show)
            notes.append(_legend(explanation, shading, color, target))
            notes.append(_help(explanation, shading, len(explanations) == 1))
    return [line for note in dict.fromkeys(notes) for line in prose(note, width)]


def line_width(width: int | None, narrowest: int = NARROWEST) -> int:
    """Return a width, by default that of the terminal, or the narrowest if that is wider."""
    return max(narrowest, shutil.get_terminal_size().columns if width is None else width)


def terminal_has_color() -> bool:
    """Return whether standard output is a terminal that shows colours."""
    # https://no-color.org: any value but the empty one turns colour off.
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return sys.stdout is not None and sys.stdout.isatty()


def _head(explanation: Explained, true: Any = None) -> str:
    """Return what is predicted, the likeliest probabilities, and the class that is explained."""
    probabilities = ", ".join(probabilities_of(explanation, CLASSES_SHOWN, true))
    head = f"predicted {named(explanation.answer, in_one_line)} ({probabilities})"
    if not explains_its_answer(explanation):
        head += f", explained {comparison(explanation, in_one_line)}"
    return head


def _bar(share: float) -> str:
    full, part = divmod(round(8 * BAR_CELLS * share), 8)
    return f"{'█' * full + _EIGHTHS[part].strip():<{BAR_CELLS}}"


def _styled(piece: Piece, explanation: Explained, shading: Shading, color: bool) -> tuple[str, str]:
    if piece.word is None:
        return piece.text, ""
    if color:
        return piece.text, _code(piece.word, explanation, shading)
    value, limit = float(shading.words[piece.word]), shading.word_limit
    if not limit or abs(value) < limit / 2:
        return piece.text, ""
    mark = "~" if value < 0 else "*"
    return f"{mark}{piece.text}{mark}", ""


def _code(word: int, explanation: Explained, shading: Shading) -> str:
    level = shading.levels[word]
    codes = ["4"] if explanation.unknown[word] else []
    if level:
        backgrounds = _BACKGROUNDS[shading.scale(level)]
        step = math.ceil(abs(level) * len(backgrounds) / LEVELS) - 1
        codes += ["38;5;16", f"48;5;{backgrounds[step]}"]
    return f"\x1b[{';'.join(codes)}m" if codes else ""


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


def _legend(explanation: Explained, shading: Shading, color: bool, target: str) -> str:
    """Return a line for all readers: the meaning of the marks and of the numbers."""
    if explanation.method == "random" and shading.signed:
        return "Random numbers, a control: they say nothing about the document."
    if not shading.signed:
        marked = "Shaded words" if color else "*Marked* words"
        legend = f"{marked} got the most attention, which does not say that they decided."
    else:
        toward, against = ("Blue", "orange") if color else ("*Words*", "~words~")
        speak = "speaks" if color else "speak"
        by_shapley = explanation.method == "shapley"
        legend = (
            f"{toward} {speak} most for {target}, {against} most against it; the number is "
            f"{SHAPLEY_VALUE if by_shapley else 'the sum of its sentence'}."
        )
    if color and explanation.unknown.any():
        legend += " Underlined: not in the vocabulary."
    return legend


def _help(explanation: Explained, shading: Shading, alone: bool) -> str:
    """Return a line on how the numbers were computed."""
    limit = brief(shading.word_limit) if alone else "of each document marked"
    strongest = f"strongest word {limit}"
    if explanation.method == "random" and shading.signed:
        return f"{strongest.capitalize()}."
    if not shading.signed:
        return f"Attention of both levels ({explanation.combine}), {strongest}."
    kind = "an estimate" if explanation.method in NOTES else "as given"
    method = in_one_line(explanation.method)
    return f"Log-odds by {method}, {kind}; {strongest}. More: help(sk_han.explain)"
