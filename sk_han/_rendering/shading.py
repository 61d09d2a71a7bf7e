"""Blocks of an explanation: prediction, shaded words, and a legend of colours and numbers."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sk_han._rendering.blocks import (
    Bar,
    Block,
    Piece,
    Row,
    Sentence,
    Shaded,
    Span,
    Table,
    Text,
    amount,
    brief,
    number,
    percent,
    text_parts,
)
from sk_han._rendering.colors import LEVELS
from sk_han._utils.messages import in_one_line

Level = Literal["word", "sentence"]
# A `DocumentExplanation`, whose class imports this module.
Explained: TypeAlias = Any
# The weakest words, which together have up to this share of a document's contributions, are not
# shaded. Of the shares that were measured it is the largest at which removing all of these words,
# four of five, changes at most 4 % of the decisions (docs/benchmarks.md).
WEAK_SHARE = 0.2
CLASSES_SHOWN = 5
NO_WORDS = "No words of this document were read."
BLUE = (
    " words against it: the stronger the colour, the more; words without colour made little "
    "difference. This is how the model read the words, even if it is wrong."
)
GREEN = (
    "Green words got the most attention: the stronger the colour, the more. Even a word that got "
    "much may have changed nothing."
)
MEANINGS = {
    "shapley": "The number before a sentence is its effect, averaged over the order in which "
    "sentences are added; its words share it, an estimate.",
    "gradient_attention": "The number before a sentence is the sum over its words, of attention "
    "\N{MULTIPLICATION SIGN} gradient, an estimate.",
    "attention": "The number before a sentence is its attention, a weight of the model's pooling. "
    "Attention is not a reason: it speaks neither for a class nor against one.",
    "random": "The numbers are random, a control: they say nothing about the document.",
}
NETWORK = "Only the network has attention: it makes up {share} of the decision, others the rest."
EXPECTED = "Numbers are differences of the expected number of the classes."
UNIT = "Numbers are in the unit of the predicted number."
ODDS = "Numbers are log-odds: +0.7 doubles the odds, \N{MINUS SIGN}0.7 halves them."
SUM = "An empty document and all sentences add up to the {} of the document."
SUM_OF_COLUMNS = (
    "An empty document, all sentences and all columns add up to the {} of the document."
)
UNCLEAR = "Numbers with \N{ALMOST EQUAL TO} are unclear: within two standard errors of 0."
THRESHOLDS = (
    "After the probability of a label, and as a tick on its bar, is its threshold: the lowest "
    "probability at which a document gets the label."
)
TOKENS = "[In brackets]: words of the tokenizer without a place of their own in the text."


@dataclass(frozen=True, eq=False)
class Shading:
    """Values of the words (n_words,), sentences (n_sentences,) and columns (C,) of a document."""

    words: NDArray[np.float64]
    sentences: NDArray[np.float64]
    columns: NDArray[np.float64]
    signed: bool
    title: Callable[[int], str]  # returns the tooltip of a word
    errors: NDArray[np.float64] | None = None  # standard errors of sentences, (n_sentences,)
    # The log-odds of an empty document; None if contributions do not add up to those of the
    # document.
    base: float | None = None
    # Shadings of the same document for other classes, which share the colour scale.
    others: tuple[Shading, ...] = ()

    @cached_property
    def word_limit(self) -> float:
        """Largest magnitude of a word in the document: the end of the colour scale."""
        return max(float(np.abs(s.words).max(initial=0.0)) for s in (self, *self.others))

    @cached_property
    def values(self) -> NDArray[np.float64]:
        """Values of sentences, then of columns; their bars have a common scale."""
        return np.concatenate([self.sentences, self.columns])

    @cached_property
    def limit(self) -> float:
        """Largest magnitude of a sentence or column in the document: the length of a full bar."""
        return max(float(np.abs(s.values).max(initial=0.0)) for s in (self, *self.others))

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

    def is_unclear(self, place: int) -> bool:
        """Return whether the value of a sentence is within two standard errors of 0."""
        if self.errors is None or place >= len(self.errors):
            return False
        return bool(abs(self.values[place]) < 2 * self.errors[place])

    def format_value(self, place: int) -> str:
        """Format the value of a sentence or column, without decimals if it is unclear."""
        value = float(self.values[place])
        if self.is_unclear(place):
            return f"\N{ALMOST EQUAL TO}{value:+.0f}" if round(value) else "\N{ALMOST EQUAL TO}0"
        return number(value, self.signed)

    def sum_note(self) -> str:
        """Return a sentence on what the values add up to, or "" if they do not add up."""
        if self.base is None:
            return ""
        with_words = self.base + float(self.sentences.sum())
        note = f"{number(self.base, True)} for an empty document, "
        note += f"{number(with_words, True)} with all sentences"
        if self.columns.any():
            note += f", {number(with_words + float(self.columns.sum()), True)} with the columns"
        return note

    def share(self, place: int) -> float:
        """Return the share of a full bar that a sentence or column fills, from 0 to 1."""
        return abs(float(self.values[place])) / (self.limit or 1.0)

    def fold_note(self, run: range) -> str:
        """Describe folded sentences by their number and the sum of their values."""
        total = float(self.sentences[run.start : run.stop].sum())
        of = "in sum" if self.signed else "of the attention"
        return f"{len(run)} sentences with {number(total, self.signed)} {of}"


def too_weak(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which words are too weak to matter, shape (n_words,).

    They are the weakest words whose magnitudes sum to at most `WEAK_SHARE` of the total. Of words
    with equal magnitude, all are weak or none is.
    """
    magnitudes = np.abs(values)
    rising = np.sort(magnitudes)
    n_weak = int((np.cumsum(rising) <= WEAK_SHARE * magnitudes.sum()).sum())
    # Only if all values are zero can all be weak.
    if n_weak == len(values):
        return np.ones(n_weak, dtype=bool)
    return magnitudes < rising[n_weak]


