"""Explanations as lines for a terminal."""

from __future__ import annotations

import math
import os
import shutil
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from sk_han.rendering.html import (
    Piece,
    Row,
    chunks_of,
    folded,
    isolated,
    rows_of,
    shortened,
    words_for_each,
)
from sk_han.rendering.shading import (
    LEVELS,
    Explained,
    ExplainedDocuments,
    Quantity,
    Shading,
    adds_up,
    brief,
    number,
    shading_of,
    side_by_side,
)
from sk_han.utils.messages import check_count, counted, in_one_line

NO_WORDS = "No words of this document were read."


NOTES = {
    "shapley": "what a sentence adds on average over the orders in which sentences can be put in, "
    "so that those of a document sum to its log-odds less those of a document without words; its "
    "words share it, an estimate",
    "gradient_attention": "attention \N{MULTIPLICATION SIGN} gradient, an estimate",
}


# What the number before a sentence is.
SHAPLEY_VALUE = "what the sentence adds on average, whichever others are there before it"


_COUNTS_FOR_NOTHING = 0.02


def attention_note(combine: str) -> str:
    """Describe attention, and how the attention of both levels became one number."""
    note = "weights of the model's pooling, not a measure of importance"
    if combine == "sqrt":
        note += ", \N{SQUARE ROOT}sentence \N{MULTIPLICATION SIGN} word"
    return note


def named(answer: Any, write: Callable[[Any], str]) -> str:
    """Name a class, or the labels of a document that may have several, a tuple."""
    if not isinstance(answer, tuple):
        return write(answer)
    return ", ".join(map(write, answer)) or "no label"


def explains_its_answer(explanation: Explained) -> bool:
    """Return whether an explanation is for what is predicted, and for nothing less."""
    if explanation.labels is None:
        return explanation.against is None and bool(explanation.predicted == explanation.target)
    return explanation.labels == (explanation.target,)


def likeliest(explanation: Explained, n: int, true: Any = None) -> list[int]:
    """Return the numbers of the n likeliest labels, and of all that the document gets or has."""
    order = np.argsort(-explanation.probabilities, kind="stable").tolist()
    shown = explanation.labels or ()
    if isinstance(true, tuple):
        shown = (*shown, *true)
    return [i for place, i in enumerate(order) if place < n or explanation.classes[i] in shown]


def probability_of(explanation: Explained, i: int) -> str:
    """Write the probability of a label, and whether it reaches the threshold, if there is one."""
    probability, thresholds = explanation.probabilities[i], explanation.thresholds
    if thresholds is None:
        return f"{probability:.3f}"
    threshold = thresholds[i]
    sign = "\N{GREATER-THAN OR EQUAL TO}" if probability >= threshold else "<"
    for decimals in (3, 4, 5, 6):
        written = f"{probability:.{decimals}f}", f"{threshold:.{decimals}f}"
        if probability == threshold or written[0] != written[1]:
            break
    return f" {sign} ".join(written)


def probabilities_of(explanation: Explained, n: int, true: Any) -> list[str]:
    """Name the likeliest labels, and the one explained, with their probabilities."""
    target = explanation.classes.tolist().index(explanation.target)
    return [
        f"{in_one_line(explanation.classes[i])} {probability_of(explanation, i)} "
        f"{mistaken(explanation, i, true)}".rstrip()
        for i in dict.fromkeys([*likeliest(explanation, n, true), target])
    ]


def true_of(document: ExplainedDocuments) -> Any:
    """Return the true label, or labels, of the one document of explanations; None if unknown."""
    return None if document.y_true is None else document.y_true[0]


def mistaken(explanation: Explained, i: int, true: Any) -> str:
    """Say whether a label is missed or wrongly given, if the labels that are true are known."""
    if explanation.labels is None or not isinstance(true, tuple):
        return ""
    label = explanation.classes[i]
    if (label in explanation.labels) == (label in true):
        return ""
    return "missed" if label in true else "wrongly given"


def comparison(explanation: Explained, write: Callable[[Any], str]) -> str:
    """Name the class that an explanation is for, and the one that it is compared with."""
    rival = explanation.against
    return write(explanation.target) + ("" if rival is None else f" rather than {write(rival)}")


def target_of(explanations: Sequence[Explained], write: Callable[[Any], str]) -> str:
    """Name the class that explanations are for, in words if they are for several."""
    targets = {comparison(explanation, write) for explanation in explanations}
    if len(targets) == 1:
        return targets.pop()
    if all(e.target == e.predicted and e.against is None for e in explanations):
        is_class = explanations[0].labels is None
        return "the predicted class" if is_class else "the most probable label"
    kind = "class" if explanations[0].labels is None else "label"
    return f"the {kind} named above them"


def methods_note(explanations: Sequence[Explained]) -> str:
    """Describe contributions: their target, their unit, and each method, for HTML."""
    groups: dict[tuple[object, ...], list[Explained]] = {}
    for explanation in explanations:
        kind = (explanation.method, _is_linear(explanation))
        groups.setdefault(kind, []).append(explanation)
    return "; ".join(_method_note(group) for group in groups.values())


def _method_note(explanations: Sequence[Explained]) -> str:
    first = explanations[0]
    method = first.method
    if method == "random":
        return "random numbers, a control"
    note = f": {NOTES[method]}" if method in NOTES else ""
    summed = [e for e in explanations if e.base_value is not None and len(e.sentence_spans)]
    if not all(map(adds_up, summed)):
        note += "; but a calibration has changed the probability that is shown"
    has_ngrams = any(np.any(explanation.ngram_contributions) for explanation in explanations)
    by_ngrams = method == "gradient_attention" and has_ngrams
    if by_ngrams and max(map(_network_share, explanations)) < _COUNTS_FOR_NOTHING:
        note += "; nearly all of it comes from n-grams, and next to nothing from the network"
    if by_ngrams and _is_linear(first):
        note += "; the n-grams' part is exact"
    given = (e.sentence_errors for e in explanations if e.sentence_errors is not None)
    of_sentences = [each.max(initial=0) for each in given]
    if any(of_sentences):
        note += f"; the standard error of a sentence is at most {brief(max(of_sentences))}"
    return (
        f"plus speaks for {target_of(explanations, isolated)}, minus against it, in log-odds "
        f"(0.69 doubles the odds), by {isolated(method)}{note}"
    )


def _is_linear(explanation: Explained) -> bool:
    """Return whether log-odds are linear in the n-grams: of a label, and of one of two classes."""
    return explanation.labels is not None or len(explanation.classes) == 2


def _network_share(explanation: Explained) -> float:
    """Return the network's share of the contributions, by absolute values."""
    ngrams = np.asarray(explanation.ngram_contributions)
    network = float(np.abs(explanation.contributions - ngrams).sum())
    whole = network + float(np.abs(ngrams).sum())
    return network / whole if whole else 0.0


def fold_note(shading: Shading, run: range) -> str:
    """Describe folded sentences by their number and the sum of their values."""
    total = float(shading.sentences[run.start : run.stop].sum())
    of = "in sum" if shading.signed else "of the attention"
    return f"{len(run)} sentences with {number(total, shading.signed)} {of}"


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
