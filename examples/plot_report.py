"""
Evaluate a model: where does it fail?
=====================================

Accuracy is how often a model is right. A report shows where it is wrong: which labels it confuses,
how confident its mistakes are, which sentences mislead it, and which labels a person should check.
Here some labels of the held-out reviews are made wrong, and one review occurs twice, so that there
is something to find.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.metrics import ConfusionMatrixDisplay

from sk_han import HANClassifier, report
from sk_han.datasets import make_reviews

texts, labels = make_reviews(1_200, n_classes=3, random_state=0)
train_texts, train_labels = texts[:900], labels[:900]
test_texts, test_labels = texts[900:], labels[900:].copy()

wrong = np.random.default_rng(0).choice(300, 6, replace=False)
test_labels[wrong] = np.where(test_labels[wrong] == "neutral", "positive", "neutral")
test_texts[7] = test_texts[8]

classifier = HANClassifier(embedding_dim=64, word_hidden=24, sentence_hidden=24, random_state=0)
classifier.fit(train_texts, train_labels)
found = report(classifier, test_texts, test_labels, X_train=train_texts, y_train=train_labels)
print(found)

# %%
# How many of the labels that were made wrong the report suspects:
suspected = np.intersect1d(found.suspects, wrong)
print(f"{len(suspected)} of {len(wrong)} wrong labels among {len(found.suspects)} suspects")

# %%
# As a page
# ---------
# A notebook shows the report as a page; ``to_html("report.html")`` writes a file with more
# mistakes.
found

# %%
# As figures
# ----------
# scikit-learn's displays draw the data of the page. On the left a row is a label, and mistakes are
# off the diagonal: read the documents of the darkest such cell first. On the right a point below
# the dotted line means that the model is overconfident.
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
ConfusionMatrixDisplay(found.confusion, display_labels=found.labels).plot(
    ax=left, cmap="Blues", colorbar=False
)
for bins, style, name in (
    (found.reliability, "o-", "model"),
    (found.baseline_reliability, "s--", "TF-IDF + logistic regression"),
):
    right.plot([b.confidence for b in bins], [b.accuracy for b in bins], style, label=name)
right.plot([0, 1], [0, 1], ":", color="grey", label="as sure as it should be")
right.set(xlabel="probability of the predicted label", ylabel="share that is right")
right.legend(frameon=False)
