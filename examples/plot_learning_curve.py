"""
Learning curve: how many documents are needed
=============================================

The same classifier is fitted on more and more generated reviews, and so is TF-IDF with logistic
regression, the model to try first. In these reviews the label depends on the product that is meant
and on "not", which a bag of words cannot see, however many reviews it gets.
"""

from matplotlib import pyplot as plt
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from sk_han import HANClassifier
from sk_han.datasets import make_reviews

texts, labels = make_reviews(2_000, random_state=0)
test_texts, test_labels = texts[1_000:], labels[1_000:]
models = {
    "HANClassifier": HANClassifier(
        embedding_dim=100, word_hidden=30, sentence_hidden=30, random_state=0
    ),
    "TF-IDF, words": make_pipeline(TfidfVectorizer(), LogisticRegression(C=10)),
    "TF-IDF, words and pairs": make_pipeline(
        TfidfVectorizer(ngram_range=(1, 2)), LogisticRegression(C=10)
    ),
}
sizes = [125, 250, 500, 1_000]
accuracies = {
    name: [model.fit(texts[:n], labels[:n]).score(test_texts, test_labels) for n in sizes]
    for name, model in models.items()
}

# %%
# Accuracy on 1,000 other reviews. Draw it for your own documents: if the upper curve still rises,
# more labels help; if both curves are close, use the linear model, which is faster and whose
# weights are exact reasons.
figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
for (name, accuracy), marker in zip(accuracies.items(), "osD", strict=True):
    axes.plot(sizes, accuracy, marker=marker, label=name)
    axes.annotate(
        f"{accuracy[-1]:.2f}",
        (sizes[-1], accuracy[-1]),
        xytext=(6, 0),
        textcoords="offset points",
        va="center",
        bbox={"color": "white", "pad": 1},
    )
axes.axhline(0.5, color="gray", linestyle=":", label="guessing")
axes.set_xscale("log")
axes.set_xticks(sizes, sizes)
axes.minorticks_off()
axes.set(xlabel="labelled reviews", ylabel="accuracy on other reviews")
axes.set(xlim=(110, 1_250), ylim=(0.45, 1.02))
axes.grid(alpha=0.3)
axes.legend(loc="upper left")
