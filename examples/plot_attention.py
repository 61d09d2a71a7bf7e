"""
What it reads, and what decides
===============================

Attention is the share of each word in the vector of its document. It is often shown as the reason
of a decision. Here it stands beside the contributions, which say for which label a word speaks.
"""

import numpy as np
from matplotlib import pyplot as plt

from sk_han import HANClassifier
from sk_han.datasets import make_reviews

texts, labels = make_reviews(1_100, random_state=0)
model = HANClassifier(random_state=0).fit(texts[:1_000], labels[:1_000])
explanations = model.explain(texts[1_000:], target="positive")

# %%
# Attention over a document
# -------------------------
# Each line is a sentence, its bar is the attention to the sentence, and the greener a word is, the
# more of it goes into the document's vector. Use it to see what the network reads at all.
model.explain(texts[1_000:1_001], method="attention")[0]

# %%
# Attention beside contribution
# -----------------------------
# A point is a word of one of 100 reviews: to the right are words of much attention, above the line
# those that speak for "positive", below it those against. Attention cannot tell above from below.
# And words at the left edge bring something without any: a sentence shares what it adds to the
# log-odds among its words, and the linear model beside the network pays no attention. So take
# contributions where you give reasons.
attention = np.concatenate([each.combined_attention for each in explanations])
contributions = np.concatenate([each.contributions for each in explanations])
words = [word.lower() for each in explanations for word in each.words]
figure, axes = plt.subplots(figsize=(7.5, 5), layout="constrained")
axes.scatter(attention, contributions, s=8, alpha=0.4)
axes.axhline(0, color="gray", lw=1)
order = np.argsort(contributions).tolist()
for side in (order, order[::-1]):
    strongest = {}
    for i in side:
        strongest.setdefault(words[i], i)
    named = []
    for word, i in strongest.items():
        x, y = attention[i], contributions[i]
        free = all(abs(x - right) > 0.25 or abs(y - up) > 0.15 for right, up in named)
        if free and len(named) < 5:
            axes.annotate(word, (x, y), xytext=(5, -3), textcoords="offset points")
            named.append((x, y))
axes.set(xlabel="attention, share of the document", ylabel='contribution to "positive"')
axes.set_xlim(right=1.15)
axes.grid(alpha=0.3)
