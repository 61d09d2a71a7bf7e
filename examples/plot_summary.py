"""
Feature importance: what a model learnt
=======================================

An explanation shows what decided one document. ``summarize`` looks at many: which words and n-grams
speak for a class, which against it, and how much of the predictions they carry.
"""

from sklearn.pipeline import make_pipeline

from sk_han import HANClassifier, HierarchicalTokenizer, summarize
from sk_han.datasets import make_reviews

texts, labels = make_reviews(1_200, random_state=0)
model = make_pipeline(HierarchicalTokenizer(), HANClassifier(random_state=0, max_epochs=8))
model.fit(texts[:900], labels[:900])
print(f"accuracy on 300 other reviews: {model.score(texts[900:], labels[900:]):.2f}")

# %%
# What speaks for a class
# -----------------------
# First what single words contribute in the network, then what words and n-grams contribute in the
# linear model. Each number is the mean over the documents with the term; strong and frequent terms
# come first. In these reviews every second opinion is negated, so a single word says little: "good"
# often occurs in "not good". The n-gram model needs pairs of words, and the network reads what
# comes before. On your own texts look for terms that should not matter, such as a name, a date or a
# number ("10" here): the model has memorized them. More documents, or texts without them, help.
summary = summarize(model, texts[900:])

# %%
# In a notebook, or in a file written by ``to_html``, "Where these terms stand" unfolds their
# contexts. The first lines show how far to trust the list: how the predictions change without the
# listed words, compared with as many random words.
summary

# %%
# As numbers
# ----------
# ``to_frame`` has a row per class and term, ``to_json`` everything.
removal = summary.removal
print(f"without the listed words, {removal.changed:.0%} of the predictions change")
print(f"without as many words drawn at random, {removal.changed_random:.0%}")
print(summary.to_frame().drop(columns="contexts").head(8).to_string(index=False))
