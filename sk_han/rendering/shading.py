"""An explanation as blocks: its prediction, shaded words, the meaning of colours and numbers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sk_han.rendering.blocks import (
    Bar,
    Block,
    Fold,
    Piece,
    Row,
    Sentence,
    Shaded,
    Span,
    Table,
    Text,
    brief,
    number,
    percent,
    with_minus,
)
from sk_han.rendering.colors import LEVELS
from sk_han.utils.messages import in_one_line

Level = Literal["word", "sentence"]
Quantity = Literal["contributions", "attention"]
Explained: TypeAlias = Any  # a DocumentExplanation, whose class is above this module
# Words that together hold no more than this share of a document's contributions are not shaded: the
# largest of the shares measured at which taking all of them out at once, four of five words,
# changes at most 4 of 100 decisions (docs/benchmarks.md).
WEAK_SHARE = 0.2
CLASSES_SHOWN = 5
WORDS_SHOWN = 1000  # most words of a document in a terminal
FEWEST_WORDS = 20  # of a sentence that is cut
NO_WORDS = "No words of this document were read."
NOTES = {
    "shapley": "the value of a sentence is what it adds to the log-odds, averaged over the order "
    "in which sentences are added. The values of a document add up to its log-odds minus those of "
    "an empty document. The words of a sentence share its value, an estimate",
    "gradient_attention": "attention \N{MULTIPLICATION SIGN} gradient, an estimate",
}
_SHOWN = 5e-4  # of a probability
_COUNTS_FOR_NOTHING = 0.02


@dataclass(frozen=True, eq=False)
class Shading:
    """Values of words, shape (n_words,), and of sentences, shape (n_sentences,), to draw."""

    words: NDArray[np.float64]
    sentences: NDArray[np.float64]
    signed: bool
    title: Callable[[int], str]  # of a word: its numbers
    errors: NDArray[np.float64] | None = None  # standard errors of sentences, (n_sentences,)
    base: float | None = None  # from which contributions start, where they add up to what is shown
    others: tuple[Shading, ...] = ()  # of the same document, for other classes

    @cached_property
    def word_limit(self) -> float:
        """Largest magnitude of a word in the document: the end of the colour scale."""
        return max(float(np.abs(each.words).max(initial=0.0)) for each in (self, *self.others))

    @cached_property
    def sentence_limit(self) -> float:
        """Largest magnitude of a sentence in the document: the length of a full bar."""
        return max(float(np.abs(each.sentences).max(initial=0.0)) for each in (self, *self.others))

    @cached_property
    def levels(self) -> list[int]:
        """Shade of each word, from -LEVELS to LEVELS, relative to the limit; 0 if too weak."""
        limit = self.word_limit or 1.0
        steps = np.rint(LEVELS * (np.abs(self.words) / limit)).astype(int)
        shown = np.where(too_weak(self.words), 0, np.maximum(steps, 1))
        return np.where(self.words < 0, -shown, shown).tolist()

    def scale(self, value: float) -> str:
        """Return the name of the colour scale of a value."""
        if not self.signed:
            return "attention"
        return "against" if value < 0 else "toward"

    def is_unclear(self, sentence: int) -> bool:
        """Return whether the value of a sentence is within two standard errors of 0."""
        if self.errors is None:
            return False
        return bool(abs(self.sentences[sentence]) < 2 * self.errors[sentence])

    def written(self, sentence: int) -> str:
        """Return the value of a sentence, without decimals if it is unclear."""
        value = float(self.sentences[sentence])
        if self.is_unclear(sentence):
            return f"\N{ALMOST EQUAL TO}{value:+.0f}" if round(value) else "\N{ALMOST EQUAL TO}0"
        return number(value, self.signed)

    def sum_note(self) -> str:
        """Say what the sentences add up to, and from where; nothing where they do not add up."""
        if self.base is None:
            return ""
        empty, total = (number(z, True) for z in (self.base, self.base + self.sentences.sum()))
        return f"{empty} for an empty document, {total} with all sentences"

    def share(self, sentence: int) -> float:
        """Return the share of a full bar that a sentence fills, from 0 to 1."""
        return abs(float(self.sentences[sentence])) / (self.sentence_limit or 1.0)

    def fold_note(self, run: range) -> str:
        """Describe folded sentences by their number and the sum of their values."""
        total = float(self.sentences[run.start : run.stop].sum())
        of = "in sum" if self.signed else "of the attention"
        return f"{len(run)} sentences with {number(total, self.signed)} {of}"


def too_weak(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which words are too weak to matter, shape (n_words,).

    They are the weakest ones, as many as together hold no more than `WEAK_SHARE` of the sum of
    all magnitudes; words of equal magnitude are all weak, or none is.
    """
    magnitudes = np.abs(values)
    rising = np.sort(magnitudes)
    n_weak = int((np.cumsum(rising) <= WEAK_SHARE * magnitudes.sum()).sum())
    if n_weak == len(values):  # all are zero
        return np.ones(n_weak, dtype=bool)
    return magnitudes < rising[n_weak]


