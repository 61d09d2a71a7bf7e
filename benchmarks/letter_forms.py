"""Accuracy on texts whose letters have other forms, or characters between them that nobody sees.

``OMP_NUM_THREADS=1 python benchmarks/letter_forms.py`` trains on texts as they are, and takes
4 minutes.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable

import numpy as np
from linear import tfidf
from results import add_save, publish
from splits import corpus_name, published

from sk_han import HANClassifier

LIGATURES = {"ffi": "ﬃ", "ffl": "ﬄ", "ff": "ﬀ", "fi": "ﬁ", "fl": "ﬂ", "st": "ﬆ"}
MARKS = {code: code + 0xFEE0 for code in range(0x21, 0x7F)}
WIDE = {code: wide for code, wide in MARKS.items() if chr(code).isalnum()}
BOLD = {
    code: first + code - ord(letter)
    for letter, first in (("A", 0x1D400), ("a", 0x1D41A))
    for code in range(ord(letter), ord(letter) + 26)
}


def in_long_words(character: str) -> Callable[[str], str]:
    """Put a character into each word of six letters or more, as software that hyphenates does."""
    return lambda text: re.sub(r"\b(\w{3})(?=\w{3})", rf"\1{character}", text)


FORMS: dict[str, Callable[[str], str]] = {
    "as written": str,
    "soft hyphen": in_long_words("\u00ad"),
    "zero-width space": in_long_words("\u200b"),
    "word joiner": in_long_words("\u2060"),
    "zero-width non-joiner": in_long_words("\u200c"),
    "ligatures": lambda text: re.sub("ffi|ffl|ff|fi|fl|st", lambda m: LIGATURES[m[0]], text),
    "full width": lambda text: text.translate(WIDE),
    "full width, marks too": lambda text: text.translate(MARKS),
    "bold letters of formulas": lambda text: text.translate(BOLD),
}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=corpus_name, default="imdb-2000")
    parser.add_argument("--documents", type=int, default=5_000, help="test documents")
    add_save(parser)
    arguments = parser.parse_args()
    split = published(arguments.data, 0)
    rows = np.random.default_rng(0).permutation(len(split.test_texts))[: arguments.documents]
    texts, labels = [split.test_texts[row] for row in rows], split.test_labels[rows]
    models = {"TF-IDF(1-2) + LR": tfidf(), "`HANClassifier`": HANClassifier(random_state=0)}
    for model in models.values():
        model.fit(split.train_texts, split.train_labels)
    table = []
    for form, change in FORMS.items():
        changed = [change(text) for text in texts]
        found = {name: np.mean(model.predict(changed) == labels) for name, model in models.items()}
        table.append({"accuracy, %": form} | {n: round(100 * s, 2) for n, s in found.items()})
    publish(f"letter_forms-{arguments.data}", table, arguments.save)


if __name__ == "__main__":
    main()
