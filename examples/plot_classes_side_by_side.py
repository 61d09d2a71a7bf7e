"""
Why this class and not that one
===============================

With several classes a document has reasons for more than one of them. `explain_classes` explains it
for each class, and shows them side by side with one scale of colours.
"""

# %%
# Short messages on three subjects
# --------------------------------
# Each message has one sentence that belongs to another subject.
import random

from sk_han import HANClassifier, explain_classes

SENTENCES = {
    "delivery": [
        "The parcel came three days late.",
        "The courier left it with a neighbour.",
        "The box was wet when it arrived.",
        "Nobody rang, and the parcel went back.",
    ],
    "payment": [
        "My card was charged twice.",
        "The invoice shows another price.",
        "I still wait for the refund.",
        "The voucher was not accepted.",
    ],
    "product": [
        "The handle broke on the first day.",
        "The battery lasts an hour.",
        "It is much smaller than on the picture.",
        "The colour is not the one I chose.",
    ],
}
draw = random.Random(0)


def message(subject):
    """Write three sentences on a subject and one on another."""
    other = draw.choice([name for name in SENTENCES if name != subject])
    sentences = [*draw.sample(SENTENCES[subject], 3), draw.choice(SENTENCES[other])]
    return " ".join(draw.sample(sentences, 4))


labels = [draw.choice(list(SENTENCES)) for _ in range(400)]
texts = [message(label) for label in labels]
classifier = HANClassifier(embedding_dim=16, word_hidden=8, max_epochs=5, random_state=0)
classifier = classifier.fit(texts, labels)

# %%
# A message between two subjects
# ------------------------------
# Two sentences are on delivery and two on payment. What is blue under one class is orange under the
# other. Where two classes have long blue bars, a document belongs to both: let a person decide, or
# split such documents by sentences.
between = [
    "The courier left it with a neighbour. The box was wet when it arrived. "
    "I still wait for the refund. The invoice shows another price."
]
explain_classes(classifier, between, classes=["payment", "delivery"]).plot()

# %%
# All classes
# -----------
# ``classes`` chose the columns above. A page, by ``to_html("side_by_side.html")`` or in a notebook,
# has room for more.
explain_classes(classifier, between)