def shading_of(explanation: Explained, show: Quantity) -> Shading:
    """Return the values of an explanation to draw: its contributions or the attention."""
    if show not in ("contributions", "attention"):
        raise ValueError(f"show must be 'contributions' or 'attention'; got {show!r}.")
    combined, signed = explanation.combined_attention, False
    words, sentences = combined, explanation.sentence_attention
    if show == "contributions":
        signed = explanation.signed
        words, sentences = explanation.contributions, explanation.sentence_contributions
    root = "\N{SQUARE ROOT}" if explanation.combine == "sqrt" else ""

    def title(word: int) -> str:
        sentence = explanation.sentence_attention[explanation.sentence_of_word[word]]
        attention = (
            f"attention {brief(combined[word])} = {root}sentence {brief(sentence)} "
            f"\N{MULTIPLICATION SIGN} word {brief(explanation.word_attention[word])}"
        )
        return f"contribution {brief(words[word], True)}, {attention}" if signed else attention

    base = explanation.base_value if signed and adds_up(explanation) else None
    errors = explanation.sentence_errors if signed else None
    return Shading(words, sentences, signed, title, errors, base)


def adds_up(explanation: Explained) -> bool:
    """Return whether sentences add up to the probability shown: not those before a calibration."""
    if explanation.base_value is None or not len(explanation.sentence_spans):
        return False
    labels = explanation.classes.tolist()
    share = float(explanation.probabilities[labels.index(explanation.target)])
    if explanation.against is not None:
        share /= share + float(explanation.probabilities[labels.index(explanation.against)]) or 1.0
    total = explanation.base_value + float(explanation.sentence_contributions.sum())
    total += float(explanation.column_contributions.sum())
    return abs(1 / (1 + math.exp(min(-total, 700.0))) - share) < _SHOWN


def side_by_side(explanations: Sequence[Explained], show: Quantity) -> list[Shading]:
    """Return the values of one document for several classes, with one colour scale for all."""
    shadings = tuple(shading_of(explanation, show) for explanation in explanations)
    return [replace(shading, others=shadings) for shading in shadings]


