"""
Word vectors and their neighbours
=================================

Before it sees a label, the network knows which words are similar, because its initial word vectors
are learnt from the words that occur together. Any text will do, with or without labels.
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
    """Return the n most similar words with their cosine."""
    cosines = matrix @ matrix[words.index(word)]
    best = np.argsort(-cosines, kind="stable")[1 : n + 1]
    return [(words[i], float(cosines[i])) for i in best]


for word in ["kettle", "excellent", "october"]:
    near = ", ".join(f"{other} {cosine:.2f}" for other, cosine in neighbours(word, 5))
    print(f"{word:>10}: {near}")

# %%
# Similar words
# -------------
# Each cell is the cosine of two words: the darker, the more similarly they are used, and words of
# one kind form a block. Check whether your own terms have the neighbours that you expect. Opposites
# share a block too: "excellent" and "poor" occur in the same places, and only labels separate them.
asked = ["kettle", "excellent", "october", "porto", "cousin", "greek"]
shown = [near for word in asked for near in [word, *(other for other, _ in neighbours(word, 4))]]
rows = matrix[[words.index(word) for word in shown]]
figure, axes = plt.subplots(figsize=(8, 7), layout="constrained")
image = axes.imshow(rows @ rows.T, cmap="Blues", vmin=0, vmax=1)
axes.set_xticks(range(len(shown)), shown, rotation=90)
axes.set_yticks(range(len(shown)), shown)
figure.colorbar(image, label="cosine", shrink=0.8)
