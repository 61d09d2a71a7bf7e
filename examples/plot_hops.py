"""
Several attentions in parallel
==============================

A guest writes about the room and about the food, and the label needs both. With
``MultiHopAttention`` the network reads each document several times in parallel, and a penalty keeps
these attentions apart (Lin et al., 2017).
"""

import random

import torch
from matplotlib import pyplot as plt

from sk_han import HANClassifier, MultiHopAttention

ROOM = ["The room was {}.", "We found the bed {}.", "We had a {} view.", "What a {} bath!"]
FOOD = ["The breakfast was {}.", "We had {} soup.", "They serve {} coffee.", "What a {} cook!"]
WORDS = {"good": ["lovely", "great", "superb"], "bad": ["dreadful", "awful", "poor"]}
OTHERS = [
    "We came by train on {}.",
    "My brother booked for {}.",
    "It rained on {}.",
    "There was a wedding on {}.",
]
DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]


def letters(n, rng):
    """Return letters, and the opinion of each about room and food."""
    texts, labels = [], []
    for _ in range(n):
        room, food = rng.choice(["good", "bad"]), rng.choice(["good", "bad"])
        sentences = [
            rng.choice(ROOM).format(rng.choice(WORDS[room])),
            rng.choice(FOOD).format(rng.choice(WORDS[food])),
            *(line.format(rng.choice(DAYS)) for line in rng.sample(OTHERS, 3)),
        ]
        rng.shuffle(sentences)
        texts.append(" ".join(sentences))
        labels.append(f"room {room}, food {food}")
    return texts, labels


rng = random.Random(0)
texts, labels = letters(600, rng)
unseen, truth = letters(100, rng)
model = HANClassifier(
    embedding_dim=50,
    word_hidden=20,
    sentence_hidden=20,
    pooling=MultiHopAttention(hops=3, penalty=0.3),
    linear_ngrams=None,
    max_epochs=8,
    random_state=0,
)
model.fit(texts, labels)
print(f"accuracy on unseen letters: {model.score(unseen, truth):.2f}")

# %%
# Which sentence each attention reads
# -----------------------------------
# A column is one of the three attentions; its weights over the sentences sum to one. In this fit
# one attends to the room, one to the food, and the third to the rest, so two would be enough. If
# your columns look alike, use one. (``explain`` shows their mean.)
documents = model.tokenizer_.transform(unseen[:3])
lengths = [
    torch.from_numpy(documents.words_per_sentence),
    torch.from_numpy(documents.sentences_per_document),
]
network = model.net_.module_.eval()
with torch.no_grad():
    states = network.encode_words(torch.from_numpy(documents.word_ids).long(), lengths[0])
    sentences, _ = network.pool_words(states, lengths[0])
    weights = network.read_sentences(sentences, lengths[1]).weights  # sentences, hops

explanations = model.explain(unseen[:3])
figure, rows = plt.subplots(3, 1, figsize=(8, 6.5), layout="constrained")
for axes, explanation, shares in zip(rows, explanations, weights.split(5), strict=True):
    axes.imshow(shares, cmap="Greens", vmin=0, vmax=1, aspect="auto")
    axes.set_yticks(range(5), explanation.sentences)
    axes.set_xticks(range(3), ["first attention", "second", "third"])
    axes.set_title(f"predicted: {explanation.predicted}", fontsize=10)
    for i, row in enumerate(shares.tolist()):
        for j, share in enumerate(row):
            axes.text(
                j,
                i,
                f"{share:.2f}",
                ha="center",
                va="center",
                color="white" if share > 0.5 else "black",
            )