def rows_of(explanation: Explained) -> list[Row]:
    """Cut the text of an explanation into rows; their pieces, joined, are the whole text.

    Words that are not in the text, or stand in others that are before them, are listed in brackets
    before the next word.
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
    words, names = explanation.word_spans.tolist(), explanation.words
    numbers = np.searchsorted(explanation.sentence_of_word, np.arange(len(spans) + 1)).tolist()
    rows = []
    for i, (first, last) in enumerate(itertools.pairwise(numbers)):
        pieces, listed, at = [], list[Piece](), starts[i]
        for word in range(first, last):
            start, end = words[word]
            if start == end or end <= at:
                listed += [Piece(f"[{names[word]}]", word), Piece(" ")]
                continue
            pieces += [Piece(text[at:start]), *listed, Piece(text[max(at, start) : end], word)]
            listed, at = [], end
        rest = text[at : spans[i][1]]
        pieces.append(Piece(rest, unread=_is_unread(explanation, rest)))
        pieces += [Piece(" "), *listed] if listed else []
        pieces.append(Piece(text[max(at, spans[i][1]) : starts[i + 1]]))
        rows.append(Row(i, [piece for piece in pieces if piece.text]))
    if starts[-1] < len(text):
        rows.append(Row(None, [Piece(text[starts[-1] :], unread=True)]))
    return rows


def words_for_each(rows: Sequence[Row]) -> int:
    """Compute how many words to show of each row, so that all have about `WORDS_SHOWN`."""
    lengths = [sum(piece.word is not None for piece in row.pieces) for row in rows]
    if sum(lengths) <= WORDS_SHOWN:
        return max(lengths, default=0)
    return max(FEWEST_WORDS, WORDS_SHOWN // len(rows))


def shortened(row: Row, n_words: int) -> Row:
    """Cut a row after its first words; text that was not read stays."""
    words = [place for place, piece in enumerate(row.pieces) if piece.word is not None]
    if len(words) <= n_words:
        return row
    end = words[n_words]
    unread = [piece for piece in row.pieces[end:] if piece.unread]
    return Row(row.sentence, [*row.pieces[:end], gap(len(words) - n_words, "words"), *unread])


def gap(n: int, what: str) -> Piece:
    """Return a note of how many words or characters are left out."""
    return Piece(f"\N{HORIZONTAL ELLIPSIS} {n:,} {what} \N{HORIZONTAL ELLIPSIS}", note=True)


def folded(weights: NDArray[Any], n_open: int) -> list[tuple[range, bool]]:
    """Split sentences into runs, each with whether it is folded.

    The `n_open` of the largest magnitude stay open; the runs between them are folded. A run of one
    or two stays open too, since a fold takes as much room.
    """
    closed = np.ones(len(weights), dtype=bool)
    closed[np.argsort(-np.abs(weights), kind="stable")[:n_open]] = False
    edges = [0, *(np.flatnonzero(np.diff(closed)) + 1).tolist(), len(weights)]
    return [
        (range(start, stop), bool(closed[start]) and stop - start > 2)
        for start, stop in itertools.pairwise(edges)
        if start < stop
    ]


def _is_unread(explanation: Explained, rest: str) -> bool:
    """Return whether this end of a sentence or text has words that a limit cut off."""
    return explanation.truncated and any(map(str.isalnum, rest))


def named(answer: Any) -> list[Any]:
    """Name a class, or the labels of a document that may have several, a tuple."""
    if not isinstance(answer, tuple):
        return [Span(answer)]
    parts: list[Any] = []
    for label in answer:
        parts += [", "] * bool(parts) + [Span(label)]
    return parts or ["no label"]


def explains_its_answer(explanation: Explained) -> bool:
    """Return whether an explanation is for what is predicted, and for nothing less."""
    if explanation.labels is None:
        return explanation.against is None and bool(explanation.predicted == explanation.target)
    return explanation.labels == (explanation.target,)


def comparison(explanation: Explained) -> list[Any]:
    """Name the class that an explanation is for, and the one that it is compared with."""
    rival = explanation.against
    return [Span(explanation.target), *([] if rival is None else [" rather than ", Span(rival)])]


def target_of(explanations: Sequence[Explained]) -> list[Any]:
    """Name the class that explanations are for, in words if they are for several."""
    targets = [comparison(explanation) for explanation in explanations]
    if all(target == targets[0] for target in targets):
        return targets[0]
    is_class = explanations[0].labels is None
    if all(e.target == e.predicted and e.against is None for e in explanations):
        return ["the predicted class" if is_class else "the most probable label"]
    return [f"the {'class' if is_class else 'label'} named above them"]


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


def classes_of(explanation: Explained, n: int, true: Any, *, with_target: bool) -> list[int]:
    """Return the numbers of the n likeliest labels, of those given or true, and of the target."""
    order = np.argsort(-explanation.probabilities, kind="stable").tolist()
    needed = explanation.labels or ()
    needed += true if isinstance(true, tuple) else ()
    shown = [i for place, i in enumerate(order) if place < n or explanation.classes[i] in needed]
    target = explanation.classes.tolist().index(explanation.target)
    return [*shown, target] if with_target and target not in shown else shown


def mistaken(explanation: Explained, i: int, true: Any) -> str:
    """Say whether a label is missed or wrongly given, if the labels that are true are known."""
    if explanation.labels is None or not isinstance(true, tuple):
        return ""
    label = explanation.classes[i]
    if (label in explanation.labels) == (label in true):
        return ""
    return "missed" if label in true else "wrongly given"


def prediction(explanation: Explained, true: Any = None) -> list[Any]:
    """Return what is predicted, and the likeliest probabilities, in one line of a terminal."""
    shown = classes_of(explanation, 3, true, with_target=True)
    classes = ", ".join(
        f"{in_one_line(explanation.classes[i])} {probability_of(explanation, i)} "
        f"{mistaken(explanation, i, true)}".rstrip()
        for i in shown
    )
    head = ["predicted ", *named(explanation.answer), f" ({classes})"]
    explained = [", explained ", *comparison(explanation)]
    return head if explains_its_answer(explanation) else head + explained


def document_blocks(
    explanations: Sequence[Explained], show: Quantity, true: Any = None
) -> list[Block]:
    """Return prediction, probabilities and shaded text of one document, without a legend.

    Several explanations are for several classes: their columns have one scale of colours. Of
    several labels `true` are those that the document has, a tuple.
    """
    first, alone = explanations[0], len(explanations) == 1
    shown = classes_of(first, CLASSES_SHOWN, true, with_target=alone)
    rows = []
    for i in shown:
        threshold = None if first.thresholds is None else float(first.thresholds[i])
        verdict = mistaken(first, i, true)
        rows.append(
            [
                Span(first.classes[i]),
                Bar(float(first.probabilities[i]), "", threshold),
                [
                    Span(probability_of(first, i), "number"),
                    *([" ", Span(verdict, "verdict")] if verdict else []),
                ],
            ]
        )
    left_out = len(first.classes) - len(shown)
    blocks: list[Block] = [Table(rows, kind="classes")]
    if left_out:
        blocks.append(Sentence(f"and {left_out} more", "han-small"))
    if alone and not explains_its_answer(first):
        blocks.append(Sentence(["explained: ", *comparison(first)], "han-small"))
    return [*blocks, shaded(explanations, show), *column_table(explanations)]


def column_table(explanations: Sequence[Explained]) -> list[Block]:
    """Return a table of the contributions of columns, with bars if there is one explanation."""
    first = explanations[0]
    values = np.array([each.column_contributions for each in explanations])  # (E, C)
    largest = np.abs(values).max(initial=0)
    if largest == 0:
        return []
    rows: list[list[Text]] = []
    for i in np.argsort(-np.abs(values).max(axis=0), kind="stable").tolist():
        name = Span(f"{first.column_names[i]} = {in_one_line(first.column_values[i], 60)}")
        scale = "toward" if values[0, i] > 0 else "against"
        bars = [Bar(float(abs(values[0, i]) / largest), scale)] if len(values) == 1 else []
        numbers = (with_minus(number(each, True)) for each in values[:, i])
        rows.append([name, *bars, *(Span(each, "number") for each in numbers)])
    return [Table(rows, kind="classes" if len(values) == 1 else "")]


def shaded(explanations: Sequence[Explained], show: Quantity) -> Shaded:
    """Return the shaded text of one document, with a column for each explanation of it."""
    first = explanations[0]
    heads: list[Text] = []
    for e in explanations if len(explanations) > 1 else ():
        p = probability_of(e, e.classes.tolist().index(e.target))
        heads.append([*comparison(e), " ", Span(p, "number")])
    return Shaded(rows_of(first), side_by_side(explanations, show), first.unknown, heads)


def legend(
    explanations: Sequence[Explained], show: Quantity, *, color: bool | None = None
) -> list[Block]:
    """Return the meaning of colours and marks in words, and behind a fold how they were found.

    In a terminal with colours (`color` is True) or without (False) there is no fold.
    """
    read, on_page = [e for e in explanations if len(e.word_spans)], color is None
    if not read:
        return [Sentence(NO_WORDS, "han-small")] if explanations and on_page else []
    is_signed = [show == "contributions" and e.signed for e in read]
    signed = [e for e, yes in zip(read, is_signed, strict=True) if yes and e.method != "random"]
    unsigned = [e for e, yes in zip(read, is_signed, strict=True) if not yes]
    shown: list[Text] = []
    found: list[Text] = []
    if signed:
        weight = "the sum over its words"
        if all(e.method == "shapley" for e in signed):
            weight = "its effect, averaged over the order in which sentences are added"
        toward, against = ("Blue", "orange") if color else ("*Marked*", "~marked~")
        marks = [Span("Blue", "p6"), Span("orange", "m6")] if on_page else [toward, against]
        methods = ", ".join(dict.fromkeys(e.method for e in signed))
        said = f". The number before a sentence is {weight} (log-odds, by {methods})."
        if on_page:
            said = (
                ": the stronger the colour, the more. Words without colour made little difference. "
                f"The number before a sentence is {weight}: +0.7 doubles the odds, "
                "\N{MINUS SIGN}0.7 halves them. All this is how the model read the words, even if "
                "it is wrong."
            )
        said = f" words against it{said}"
        shown.append([marks[0], " words speak for ", *target_of(signed), ", ", marks[1], said])
        kinds = dict.fromkeys((e.method, _is_linear(e)) for e in signed)
        found += [
            _method_note([e for e in signed if (e.method, _is_linear(e)) == kind]) for kind in kinds
        ]
        drawn = [shading_of(e, show) for e in signed]
        if any(each.is_unclear(i) for each in drawn for i in range(len(each.sentences))):
            pale = "Pale bars and numbers" if on_page else "Numbers"
            shown.append(
                f"{pale} with \N{ALMOST EQUAL TO} are unclear: within two standard errors of 0."
            )
        found.append(
            "The unit is log-odds: with +0.69 the odds for the class are twice as high (50 % "
            "become 67 %), with +2.3 ten times (50 % become 91 %), with \N{MINUS SIGN}0.69 half."
        )
    if len(signed) + len(unsigned) < len(read):
        shown.append(
            "The marks are random numbers, a control: they say nothing about the document."
        )
    if unsigned:
        marked = "Green" if on_page else "Shaded" if color else "*Marked*"
        more = (
            " The stronger the colour, the more attention; even a word that got much may have "
            "changed nothing. The number before a sentence is its attention."
        )
        shown.append(
            f"{marked} words got the most attention. Attention is not a reason: it speaks neither "
            f"for a class nor against one.{more * on_page}{_network_note(unsigned)}"
        )
        for combine in dict.fromkeys(e.combine for e in unsigned):
            by_root = combine == "sqrt"
            root = ", \N{SQUARE ROOT}sentence \N{MULTIPLICATION SIGN} word" if by_root else ""
            found.append(
                f"Attention: weights of the model's pooling, not a measure of importance{root}."
            )
    quantity = "absolute contributions" if signed else "values"
    found.append(
        f"Words without colour are the weakest: together at most {100 * WEAK_SHARE:g} % of the "
        f"{quantity} of their document."
    )
    if any(e.thresholds is not None for e in explanations) and on_page:
        shown.append(
            "After the probability of a label, and as a tick on its bar, is its threshold: the "
            "lowest probability at which a document gets the label."
        )
    if len(explanations) > 1 and on_page:
        shown.append("Compare shades within a document, not between documents.")
    if any(e.unknown.any() for e in read) and color is not False:
        shown.append(
            ["Underlined" if color else Span("dotted", "unknown"), ": not in the vocabulary"]
        )
    if any(e.tokens is not None for e in read):
        place = "without a place of their own in the text"
        shown.append(f"[In brackets]: words of the tokenizer {place}.")
    if not on_page:
        return list(map(Sentence, shown))
    if any(e.truncated for e in read):
        shown.append([Span("hatched", "unread"), ": not read"])
    notes = [Sentence(text, "han-small") for text in found]
    fold = Fold("How the numbers were found", notes, kind="han-small")
    return [*(Sentence(text, "han-legend han-small") for text in shown), fold]


def _method_note(explanations: Sequence[Explained]) -> list[Any]:
    """Describe contributions: their target, their unit, and their method."""
    first = explanations[0]
    method = first.method
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
    largest = max((float(each.max(initial=0)) for each in given), default=0.0)
    if largest:
        note += f"; the standard error of a sentence is at most {brief(largest)}"
    said = ", minus against it, by "
    return ["Plus speaks for ", *target_of(explanations), said, Span(method), f"{note}."]


def _network_note(explanations: Sequence[Explained]) -> str:
    """Say how much of the decision the network makes, where other parts decide too."""
    shares = [explanation.network_share for explanation in explanations]
    low, high = percent(min(shares)), percent(max(shares))
    if min(shares) == 1:
        return ""
    share = low if low == high else f"{low} to {high}"
    return (
        f" Only the network has attention: it makes up {share} of the decision, the other parts of "
        "the model the rest."
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