def make_shading(explanation: Explained) -> Shading:
    """Return the values of an explanation that are shown."""
    signed, words = explanation.signed, explanation.contributions
    combined = explanation.combined_attention

    def title(word: int) -> str:
        sentence = explanation.sentence_attention[explanation.sentence_of_word[word]]
        attention = (
            f"attention {brief(combined[word])} = sentence {brief(sentence)} "
            f"\N{MULTIPLICATION SIGN} word {brief(explanation.word_attention[word])}"
        )
        return f"contribution {brief(words[word], True)}, {attention}" if signed else attention

    sentences, columns = explanation.sentence_contributions, explanation.column_contributions
    # A single class has no log-odds that contributions could add up to.
    adds_up = len(sentences) > 0 and len(explanation.classes) > 1
    base = explanation.base_value if adds_up else None
    return Shading(words, sentences, columns, signed, title, explanation.sentence_errors, base)


def side_by_side(explanations: Sequence[Explained]) -> list[Shading]:
    """Return shadings of one document for several classes, with a common colour scale."""
    shadings = tuple(map(make_shading, explanations))
    return [replace(shading, others=shadings) for shading in shadings]


def text_rows(explanation: Explained) -> list[Row]:
    """Split the text of an explanation into rows, whose concatenated pieces are the whole text.

    Only the names of its fields are added, if it has several.

    Words without a position of their own, such as lemmas, are shown in brackets before the next
    word. Text between two sentences belongs to the row of the first one, and text before the first
    sentence to its row. In a truncated document, the text after the last sentence that was read is
    a row of its own.
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
        fields = explanation.sentence_fields
        if fields and (i == 0 or fields[i] != fields[i - 1]):
            pieces.insert(0, Piece(f"{fields[i]}: "))
        rows.append(Row(i, [piece for piece in pieces if piece.text]))
    if starts[-1] < len(text):
        rows.append(Row(None, [Piece(text[starts[-1] :], unread=True)]))
    return rows


def fold_runs(weights: NDArray[Any], n_open: int) -> list[tuple[range, bool]]:
    """Split sentences into runs; return each run, and whether it is folded.

    The `n_open` sentences of largest magnitude stay open, and the runs between them are folded.
    Runs of one or two sentences stay open too, since a fold takes as much space.
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
    """Return whether the rest of a sentence or text has words that a limit cut off."""
    return explanation.truncated and any(map(str.isalnum, rest))


