"""
Which words decided, and which misled
=====================================

A classifier reads reviews of products. Each review speaks of other things too: a film, a concert,
the weather. Which words decided, and where did they mislead? `explain` says it for each document,
and the list of explanations finds the mistakes.
"""

# %%
# Fit and explain
# ---------------
# The true labels, ``y_true``, change no explanation. They let the list find its mistakes.
from sk_han import HANClassifier, explain
from sk_han.datasets import make_reviews

texts, labels = make_reviews(1000, random_state=0)
classifier = HANClassifier(embedding_dim=32, word_hidden=16, max_epochs=8, random_state=0)
classifier.fit(texts[:800], labels[:800])
explanations = explain(classifier, texts[800:], y_true=labels[800:])
mistakes = explanations.mistakes()
print(f"{len(mistakes)} of {len(explanations)} documents are misclassified")

# %%
# The documents that the model is surest of
# -----------------------------------------
# Blue words speak for the predicted class, orange ones against it. Words without colour made next
# to no difference. The bar before a sentence is what it adds to the decision, whichever sentences
# are there before it. Begin with the longest bar, and ask whether its sentence is a reason. A
# sentence of no judgement with a long bar, as one on a town, shows a model that has seen too few
# documents.
explanations.by_confidence()[:2]

# %%
# The surest mistakes
# -------------------
# They say most about what the model has not understood: often a word of feeling that is about
# something else, or one that a "not" turns round. Look here for wrong labels too.
# ``mistakes.to_html("mistakes.html")`` writes this page to a file.
mistakes[:2]

# %%
# As a table
# ----------
# One row for each document; ``to_frame("word")`` has one for each word.
mistakes.to_frame()[["document", "predicted", "true", "probability", "strongest_sentence"]].head()
