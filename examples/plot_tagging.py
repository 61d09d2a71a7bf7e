"""
Named entities in sentences
===========================

A ``SequenceTagger`` learns from generated sentences to mark people and places, and then marks names
that it has never seen.
"""

import random

from matplotlib import pyplot as plt

from sk_han import SequenceTagger
from sk_han.tagging import tagged_html, tagged_text

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


def generated(n, rng, known):
    """Return sentences and labels, with the first half of each list of names or the other."""

    def some(names):
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


# %%
# Training and test sentences share no name. ``word_dropout`` hides some training words, so that the
# tagger learns to use the words around a name.
rng = random.Random(0)
X, y = generated(300, rng, known=True)
new_sentences, new_labels = generated(100, rng, known=False)
tagger = SequenceTagger(scheme="iob2", word_dropout=0.2, max_epochs=10, random_state=0)
tagger.fit(X, y)
print(f"tokens labelled right, all names unknown: {tagger.score(new_sentences, new_labels):.3f}")

# %%
# In the terminal
# ---------------
found = tagger.predict(new_sentences)
print(tagged_text(new_sentences[:6], found[:6]))

# %%
# Probabilities
# -------------
# ``predict_proba`` returns the probability of each label at each word.
sentence = new_sentences[0]
(probabilities,) = tagger.predict_proba([sentence])
figure, axes = plt.subplots(figsize=(8, 2.6), layout="constrained")
image = axes.imshow(probabilities.T, cmap="Blues", vmin=0, vmax=1, aspect="auto")
axes.set_xticks(range(len(sentence)), sentence)
axes.set_yticks(range(len(tagger.classes_)), tagger.classes_)
figure.colorbar(image, label="probability")


# %%
# As a page
# ---------
# ``tagged_html`` returns a page, or a fragment for a notebook.
class Fragment:
    """Show HTML as the result of a cell."""

    def __init__(self, html):
        self.html = html

    def _repr_html_(self):
        return self.html


Fragment(tagged_html(new_sentences[:12], found[:12], full_page=False))
