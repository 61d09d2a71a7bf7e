"""
Does the explanation hold?
==========================

An explanation claims that certain words decided. Here the claim is tested: the words that it ranks
highest are taken out, and the model decides again.
"""

import numpy as np
from matplotlib import pyplot as plt

from sk_han import HANClassifier, faithfulness_report
from sk_han.datasets import make_reviews

texts, labels = make_reviews(1_040, random_state=0)
model = HANClassifier(random_state=0).fit(texts[:1_000], labels[:1_000])
report = faithfulness_report(
    model,
    texts[1_000:],
    methods=["shapley", "gradient_attention", "attention"],
    random_state=0,
)

# %%
# How soon the decision changes
# -----------------------------
# Each curve is a way to rank words: it falls early where a few words taken out are enough to change
# what the model says. The dotted curve takes words out by chance; a method that is no steeper than
# that says nothing about this model, so do not show its explanations to anyone.
shares = report.values["flip"]
words_out = np.linspace(0, 0.5, 101)
figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
for name, style in zip(report.methods, ["-", "--", "-.", ":"], strict=True):
    # A share of 1 stands for a decision that never changed.
    stands = [np.mean(shares[name] > share) for share in words_out]
    axes.step(100 * words_out, 100 * np.array(stands), style, where="post", label=name, lw=2)
axes.set(
    xlabel="words taken out, % of the document",
    ylabel="decisions that stand, %",
    xlim=(0, 50),
    ylim=(0, 103),
)
axes.grid(alpha=0.3)
axes.legend(title="words ranked by", loc=(0.68, 0.18))

# %%
# The whole report
# ----------------
# Comprehensiveness is the fall of the probability without the top words, sufficiency the fall with
# these alone. The bars are 95 % intervals over documents. A blue mark far to the right of that of
# the random control says that the method finds words that count; where two intervals overlap, take
# the faster method.
report.plot()
print(report)