def label_spans(answer: Any, explanation: Explained | None = None) -> list[Any]:
    """Name a class, the labels of a document that may have several, a tuple, or a number."""
    if explanation is not None and explanation.is_number:
        return [Span(amount(answer))]
    if not isinstance(answer, tuple):
        return [Span(answer)]
    parts: list[Any] = []
    for label in answer:
        parts += [", "] * bool(parts) + [Span(label)]
    return parts or ["no label"]


def explains_its_answer(explanation: Explained) -> bool:
    """Return whether an explanation is for exactly the predicted class or labels."""
    if explanation.expected is not None:
        return bool(explanation.is_number)
    if explanation.labels is None:
        return explanation.against is None and bool(explanation.predicted == explanation.target)
    return explanation.labels == (explanation.target,)


def comparison(explanation: Explained) -> list[Any]:
    """Name the class that an explanation is for, and the one that it is compared with."""
    if explanation.is_number:
        return [f"the predicted number, {amount(explanation.expected)}"]
    if explanation.expected is not None:
        return [f"the expected number, {explanation.expected:.2f}"]
    rival = explanation.against
    return [Span(explanation.target), *([] if rival is None else [" rather than ", Span(rival)])]


def target_name(explanations: Sequence[Explained]) -> list[Any]:
    """Return the name of the explained class, or a description if explanations differ in it."""
    targets = [comparison(explanation) for explanation in explanations]
    if all(target == targets[0] for target in targets):
        return targets[0]
    is_class = explanations[0].labels is None
    if explanations[0].expected is not None:
        return ["a higher number" if explanations[0].is_number else "a higher expected number"]
    if all(e.target == e.predicted and e.against is None for e in explanations):
        return ["the predicted class" if is_class else "the most probable label"]
    return [f"the {'class' if is_class else 'label'} named above them"]


def format_probability(explanation: Explained, i: int) -> str:
    """Format the probability of a label, and compare it with its threshold, if there is one.

    Both get as many decimals as are needed to tell them apart.
    """
    probability, thresholds = explanation.probabilities[i], explanation.thresholds
    if thresholds is None:
        return f"{probability:.3f}"
    threshold = thresholds[i]
    sign = "\N{GREATER-THAN OR EQUAL TO}" if probability >= threshold else "<"
    for decimals in (3, 4, 5, 6):
        texts = f"{probability:.{decimals}f}", f"{threshold:.{decimals}f}"
        if probability == threshold or texts[0] != texts[1]:
            break
    return f" {sign} ".join(texts)


def select_classes(explanation: Explained, n: int, true: Any, *, with_target: bool) -> list[int]:
    """Return the numbers of the labels to show: n likeliest, predicted and true ones, and target.

    For an expected number, all classes are shown in their order.
    """
    if explanation.expected is not None:
        return [*range(len(explanation.classes))]
    order = np.argsort(-explanation.probabilities, kind="stable").tolist()
    needed = explanation.labels or ()
    needed += true if isinstance(true, tuple) else ()
    shown = [i for place, i in enumerate(order) if place < n or explanation.classes[i] in needed]
    target = explanation.classes.tolist().index(explanation.target)
    return [*shown, target] if with_target and target not in shown else shown


def mistake_kind(explanation: Explained, i: int, true: Any) -> str:
    """Return "missed" or "wrongly given" for a wrong label; "" if right, or truth is unknown."""
    if explanation.labels is None or not isinstance(true, tuple):
        return ""
    label = explanation.classes[i]
    if (label in explanation.labels) == (label in true):
        return ""
    return "missed" if label in true else "wrongly given"


def prediction(explanation: Explained, true: Any = None) -> list[Any]:
    """Return what is predicted, and the likeliest probabilities, in one line of a terminal."""
    if explanation.is_number:
        return ["predicted ", *label_spans(explanation.answer, explanation)]
    shown = select_classes(explanation, 3, true, with_target=True)
    classes = ", ".join(
        f"{in_one_line(explanation.classes[i])} {format_probability(explanation, i)} "
        f"{mistake_kind(explanation, i, true)}".rstrip()
        for i in shown
    )
    head = ["predicted ", *label_spans(explanation.answer, explanation), f" ({classes})"]
    explained = [", explained ", *comparison(explanation)]
    return head if explains_its_answer(explanation) else head + explained


