"""Words of a translation, and how a text is written from them: spaces and capitals."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sk_han.documents import DocumentArray
from sk_han.text.characters import CHARACTER_MARKS, CHARACTER_WORDS, WORD_CHARACTERS

# No sign may be lost, so each is a word, the hyphen of "T-shirt" too. What follows an apostrophe
# is a word of its own: "man's" and "woman's" share theirs.
SIGN_PATTERN = (
    f"(?<=[{WORD_CHARACTERS}])['’][{WORD_CHARACTERS}]+|[{WORD_CHARACTERS}]+"
    f"|[{CHARACTER_WORDS}](?:[{CHARACTER_MARKS}])*|[^\\s]"
)

GLUED_BEFORE, GLUED_AFTER = 1, 2
_ENDS = ".!?…。！？"
_WORD = re.compile(f"[{WORD_CHARACTERS}]+")


def learn_forms(
    texts: Sequence[str],
    documents: DocumentArray,
    spans: Sequence[NDArray[np.int64]],
    vocabulary: Mapping[str, int],
) -> tuple[list[str], NDArray[np.int64], bool]:
    """Learn how each word of a vocabulary is written, from texts, ids and spans (n_words, 2).

    By word id: the form in most places within sentences, empty where an id has no word; for signs
    `GLUED_BEFORE` and `GLUED_AFTER`. And whether most texts start with a capital.
    """
    vocabulary_size = max(vocabulary.values()) + 1
    bounds = documents.word_starts
    ids = [documents.word_ids[a:b] for a, b in pairwise(bounds)]
    inside: dict[int, Counter[str]] = defaultdict(Counter)
    first: dict[int, Counter[str]] = defaultdict(Counter)
    # Columns: places with a word before, and without white space there; the same behind.
    counts = np.zeros((vocabulary_size, 4), dtype=np.int64)
    n_capital = n_cased = 0
    for text, numbers, places in zip(texts, ids, spans, strict=True):
        starts, ends = places[:, 0].tolist(), places[:, 1].tolist()
        words = [text[a:b] for a, b in zip(starts, ends, strict=True)]
        if words and words[0][:1].lower() != words[0][:1].upper():
            n_cased += 1
            n_capital += words[0][0] == words[0][0].upper()
        for i, (number, word) in enumerate(zip(numbers.tolist(), words, strict=True)):
            begins = i == 0 or words[i - 1] in _ENDS
            (first if begins else inside)[number][word] += 1
            if i > 0:
                glued = ends[i - 1] == starts[i]
                counts[number] += (1, glued, 0, 0)
                counts[numbers[i - 1]] += (0, 0, 1, glued)
    forms = [""] * vocabulary_size
    for word, number in vocabulary.items():
        found = inside.get(number) or first.get(number) or Counter([word])
        forms[number] = min(found.items(), key=lambda item: (-item[1], item[0]))[0]
    glued = GLUED_BEFORE * (2 * counts[:, 1] > counts[:, 0])
    glued = glued + GLUED_AFTER * (2 * counts[:, 3] > counts[:, 2])
    # A sign is glued, and the words beside it are not, however often they stand beside signs.
    glued[[not form or _WORD.fullmatch(form) is not None for form in forms]] = 0
    return forms, glued, 2 * n_capital > n_cased


def written(words: Iterable[tuple[str, int]], capitals: bool) -> str:
    """Write a text from its words, each as it is written and with its number of `glued`."""
    text, joins, begins = "", True, capitals
    for word, glued in words:
        if begins:
            word = word[:1].upper() + word[1:]
        text += word if joins or glued & GLUED_BEFORE else f" {word}"
        joins, begins = bool(glued & GLUED_AFTER), capitals and word in _ENDS
    return text
