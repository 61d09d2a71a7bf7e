"""
Neighbours of words
===================

Before it reads a label, the network knows which words are alike: its word vectors start from which
words stand beside which. They can be learnt from any text, with labels or without.
"""

import numpy as np
from matplotlib import pyplot as plt

from sk_han import HierarchicalTokenizer
from sk_han.datasets import make_reviews
from sk_han.embeddings import learn_embeddings

texts, _ = make_reviews(3_000, random_state=0)
tokenizer = HierarchicalTokenizer()
documents = tokenizer.fit_transform(texts)
vectors = learn_embeddings(documents, tokenizer, embedding_dim=100, random_state=0)

words = [word for word in vectors if word.isalpha()]
matrix = np.array([vectors[word] for word in words])
matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)


def neighbours(word, n):
    """Give the n words of the largest cosine, with it."""
    cosines = matrix @ matrix[words.index(word)]
    best = np.argsort(-cosines, kind="stable")[1 : n + 1]
    return [(words[i], float(cosines[i])) for i in best]


for word in ["kettle", "excellent", "october"]:
    near = ", ".join(f"{other} {cosine:.2f}" for other, cosine in neighbours(word, 5))
    print(f"{word:>10}: {near}")

# %%
# Alike and not
# -------------
# Each cell is the cosine of two words: the darker, the more alike they are used, and words of a
# kind make a block. Look whether your own terms have the neighbours that you expect. Mind that
# opposites share a block too: "excellent" and "poor" stand in the same places, and only labels tell
# them apart.
asked = ["kettle", "excellent", "october", "porto", "cousin", "greek"]
shown = [near for word in asked for near in [word, *(other for other, _ in neighbours(word, 4))]]
rows = matrix[[words.index(word) for word in shown]]
figure, axes = plt.subplots(figsize=(8, 7), layout="constrained")
image = axes.imshow(rows @ rows.T, cmap="Blues", vmin=0, vmax=1)
axes.set_xticks(range(len(shown)), shown, rotation=90)
axes.set_yticks(range(len(shown)), shown)
figure.colorbar(image, label="cosine", shrink=0.8)
