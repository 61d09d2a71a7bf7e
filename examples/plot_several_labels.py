"""
Multi-label classification
==========================

Reviews with tags: what went wrong, and whether the customer is content. A review has none, one or
several tags.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.metrics import f1_score
from sklearn.preprocessing import MultiLabelBinarizer

from sk_han import HANClassifier
from sk_han.datasets import make_reviews

texts, opinions = make_reviews(600, random_state=0)
random = np.random.default_rng(0)
late, broken = ((random.random(600) < share).tolist() for share in (0.3, 0.15))
tags = []
for i, opinion in enumerate(opinions):
    texts[i] += " The parcel came a week late." * late[i] + " The lid was broken." * broken[i]
    tags.append(
        ["content"] * bool(opinion == "positive") + ["late"] * late[i] + ["broken"] * broken[i]
    )
binarizer = MultiLabelBinarizer()
Y = binarizer.fit_transform(tags)
model = HANClassifier(random_state=0, max_epochs=4, threshold="f1").fit(texts[:450], Y[:450])

# %%
# Predicted labels
# ----------------
# A column per label, 1 where its probability reaches its threshold.
predicted = model.predict(texts[450:])
print(binarizer.inverse_transform(predicted[:5]))
for label, score in zip(
    binarizer.classes_, f1_score(Y[450:], predicted, average=None), strict=True
):
    print(f"F1 of {label}: {score:.2f}")

# %%
# Probabilities and thresholds
# ----------------------------
# Each label has its own probability, so those of a document do not sum to 1. The line is the
# threshold; a document with the label lies above it if the model is right.
probabilities = model.predict_proba(texts[450:])
figure, axes = plt.subplots(1, 3, figsize=(10, 3.2), layout="constrained", sharey=True)
for k, (ax, label) in enumerate(zip(axes, binarizer.classes_, strict=True)):
    for has, color in ((0, "tab:gray"), (1, "tab:blue")):
        rows = np.flatnonzero(Y[450:, k] == has)
        place = has + random.uniform(-0.2, 0.2, len(rows))
        ax.scatter(place, probabilities[rows, k], s=12, color=color, alpha=0.6)
    ax.axhline(model.pool_.target.thresholds[k], color="black", linewidth=1)
    ax.set(title=label, xticks=[0, 1], xticklabels=["without", "with the label"])
axes[0].set_ylabel("probability")
