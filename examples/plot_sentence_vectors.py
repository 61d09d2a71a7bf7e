"""
Learn from sentence embeddings
==============================

``SentenceEmbedder`` turns each sentence into a vector, and ``HANClassifier`` learns from these
which sentences decide. Here the vectors are learnt from the letters themselves, without a download.
With a pretrained encoder, such as a ``SentenceTransformer``, they know more than your texts.
"""

import random

from matplotlib import pyplot as plt
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline

from sk_han import HANClassifier, SentenceEmbedder, explain

THINGS = ["room", "breakfast", "bed", "view", "garden", "staff", "bath", "lift"]
TOLD = {
    "returns": ["The {} was lovely.", "We liked the {} very much.", "What a {}! We will be back."],
    "leaves": ["The {} was dirty.", "We had to complain about the {}.", "Never again such a {}."],
}
OTHERS = [
    "We came by train on {}.",
    "My brother booked for {}.",
    "It rained on {}.",
    "There was a wedding on {}.",
]
DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]


def letters(n, rng):
    """Give letters of guests: one or two sentences tell whether they return, others do not."""
    texts, labels = [], []
    for _ in range(n):
        label = rng.choice(sorted(TOLD))
        told = [
            rng.choice(TOLD[label]).format(rng.choice(THINGS)) for _ in range(rng.choice([1, 2]))
        ]
        others = [rng.choice(OTHERS).format(rng.choice(DAYS)) for _ in range(rng.randrange(2, 6))]
        sentences = told + others
        rng.shuffle(sentences)
        texts.append(" ".join(sentences))
        labels.append(label)
    return texts, labels


rng = random.Random(0)
texts, labels = letters(300, rng)
unseen, truth = letters(100, rng)
pipeline = make_pipeline(SentenceEmbedder(random_state=0), HANClassifier(random_state=0))
pipeline.fit(texts, labels)
print(f"accuracy on unseen letters: {pipeline.score(unseen, truth):.2f}")

# %%
# Which sentences decided
# -----------------------
# Each bar is the contribution of a sentence.
explain(pipeline, unseen[:1])[0].plot()

# %%
# The letters as the classifier sees them
# ---------------------------------------
# ``transform`` returns the vector of each letter, here in two dimensions.
points = PCA(2).fit_transform(pipeline.transform(unseen))
figure, axes = plt.subplots(figsize=(6, 4))
for label in sorted(TOLD):
    rows = [i for i, true in enumerate(truth) if true == label]
    axes.scatter(*points[rows].T, label=label, alpha=0.7)
axes.set(xlabel="first component", ylabel="second component")
axes.legend(title="guest")
