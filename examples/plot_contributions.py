"""
Which words decided, and which misled
=====================================

Each of these product reviews also mentions other things: a film, a concert, the weather. `explain`
shows for each document which words decided, and the list of explanations finds the mistakes.
"""

# %%
# Fit and explain
# ---------------
# The true labels, ``y_true``, change no explanation, but let the list find the mistakes.
from sk_han import HANClassifier, explain
from sk_han.datasets import make_reviews

texts, labels = make_reviews(1000, random_state=0)
classifier = HANClassifier(embedding_dim=32, word_hidden=16, max_epochs=8, random_state=0)
classifier.fit(texts[:800], labels[:800])
explanations = explain(classifier, texts[800:], y_true=labels[800:])
mistakes = explanations.mistakes()
print(f"{len(mistakes)} of {len(explanations)} documents are misclassified")

# %%
# The most confident predictions
# ------------------------------
# Blue words speak for the predicted class, orange words against it; words without colour made
# almost no difference. The bar before a sentence is what it adds to the decision, averaged over the
# order in which sentences are added. Begin with the longest bar, and ask whether its sentence is a
# reason. If a sentence without an opinion, such as one about a town, has a long bar, the model has
# seen too few documents.
explanations.by_confidence()[:2]

# %%
# The most confident mistakes
# ---------------------------
# They show best what the model has not understood: often an opinion about something else, or one
# that a "not" reverses. Look here for wrong labels too.
# ``mistakes.to_html("mistakes.html")`` writes this page to a file.
mistakes[:2]

# %%
# As a table
# ----------
# One row per document; ``to_frame("word")`` has one per word.
mistakes.to_frame()[["document", "predicted", "true", "probability", "strongest_sentence"]].head()
