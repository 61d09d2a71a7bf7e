"""Documents whose sentences have a sign of their own, for `benchmarks/sentence_ranking.py`.

Where people labelled or marked passages of many documents, new documents are made of these: each
holds passages of both signs, so whoever gives all sentences of a document the sign of the
document ranks them badly.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

import corpora
import numpy as np
from faithfulness import movie_rationales
from numpy.typing import NDArray

from sk_han.datasets import make_reviews

Passage = tuple[int, int, bool]  # start, end, whether it is positive

N_DOCUMENTS = 200  # to rank the sentences of
N_TRAINING = 2_000


class Documents(NamedTuple):
    """Texts, and the passages of each that have a sign."""

    texts: list[str]
    passages: list[list[Passage]]


class Labelled(NamedTuple):
    """Texts to train on; labels are "neg" or "pos"."""

    texts: list[str]
    labels: NDArray


def composed(pieces: Sequence[tuple[str, bool]], size: int, n: int, seed: int) -> Documents:
    """Make documents of `size` passages; each is of either sign by chance."""
    rng = random.Random(seed)
    of_sign = {sign: [text for text, s in pieces if s == sign] for sign in (False, True)}
    texts, passages = [], []
    for _ in range(n):
        text, found = "", []
        for _ in range(size):
            sign = rng.random() < 0.5
            piece = rng.choice(of_sign[sign])
            if text:
                text += "\n\n"
            found.append((len(text), len(text) + len(piece), sign))
            text += piece
        texts.append(text)
        passages.append(found)
    return Documents(texts, passages)


def with_labels(documents: Documents) -> Labelled:
    """Label documents with the sign of most of their passages."""
    votes = [sum(1 if sign else -1 for *_, sign in found) for found in documents.passages]
    return Labelled(documents.texts, np.where(np.array(votes) > 0, "pos", "neg"))


def signed(labels: Sequence[str]) -> NDArray:
    """Name labels by their sign."""
    return np.where([label.lower().startswith("pos") for label in labels], "pos", "neg")


# Film reviews


def imdb_training() -> Labelled:
    texts, labels = corpora.imdb("train")
    rows = np.random.RandomState(0).permutation(len(texts))[:N_TRAINING]
    return Labelled([texts[row] for row in rows], signed(labels[rows]))


def imdb_mixed(part: int) -> Documents:
    """First sentences of reviews of both signs in one document: noisy, reviews weigh both."""
    texts, labels = corpora.imdb("test")
    rows = np.random.RandomState(1).permutation(len(texts))[2_000 * part : 2_000 * (part + 1)]
    pieces = []
    for row in rows:
        start = re.split(r"(?<=[.!?])\s+", texts[row].replace("<br />", " "))
        pieces.append((" ".join(start[:3]), str(labels[row]) == "pos"))
    return composed(pieces, 5, N_DOCUMENTS, part)


def movies_evidence(part: int) -> Documents:
    """Reviews of ERASER with what people marked as evidence: part 0 of "train", part 1 "val"."""
    texts, labels, spans = movie_rationales(("train", "val")[part])
    rows = np.random.RandomState(0).permutation(len(texts))[:N_DOCUMENTS]
    return Documents(
        [texts[row] for row in rows],
        [[(*span, signed([labels[row]])[0] == "pos") for span in spans[row]] for row in rows],
    )


def movies_training(part: int) -> Labelled:
    """The reviews of ERASER's "train", less those that are ranked in part 0."""
    texts, labels = corpora.movies("train")
    rows = np.random.RandomState(0).permutation(len(texts))
    rows = rows[N_DOCUMENTS:] if part == 0 else rows
    return Labelled([texts[row] for row in rows], signed(labels[rows]))


def movies_mixed(part: int) -> Documents:
    """Documents of marked passages of both signs."""
    documents = movies_evidence(part)
    pieces = [
        (" ".join(text[start:end].split()), sign)
        for text, found in zip(*documents, strict=True)
        for start, end, sign in found
        if len(text[start:end].split()) >= 5
    ]
    return composed(pieces, 7, N_DOCUMENTS, part)


# Tweets to airlines


