"""
Calibration: can I trust the probabilities?
===========================================

A model is calibrated if, of the documents that it predicts with 80 %, about 80 % are right. Then
its probability can decide which documents are handled automatically and which a person reads.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.calibration import CalibrationDisplay
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline

from sk_han import HANClassifier
from sk_han.datasets import make_reviews

texts, labels = make_reviews(2_400, random_state=0)
train_texts, train_labels = texts[:400], labels[:400]
test_texts, test_labels = texts[400:], labels[400:]
models = {
    "HANClassifier": HANClassifier(
        embedding_dim=100, word_hidden=30, sentence_hidden=30, random_state=0
    ),
    "naive Bayes": make_pipeline(CountVectorizer(ngram_range=(1, 2)), MultinomialNB()),
}
probabilities = {
    name: model.fit(train_texts, train_labels).predict_proba(test_texts)
    for name, model in models.items()
}

# %%
# Calibration curve
# -----------------
# A calibrated model lies on the diagonal. A flat curve is overconfident at both ends, such as that
# of naive Bayes, which takes words for independent. (Both are fitted on only 400 reviews, so that
# they make enough mistakes.) If your curve is flat, choose thresholds by the accuracy on held-out
# documents, not by the predicted probability.
figure, axes = plt.subplots(figsize=(5.5, 5), layout="constrained")
for (name, found), marker in zip(probabilities.items(), "os", strict=True):
    CalibrationDisplay.from_predictions(
        test_labels == "positive",
        found[:, 1],
        n_bins=8,
        strategy="quantile",
        name=name,
        ax=axes,
        marker=marker,
    )
axes.set(xlabel="probability of a positive review", ylabel="share that is positive")
axes.grid(alpha=0.3)

# %%
# Reject unsure predictions
# -------------------------
# From left to right the model decides more documents, the most confident first. Read off how many
# it can decide at the accuracy that you need; a person decides the others.
figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
for (name, found), style in zip(probabilities.items(), ["-", "--"], strict=True):
    right = models[name].classes_[found.argmax(axis=1)] == test_labels
    surest_first = np.argsort(-found.max(axis=1), kind="stable")
    n_decided = np.arange(1, len(right) + 1)
    accuracy = np.cumsum(right[surest_first]) / n_decided
    axes.plot(100 * n_decided[50:] / len(right), 100 * accuracy[50:], style, label=name)
axes.set(xlabel="documents that the model decides, %", ylabel="of these right, %", xlim=(0, 100))
axes.grid(alpha=0.3)
axes.legend()
