"""
What a model learnt, as a whole
===============================

An explanation shows what decided one document. ``summarize`` looks at many: which words and word
groups speak for a class, which against it, and how much of the predictions they carry.
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
# Above is what single words bring by the network, below what words and n-grams bring by the linear
# model beside it; each number is the mean of the documents that have the term, and strong and
# frequent terms stand first. In these reviews every second judgement is negated, so a word alone
# says little: "good" stands in "not good" as often as not. The n-gram model needs its pairs of
# words, and the network reads what comes before. On your own texts look for terms that should not
# count, as a name, a date or a number ("10" here): the model has learnt them by heart, and more
# documents, or a text without them, make it forget them.
summary = summarize(model, texts[900:])

# %%
# In a notebook, or in a file by ``to_html``: a click on a term shows where it stands. The first
# lines say how much to believe: what becomes of the predictions without the shown words, beside
# as many words drawn at random.
summary

# %%
# As numbers
# ----------
# ``to_frame`` has a row for each class and term, ``to_json`` everything.
removal = summary.removal
print(f"without the shown words, {removal.changed:.0%} of the predictions change")
print(f"without as many words drawn at random, {removal.changed_random:.0%}")
print(summary.to_frame().drop(columns="contexts").head(8).to_string(index=False))
