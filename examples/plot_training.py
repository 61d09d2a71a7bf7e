"""
What happens during training
============================

The history shows how the network learns. The summary shows how good network and n-gram model are
together, which is the accuracy that counts.
"""

from matplotlib import pyplot as plt

from sk_han import HANClassifier
from sk_han.datasets import make_reviews
from sk_han.inspection import plot_history

texts, labels = make_reviews(600, random_state=0)

# %%
# Losses and accuracy of each epoch
# ---------------------------------
# The dashed line is the loss on the training documents; the others are of held-out documents. The
# grey line marks the epoch whose weights are kept. If the held-out loss rises while the dashed line
# falls, the network overfits: give it more documents or fewer epochs. If both still fall at the
# right edge, give it more epochs.
classifier = HANClassifier(
    embedding_dim=100,
    word_hidden=30,
    adversarial_noise=0,
    lr=0.01,
    max_epochs=12,
    random_state=0,
)
classifier.fit(texts, labels)
axes = plot_history(classifier)
axes.axvline(classifier.best_epoch_, linestyle=":", color="gray")

# %%
# The summary
# -----------
# Read it before you use a model.
classifier.fit_summary_

# %%
# Network and linear model
# ------------------------
# Accuracy on the held-out documents, of each part alone and of the whole model (green). If the
# n-gram model alone is as good, use a linear model. If nothing is far above the most frequent
# class, check the labels.
summary = classifier.fit_summary_
scores = {
    "most frequent class": summary.majority_accuracy,
    "n-gram model alone": summary.linear_accuracy,
    "network alone": summary.network_accuracy,
    "together": summary.accuracy,
}
figure, axes = plt.subplots(figsize=(7, 2.6), layout="constrained")
bars = axes.barh(list(scores), list(scores.values()), color=["#c9ced4"] * 3 + ["#5cc4b5"])
axes.bar_label(bars, fmt="%.2f", padding=4)
axes.set(xlim=(0, 1.1), xlabel=f"accuracy on {summary.n_scored} held-out documents")

# %%
# Where the time goes
# -------------------
# Seconds of each stage. If the network takes most, use fewer epochs or a smaller network.
figure, axes = plt.subplots(figsize=(7, 2.2), layout="constrained")
bars = axes.barh(list(summary.seconds), list(summary.seconds.values()), color="#84b6f4")
axes.bar_label(bars, fmt="%.1f s", padding=4)
axes.margins(x=0.15)
axes.set_xlabel("seconds")
plt.show()
