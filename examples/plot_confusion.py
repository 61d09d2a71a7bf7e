"""
Which classes it confuses
=========================

Reviews of five grades, from very negative to very positive. The confusion matrix tells whether the
mistakes are small ones, and the explanations tell where they come from.
"""

from matplotlib import pyplot as plt
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import ConfusionMatrixDisplay
from sklearn.pipeline import make_pipeline

from sk_han import HANClassifier
from sk_han.datasets import make_reviews

texts, labels = make_reviews(2_000, n_classes=5, random_state=0)
train_texts, train_labels = texts[:1_500], labels[:1_500]
test_texts, test_labels = texts[1_500:], labels[1_500:]
model = HANClassifier(random_state=0, max_epochs=6).fit(train_texts, train_labels)
linear = make_pipeline(TfidfVectorizer(ngram_range=(1, 2)), LogisticRegression(C=10))
linear.fit(train_texts, train_labels)

# %%
# Beside a linear model
# ---------------------
# A row is a true grade, and its cells tell which share of it was called what: right is the
# diagonal. The linear model takes grades for their opposites, since it hears the praise and misses
# the "not". On your own classes look for pairs that are mixed both ways: if people cannot tell them
# apart either, join them.
grades = ["very negative", "negative", "neutral", "positive", "very positive"]
figure, both = plt.subplots(1, 2, figsize=(10, 4.8), layout="constrained", sharey=True)
names = ["HANClassifier", "TF-IDF of words and pairs"]
for axes, name, fitted in zip(both, names, [model, linear], strict=True):
    ConfusionMatrixDisplay.from_estimator(
        fitted,
        test_texts,
        test_labels,
        labels=grades,
        normalize="true",
        values_format=".2f",
        cmap="Blues",
        colorbar=False,
        im_kw={"vmin": 0, "vmax": 1},
        xticks_rotation=30,
        ax=axes,
    )
    plt.setp(axes.get_xticklabels(), ha="right", rotation_mode="anchor")
    axes.set(title=f"{name}: {fitted.score(test_texts, test_labels):.2f} right")
    axes.set(xlabel="predicted", ylabel="true" if axes is both[0] else "")

# %%
# The surest mistake
# ------------------
# The wrong prediction of the highest probability, with the words that misled: in these reviews it
# is mostly a judgement of some other thing. Read such mistakes first; in real tables many of them
# are wrong labels.
predicted = model.predict(test_texts)
probabilities = model.predict_proba(test_texts).max(axis=1)
wrong = [i for i, label in enumerate(test_labels) if predicted[i] != label]
surest = max(wrong, key=lambda i: probabilities[i])
model.explain([test_texts[surest]], y_true=[test_labels[surest]])