def airline_pieces(part: int) -> list[tuple[str, bool]]:
    """Tweets of one sentence, positive or negative: parts 0 and 1 to rank, 2 to train on."""
    texts, labels = corpora.airline()
    rows = np.random.RandomState(42).permutation(len(texts))
    chosen = np.array_split(rows[: len(rows) // 3], 2)[part] if part < 2 else rows[len(rows) // 3 :]
    return [
        (texts[row], str(labels[row]) == "positive")
        for row in chosen
        if labels[row] != "neutral" and not re.search(r"[.!?]\s", texts[row])
    ]


def airline_training() -> Labelled:
    return with_labels(composed(airline_pieces(2), 5, N_TRAINING, 7))


def airline_mixed(part: int) -> Documents:
    return composed(airline_pieces(part), 7, N_DOCUMENTS, part)


# Generated reviews


def generated_training() -> Labelled:
    texts, labels = make_reviews(N_TRAINING, random_state=1_000)
    return Labelled(texts, signed(labels))


def generated(part: int) -> Documents:
    """The clauses of `make_reviews` that carry the label, which have one sign in a document."""
    texts, labels, rationales = make_reviews(
        N_DOCUMENTS, random_state=2_000 + part, return_rationales=True
    )
    return Documents(
        texts,
        [
            [(*span, label == "positive") for span in spans]
            for label, spans in zip(labels, rationales, strict=True)
        ],
    )


_OTHER_ITEMS = ("sofa", "bicycle", "watch", "printer", "mattress", "guitar", "jacket", "pram")
_OTHER_SUBJECTS = ("this {}", "the {} itself", "my new {}", "the {} reviewed here", "our new {}")
_OTHER_ADJECTIVES = {
    True: ("good", "excellent", "wonderful", "pleasant", "impressive", "satisfying"),
    False: ("bad", "poor", "terrible", "dreadful", "disappointing", "annoying"),
}
# A sentence, and whether it turns the sign of its adjective.
_OTHER_JUDGEMENTS = (
    ("As far as I can tell, {} is {}.", False),
    ("{} was {} from the first day.", False),
    ("My whole family thinks {} is simply {}!", False),
    ("You will see that {} is rather {}.", False),
    ("In use {} was not {}.", True),
    ("{} is hardly {} when you look at it twice.", True),
    ("I would not say that {} is {}.", True),
    ("{} was never {}, whatever I tried.", True),
)
_OTHER_FILLERS = (
    "We carried it up two stairs.",
    "It stands beside the window now.",
    "The colour is called ocean.",
    "I read the leaflet in the train.",
    "It came in a large bag on Monday.",
    "My aunt has the older model.",
)


def other_generated(part: int) -> Documents:
    """Generated reviews of another kind: other sentences, items and fillers, both signs in one."""
    rng = random.Random(part)
    texts, passages = [], []
    for _ in range(N_DOCUMENTS):
        item, text, found = rng.choice(_OTHER_ITEMS), "", []
        for _ in range(rng.randint(6, 10)):
            text += " " if text else ""
            if rng.random() < 0.4:
                text += rng.choice(_OTHER_FILLERS)
                continue
            sign, (template, turns) = rng.random() < 0.5, rng.choice(_OTHER_JUDGEMENTS)
            adjective = rng.choice(_OTHER_ADJECTIVES[sign != turns])
            sentence = template.format(rng.choice(_OTHER_SUBJECTS).format(item), adjective)
            found.append((len(text), len(text) + len(sentence), sign))
            text += sentence[0].upper() + sentence[1:]
        texts.append(text)
        passages.append(found)
    return Documents(texts, passages)


TRAINING: dict[str, Callable[[int], Labelled]] = {
    "imdb": lambda part: imdb_training(),
    "movies": movies_training,
    "airline": lambda part: airline_training(),
    "generated": lambda part: generated_training(),
}
# By name: what is learnt from, and documents for part 0 (choice) and 1 (test).
TASKS: dict[str, tuple[str, Callable[[int], Documents]]] = {
    "imdb, same": ("imdb", imdb_mixed),
    "movies, same": ("movies", movies_evidence),
    "airline, same": ("airline", airline_mixed),
    "generated, same": ("generated", generated),
    "imdb on movies": ("imdb", movies_evidence),
    "imdb on movies mixed": ("imdb", movies_mixed),
    "imdb on airline": ("imdb", airline_mixed),
    "airline on movies mixed": ("airline", movies_mixed),
    "generated on other": ("generated", other_generated),
}


def imdb_reviews(part: int) -> list[str]:
    texts, _ = corpora.imdb("test")
    return [texts[row] for row in np.random.RandomState(5 + part).permutation(len(texts))[:200]]


# What comprehensiveness is measured on, by what was learnt from.
RANKED: dict[str, Callable[[int], list[str]]] = {
    "imdb": imdb_reviews,
    "movies": lambda part: movies_evidence(part).texts,
    "generated": lambda part: generated(part).texts,
}
