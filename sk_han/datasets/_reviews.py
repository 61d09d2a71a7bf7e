"""Synthetic reviews with known rationales: a few sentences of each carry the label."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any, TypeAlias

import numpy as np

Span: TypeAlias = tuple[int, int]
# A sentence, and the span of the clause that carries the label, if it has one.
_Sentence: TypeAlias = tuple[str, Span | None]
_NOT = re.compile(r"\b(is|was|would) not ")
_SLOT = re.compile(r"\{(\w+)\}")

# The grades of judgement, -2 to 2, of each class.
GRADES: Mapping[int, Mapping[str, tuple[int, ...]]] = {
    2: {"negative": (-2, -1), "positive": (1, 2)},
    3: {"negative": (-2, -1), "neutral": (0,), "positive": (1, 2)},
    4: {"very negative": (-2,), "negative": (-1,), "positive": (1,), "very positive": (2,)},
    5: {
        "very negative": (-2,),
        "negative": (-1,),
        "neutral": (0,),
        "positive": (1,),
        "very positive": (2,),
    },
}


def make_reviews(
    n_samples: int = 2000,
    *,
    n_classes: int = 2,
    random_state: int | np.random.RandomState | None = None,
    return_rationales: bool = False,
) -> Any:
    """Generate product reviews whose label depends on the sentences about the product.

    One to three clauses of a review judge the reviewed item, and only these carry the label. The
    other sentences judge other things (the neighbour's kettle, the film of that evening) or quote
    hearsay about the item, in the same words and with either sign, or judge nothing. Half of all
    judgements are negated, so a word of praise is equally frequent in all classes. To find the
    label, a model has to find the sentences about the item, and read what they say.

    Parameters
    ----------
    n_samples : int, default=2000
        Number of reviews. The classes are of equal size, or differ by one review, and are
        shuffled.
    n_classes : {2, 3, 4, 5}, default=2
        "negative" and "positive"; with 3 classes also "neutral"; with 4 "very negative",
        "negative", "positive" and "very positive"; with 5 all of these.
    random_state : int, RandomState instance or None, default=None
        The same int gives the same reviews on every platform.
    return_rationales : bool, default=False
        Whether to return the spans of each text that carry the label.

    Returns
    -------
    texts : list of str, length n_samples
        Reviews of 6 to 13 sentences, about 100 words.
    labels : ndarray of str, shape (n_samples,)
    rationales : list of list of (int, int), length n_samples
        For each review, in the order of the text, the start and end of the clauses that carry its
        label: ``text[start:end]``. The rest of the text is statistically independent of the
        label. Only if `return_rationales` is true.

    Raises
    ------
    ValueError
        If `n_samples` is below 1, or `n_classes` is not 2, 3, 4 or 5.

    Notes
    -----
    Logistic regression on TF-IDF with ``C=10``, fitted on 1,500 reviews, has an accuracy on 500
    others of about 50 % with words and of 68 to 75 % with words and pairs of words; with five
    classes, of about 48 and 64 to 68 %.
    2,000 reviews take about 0.2 seconds.

    Examples
    --------
    >>> import textwrap
    >>> from sk_han.datasets import make_reviews
    >>> texts, labels, rationales = make_reviews(4, random_state=0, return_rationales=True)
    >>> labels.tolist()
    ['negative', 'positive', 'positive', 'negative']
    >>> print(textwrap.fill(texts[1], 80))
    I bought a radio in August, from a dealer in Porto, and this is my report. The
    radio reviewed here was not exactly terrible. Delivery cost another four euros,
    and I paid by card. My sister's kettle was not pleasant. I use it about seven
    times a week, usually in the kitchen. The electric drill in our hotel room never
    once disappointed me. A magazine wrote that this radio is on the whole annoying.
    I chose the black one; there was also one in grey.
    >>> [texts[1][start:end] for start, end in rationales[1]]
    ['The radio reviewed here was not exactly terrible']
    """
    if isinstance(n_samples, bool) or not isinstance(n_samples, Integral) or n_samples < 1:
        raise ValueError(f"n_samples must be an integer of at least 1; got {n_samples!r}.")
    if n_classes not in GRADES:
        raise ValueError(f"n_classes must be 2, 3, 4 or 5; got {n_classes!r}.")
    # Loading tables, which imports this module too, does not need scikit-learn.
    from sklearn.utils import check_random_state

    rng = check_random_state(random_state)
    scale = GRADES[n_classes]
    labels = np.array(list(scale))[rng.permutation(np.arange(n_samples) % len(scale))]
    reviews = [_Writer(rng, scale).review(label) for label in labels]
    texts, rationales = map(list, zip(*reviews, strict=True))
    return (texts, labels, rationales) if return_rationales else (texts, labels)


class _Writer:
    """Writes one review; it keeps the reviewed item, and the phrases that are still unused.

    Only the sentences of `_verdict` may depend on the label. So phrases that they share with other
    sentences are drawn with replacement (`_draw`), since without (`_deal`) the phrases of other
    sentences would depend on those of a verdict.
    """

    def __init__(self, rng: np.random.RandomState, scale: Mapping[str, Sequence[int]]) -> None:
        self._rng = rng
        self._scale = scale
        self._decks: dict[Sequence[Any], list[Any]] = {}
        self._item = self._deal(ITEMS)

    def review(self, label: str) -> tuple[str, list[Span]]:
        """Write a review with this label; return it with the spans that carry the label."""
        body = [self._verdict(label) for _ in range(self._draw((1, 2, 3, 3)))]
        body += [(self._digression(), None) for _ in range(self._draw((1, 2, 3)))]
        body += [(self._hearsay(), None) for _ in range(self._draw((0, 1, 1)))]
        body += [(self._fill(FILLERS), None) for _ in range(self._draw((3, 4)))]
        opening: list[_Sentence] = [(self._fill(OPENINGS), None)]
        closing = [(self._fill(CLOSINGS), None)] if self._chance(0.3) else []
        return self._join(opening + [body[i] for i in self._rng.permutation(len(body))] + closing)

    def _verdict(self, label: str) -> _Sentence:
        """Judge the item under review."""
        item = self._fill(REVIEWED)
        grade = self._draw(self._scale[label])
        clause = self._judgement(item, self._draw(("is", "was")), grade)
        return self._sentence(clause)

    def _digression(self) -> str:
        """Judge something else."""
        return self._sentence(self._other_judgement())[0]

    def _hearsay(self) -> str:
        """Quote the judgement of others about the item under review."""
        clause = f"this {self._item} is {self._predicate(self._any_grade())}"
        return self._fill(HEARSAY, clause=clause) + self._stop()

    def _sentence(self, clause: str) -> _Sentence:
        """Turn a clause into a sentence, sometimes with a judgement of something else in it."""
        before = after = ""
        if self._chance(0.06):
            before = self._draw(LEADS)
        elif self._chance(0.05):
            before, joint = self._draw(CONTRASTS)
            if self._chance(0.5):
                after = joint + self._other_judgement()
            else:
                before += self._other_judgement() + joint
        text = before + clause + after + self._stop()
        return text, (len(before), len(before) + len(clause))

    def _other_judgement(self) -> str:
        if self._chance(0.4):
            return self._judgement(self._fill(OTHER_THINGS), "was", self._any_grade())
        item = self._item if self._chance(0.5) else self._deal(ITEMS)
        subject = self._fill(OTHER_ITEMS, item=item)
        return self._judgement(subject, self._draw(("is", "was")), self._any_grade())

    def _judgement(self, subject: str, copula: str, grade: int) -> str:
        if self._chance(0.8):
            clause = f"{subject} {copula} {self._predicate(grade)}"
        else:
            clause = self._grade_clause(grade, CLAUSES, BALANCED_CLAUSES, subject=subject)
        return _NOT.sub(r"\1n't ", clause) if self._chance(0.3) else clause

    def _predicate(self, grade: int) -> str:
        return self._grade_clause(grade, PREDICATES, BALANCED_PREDICATES)

    def _grade_clause(
        self,
        grade: int,
        unequal: Mapping[tuple[bool, bool], Sequence[str]],
        balanced: Sequence[str],
        **slots: str,
    ) -> str:
        """Write a judgement of this grade, negated in half of the cases."""
        negated = self._chance(0.5)
        sign = 1 if (grade < 0) == negated else -1
        template = self._draw(unequal[negated, abs(grade) == 2] if grade else balanced)
        return template.format(
            adjective=self._draw(ADJECTIVES[sign]),
            opposite=self._draw(ADJECTIVES[-sign]),
            pleased=self._draw(VERBS[sign]),
            displeased=self._draw(VERBS[-sign]),
            **slots,
        )

    def _any_grade(self) -> int:
        return self._draw(self._draw(tuple(self._scale.values())))

    def _stop(self) -> str:
        return "!" if self._chance(0.05) else "."

    def _fill(self, templates: Sequence[str], **values: str) -> str:
        template = self._deal(templates)
        return _SLOT.sub(lambda slot: values.get(slot[1]) or self._slot(slot[1]), template)

    def _slot(self, name: str) -> str:
        if name == "item":
            return self._item
        if name.startswith("an_"):
            noun = self._slot(name.removeprefix("an_"))
            return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"
        return self._deal(SLOTS[name])

    def _join(self, sentences: Sequence[_Sentence]) -> tuple[str, list[Span]]:
        text, spans = "", []
        for sentence, verdict in sentences:
            if text:
                text += "\n\n" if self._chance(0.05) else " "
            if verdict:
                spans.append((len(text) + verdict[0], len(text) + verdict[1]))
            text += sentence[0].upper() + sentence[1:]
        return text, spans

    def _chance(self, probability: float) -> bool:
        return bool(self._rng.random_sample() < probability)

    def _draw(self, options: Sequence[Any]) -> Any:
        return options[int(self._rng.random_sample() * len(options))]

    def _deal(self, options: Sequence[Any]) -> Any:
        """Draw an option that this review has not used yet; start again when all are used."""
        left = self._decks.get(options) or list(options)
        self._decks[options] = left
        return left.pop(int(self._rng.random_sample() * len(left)))


ITEMS = (
    "kettle",
    "toaster",
    "blender",
    "lamp",
    "backpack",
    "keyboard",
    "tent",
    "umbrella",
    "camera",
    "radio",
    "armchair",
    "vacuum cleaner",
    "alarm clock",
    "electric drill",
    "iron",
    "coffee grinder",
)

# Words of judgement, by sign. A negated clause has the opposite meaning, and only judgements
# contain these words.
ADJECTIVES = {
    +1: ("good", "excellent", "wonderful", "pleasant", "impressive", "satisfying"),
    -1: ("bad", "poor", "terrible", "dreadful", "disappointing", "annoying"),
}

VERBS = {
    +1: ("pleased", "impressed", "delighted"),
    -1: ("disappointed", "annoyed", "frustrated"),
}

# Phrases after "is", by (negated, strong).
PREDICATES = {
    (False, False): ("{adjective}", "rather {adjective}", "on the whole {adjective}"),
    (False, True): ("truly {adjective}", "simply {adjective}", "{adjective} in every way"),
    (True, False): ("not {adjective}", "hardly {adjective}", "not exactly {adjective}"),
    (True, True): (
        "anything but {adjective}",
        "not {adjective} at all",
        "at no time {adjective}",
    ),
}

# Clauses, by (negated, strong); one in three has a verb, so that verbs are negated equally often.
CLAUSES = {
    (False, False): (
        "I would call {subject} {adjective}",
        "{subject} could fairly be called {adjective}",
        "{subject} {pleased} me up to a point",
    ),
    (False, True): (
        "I found {subject} {adjective} from beginning to end",
        "anyone would call {subject} {adjective}",
        "{subject} thoroughly {pleased} me",
    ),
    (True, False): (
        "I would not call {subject} {adjective}",
        "{subject} could hardly be called {adjective}",
        "{subject} hardly {pleased} me",
    ),
    (True, True): (
        "I never found {subject} {adjective}",
        "nobody could call {subject} {adjective}",
        "{subject} never once {pleased} me",
    ),
}

# The same for neutral judgements.
BALANCED_PREDICATES = (
    "neither {adjective} nor {opposite}",
    "{adjective} at first and {opposite} later on",
    "{adjective} in some ways and {opposite} in others",
    "half {adjective} and half {opposite}",
)

BALANCED_CLAUSES = (
    "I would call {subject} neither {adjective} nor {opposite}",
    "{subject} {pleased} me as often as it {displeased} me",
)

# Names of the reviewed item: only judgements of these carry the label.
REVIEWED = (
    "this {item}",
    "the {item} itself",
    "my new {item}",
    "our new {item}",
    "the {item} I ordered here",
    "the {item} reviewed here",
)

# Other items of the same kind.
OTHER_ITEMS = (
    "my old {item}",
    "my neighbour's {item}",
    "my sister's {item}",
    "the {item} at work",
    "the {item} I had before",
    "the {item} in our hotel room",
    "the {item} of another brand",
    "Mr. Hall's {item}",
)

# Things of other kinds, all in the past.
OTHER_THINGS = (
    "the film we watched meanwhile",
    "the book I was reading that week",
    "the café opposite the parcel office",
    "the weather on that day",
    "the concert the evening before",
    "the music in the shop",
    "the soup at the station",
    "our last holiday",
    "my daughter's school play",
    "the hotel we stayed at in {city}",
)

# Judgements of other people about the reviewed item.
HEARSAY = (
    "some people say that {clause}",
    "a magazine wrote that {clause}",
    "before I ordered, I had read that {clause}",
    "my brother-in-law insists that {clause}",
    "a man in the shop told me that {clause}",
    "other reviews on this page, e.g. the one from {month}, say that {clause}",
    "{clause}, or so my dentist claims",
    "{clause}, if you believe my colleagues",
)

# Beginnings of the writer's own judgements.
LEADS = ("honestly, ", "all in all, ", "in short, ", "to be fair, ")

# Two judgements in one sentence: (before the first, between the two).
CONTRASTS = (("", ", but "), ("", ", whereas "), ("while ", ", "))

OPENINGS = (
    "I bought {an_item} in {month}, from {shop} in {city}, and this is my report.",
    "At the end of {month} I needed {an_item}, so I ordered one from {shop} in {city}.",
    "This is a review of {an_item} that I have owned for {number} weeks now.",
    "We've had our {item} since {month}, and people keep asking us about it.",
    "My {relative} gave me {an_item} in {month}, and I have used it on most days since.",
    "I was looking for {an_item}, and {shop} had one for {price} euros.",
)

FILLERS = (
    "It arrived on a {day}, {number} days after I had placed the order.",
    "The parcel was left with Mrs. {surname} on the {floor} floor.",
    "The box is {colour} and weighs about {kilos} kg.",
    "I chose the {colour} one; there was also one in {colour}.",
    "The manual has {number} pages and covers several languages, e.g. {language} and {language}.",
    "Delivery cost another {number} euros, and I paid by card.",
    "There are {number} of us in the household, and we share most things.",
    "My {relative} lives in {city} and visits us in {month}.",
    "We moved here from {city} in {month}.",
    "I keep it in {room}, next to the {other_item}.",
    "The serial number is on the back (mine ends in {number}).",
    "The courier rang at {time} a.m. on {day}.",
    'It says "made in {city}" on the label.',
    "You can register it at www.example.com; I did so on {day}.",
    "The guarantee runs until {month} of next year.",
    "Did I mention that I live on the {floor} floor?",
    "My {relative} unpacked it while I was on the phone with my {relative}.",
    "A shop in {city} has {an_other_item} for {price} euros.",
    "I use it about {number} times a week, usually in {room}.",
    "In the box were the {item}, a manual and a {colour} card...",
)

CLOSINGS = (
    "That's all from me for now.",
    "I'll add photographs in {month}.",
    "Questions? Write to me and I'll reply by {day}.",
    "I hope this helps someone in {city}.",
)

SLOTS = {
    "city": ("Leeds", "Porto", "Utrecht", "Graz", "Lyon", "Bergen", "Turin", "Cork"),
    "colour": ("black", "white", "red", "green", "grey", "blue"),
    "day": ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"),
    "floor": ("first", "second", "third", "fourth"),
    "kilos": ("0.8", "1.5", "2.2", "3.4"),
    "language": ("French", "Polish", "Greek", "Korean", "Welsh", "Finnish"),
    "month": ("January", "March", "April", "June", "August", "October", "November"),
    "number": ("two", "three", "four", "five", "six", "seven", "eight", "nine"),
    "other_item": ITEMS,
    "price": ("19", "24.90", "35", "49.50", "60", "79"),
    "relative": ("aunt", "cousin", "uncle", "grandson", "niece"),
    "room": ("the kitchen", "the hall", "my study", "the spare room", "the garage"),
    "shop": ("a department store", "an online shop", "a dealer", "the corner shop"),
    "surname": ("Ito", "Novak", "Okafor", "Lindqvist", "Moreau"),
    "time": ("8.30", "9.15", "10.20", "11.45"),
}
