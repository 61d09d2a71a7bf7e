"""Find names in sentences: learn from generated ones, draw the labels of others.

Prints tagged sentences with names that training never saw, and writes tags.html.
"""

import random

from sk_han import SequenceTagger
from sk_han.rendering import tagged_html, tagged_text

FIRST = ["Anna", "Ben", "Clara", "David", "Emil", "Frida", "Gustav", "Hanna", "Ivan", "Julia"]
LAST = ["Weber", "Olsson", "Brandt", "Moreau", "Novak", "Silva", "Keller", "Lindgren", "Rossi"]
PLACES = ["Berlin", "New York", "Oslo", "San Marino", "Lisbon", "Cape Town", "Graz", "Lake Garda"]
SENTENCES = [
    "<PER> flew from <LOC> to <LOC> in May .",
    "In <LOC> , <PER> met <PER> and old friends .",
    "The May issue , says <PER> , was printed in <LOC> .",
    "<PER> and <PER> like <LOC> .",
    "Nobody in <LOC> had heard of <PER> .",
]


def generated(n: int, rng: random.Random, known: bool) -> tuple[list[list[str]], list[list[str]]]:
    """Give sentences and labels: with the first names of each list, or with the others."""

    def some(names: list[str]) -> str:
        return rng.choice(names[: len(names) // 2] if known else names[len(names) // 2 :])

    X, y = [], []
    for _ in range(n):
        tokens, labels = [], []
        for word in rng.choice(SENTENCES).split():
            kind = word.strip("<>") if word[0] == "<" else ""
            name = f"{some(FIRST)} {some(LAST)}" if kind == "PER" else some(PLACES)
            words = name.split() if kind else [word]
            tokens += words
            labels += [f"{'I' if i else 'B'}-{kind}" if kind else "O" for i in range(len(words))]
        X.append(tokens)
        y.append(labels)
    return X, y


rng = random.Random(0)
X, y = generated(300, rng, known=True)
new_sentences, new_labels = generated(100, rng, known=False)
tagger = SequenceTagger(scheme="iob2", word_dropout=0.2, max_epochs=10, random_state=0).fit(X, y)
print(
    f"\ntokens labelled right, all names unknown: {tagger.score(new_sentences, new_labels):.3f}\n"
)
found = tagger.predict(new_sentences)
print(tagged_text(new_sentences[:6], found[:6]))
with open("tags.html", "w", encoding="utf-8") as file:
    file.write(tagged_html(new_sentences[:30], found[:30]))
print("\nThirty of them, coloured, are in tags.html: open it in a browser.")
