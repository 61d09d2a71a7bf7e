"""
Is the explanation faithful?
============================

An explanation claims that certain words decided. Here this claim is tested: the words that it ranks
highest are removed, and the model predicts again.
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
# Each curve is a way to rank words. It falls early if removing a few words is enough to change the
# prediction. The dotted curve removes random words; a method that falls no earlier says nothing
# about this model, so do not show its explanations to anyone.
shares = report.values["flip"]
words_out = np.linspace(0, 0.5, 101)
figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
for name, style in zip(report.methods, ["-", "--", "-.", ":"], strict=True):
    # A share of 1 means that the prediction never changed.
    stands = [np.mean(shares[name] > share) for share in words_out]
    axes.step(100 * words_out, 100 * np.array(stands), style, where="post", label=name, lw=2)
axes.set(
    xlabel="words removed, % of the document",
    ylabel="unchanged predictions, %",
    xlim=(0, 50),
    ylim=(0, 103),
)
axes.grid(alpha=0.3)
axes.legend(title="words ranked by", loc=(0.68, 0.18))

# %%
# The whole report
# ----------------
# Comprehensiveness is how much the probability falls without the top words, sufficiency how much it
# falls with only these. The bars are 95 % intervals over documents. If the blue mark of a method is
# far to the right of that of the random control, the method finds words that matter. If two
# intervals overlap, use the faster method.
report.plot()
print(report)
