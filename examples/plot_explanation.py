"""
Which words and sentences decided
=================================

A model is fitted on generated reviews, and one review that it has not seen is explained: what each
word and each sentence brings to the predicted label.
"""

from sklearn.pipeline import make_pipeline

from sk_han import HANClassifier, HierarchicalTokenizer, explain
from sk_han.datasets import make_reviews

texts, labels = make_reviews(1_000, random_state=0)
model = make_pipeline(HierarchicalTokenizer(), HANClassifier(random_state=0))
model.fit(texts[:900], labels[:900])
print(f"accuracy on 100 other reviews: {model.score(texts[900:], labels[900:]):.2f}")

# %%
# As a figure
# -----------
# A bar is what its sentence brings: to the right and blue for the predicted label, to the left and
# orange against it.
explanations = explain(model, texts[900:])
explanations[0].plot()

# %%
# As a page
# ---------
# The same explanation in a notebook, or in a file by ``to_html``. The shade of a word says what the
# word brings. The page needs no scripts, and is light or dark as the reader's system is.
explanations[0]

# %%
# Attention alone
# ---------------
# Attention says what the network read, not what decided: it has no sign, and the model has a linear
# part that attends to nothing.
explain(model, texts[900:901], method="attention")[0]

# %%
# As numbers
# ----------
# Offsets are characters of the text as it was given.
explanation = explanations[0]
for word in explanation.top(5):
    print(f"{word.score:6.2f}  {word.text!r} at characters {word.start} to {word.end}")
assert texts[900][word.start : word.end] == word.text