def document_blocks(explanations: Sequence[Explained], true: Any = None) -> list[Block]:
    """Return probabilities and shaded text of one document, without a legend.

    Several explanations are for several classes, side by side with a common colour scale. With
    several labels per document, `true` is the tuple of its true labels.
    """
    first, alone = explanations[0], len(explanations) == 1
    shown = select_classes(first, CLASSES_SHOWN, true, with_target=alone)
    rows = []
    for i in shown:
        threshold = None if first.thresholds is None else float(first.thresholds[i])
        verdict = mistake_kind(first, i, true)
        rows.append(
            [
                Span(amount(first.classes[i]) if first.is_number else first.classes[i]),
                Bar(float(first.probabilities[i]), "", threshold),
                [
                    Span(format_probability(first, i), "number"),
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
    return [*blocks, shade_document(explanations)]


def shade_document(explanations: Sequence[Explained]) -> Shaded:
    """Return the shaded text and columns of one document, once for each of its explanations."""
    first, shadings = explanations[0], side_by_side(explanations)
    heads: list[Text] = []
    for e in explanations if len(explanations) > 1 else ():  # for several classes
        p = format_probability(e, e.classes.tolist().index(e.target))
        heads.append([*comparison(e), " ", Span(p, "number")])
    largest = np.abs([shading.columns for shading in shadings]).max(axis=0)  # (C,)
    table = [
        Row(
            len(first.sentence_spans) + i,
            [Piece(f"{first.column_names[i]} = {in_one_line(first.column_values[i], 60)}")],
        )
        for i in np.argsort(-largest, kind="stable").tolist()
        if largest.any()
    ]
    return Shaded(text_rows(first), shadings, first.unknown, heads, table)


def legend(explanations: Sequence[Explained], *, on_page: bool = True) -> list[Block]:
    """Return the sentences on the meaning of colours and numbers that apply to explanations."""
    read = [e for e in explanations if len(e.word_spans)]
    if not read:
        return [Sentence(NO_WORDS, "han-small")] if explanations and on_page else []
    methods = {e.method for e in read}
    of_class = [e for e in read if e.method in methods - {"attention", "random"}]
    is_exact = any(e.base_value is not None and len(e.sentence_spans) for e in of_class)
    shadings = [make_shading(e) for e in of_class]
    with_columns = any(shading.columns.any() for shading in shadings)
    shares = [e.network_share for e in read]
    network = " to ".join(dict.fromkeys(map(percent, (min(shares), max(shares)))))
    target = target_name(of_class) if of_class else []
    is_number = read[0].is_number
    score = "predicted number" if is_number else "expected number"
    score = "log-odds" if read[0].expected is None else score
    sentences: list[tuple[Any, Text]] = [
        (
            of_class and on_page,
            [Span("Blue", "p6"), " words speak for ", *target, ", ", Span("orange", "m6"), BLUE],
        ),
        (of_class and not on_page, ["Plus speaks for ", *target, ", minus against it."]),
        ("attention" in methods and on_page, GREEN),
        *((method in methods, text) for method, text in MEANINGS.items()),
        ("attention" in methods and min(shares) < 1, NETWORK.format(share=network)),
        (
            of_class,
            ODDS if read[0].expected is None else UNIT if is_number else EXPECTED,
        ),
        (is_exact, (SUM_OF_COLUMNS if with_columns else SUM).format(score)),
        (any(s.is_unclear(i) for s in shadings for i in range(len(s.values))), UNCLEAR),
        (on_page and any(e.thresholds is not None for e in explanations), THRESHOLDS),
        (on_page and len(explanations) > 1, "Compare shades within a document, not between them."),
        (
            on_page and any(e.unknown.any() for e in read),
            [Span("dotted", "unknown"), ": not in the vocabulary."],
        ),
        (on_page and any(e.truncated for e in read), [Span("hatched", "unread"), ": not read."]),
        (any(e.tokens is not None for e in read), TOKENS),
    ]
    parts = [part for applies, text in sentences if applies for part in (*text_parts(text), " ")]
    return [Sentence(parts[:-1], "han-legend han-small")]
