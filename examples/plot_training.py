"""
What happens in a fit
=====================

The history shows how the network learns, and the summary what network and n-gram model come to
together: the accuracy that counts is theirs, not that of the network alone, which the history has.
"""

from matplotlib import pyplot as plt

from sk_han import HANClassifier
from sk_han.datasets import make_reviews
from sk_han.rendering import plot_history

texts, labels = make_reviews(600, random_state=0)

# %%
# Losses and accuracy of each epoch
# ---------------------------------
# The dashed line is the loss on the documents that the network learns from, the others are those of
# held-out documents. The grey line marks the epoch whose weights are kept. Where the held-out loss
# rises while the dashed line falls, the network learns by heart: give it more documents or fewer
# epochs. Where both still fall at the right edge, give it more epochs.
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
# What came out of the fit, and what it took: read it before you use a model.
classifier.fit_summary_

# %%
# Whose word counts
# -----------------
# Accuracy on the held-out documents: of each part alone, and of what predicts, in green. If the
# n-gram model alone comes as far, take a linear model; if nothing is far above the most frequent
# class, look at the labels.
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
# Seconds of each step. If the network takes most, fewer epochs or a smaller network save time.
figure, axes = plt.subplots(figsize=(7, 2.2), layout="constrained")
bars = axes.barh(list(summary.seconds), list(summary.seconds.values()), color="#84b6f4")
axes.bar_label(bars, fmt="%.1f s", padding=4)
axes.margins(x=0.15)
axes.set_xlabel("seconds")
plt.show()
