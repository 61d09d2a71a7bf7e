"""Draw docs/attention.png, the picture at the top of the README: attention over one review."""

from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure
from sklearn.pipeline import make_pipeline

from sk_han import HANClassifier, HierarchicalTokenizer, explain
from sk_han.datasets import make_reviews

mpl.use("Agg")
texts, labels = make_reviews(1500, random_state=0)
model = make_pipeline(HierarchicalTokenizer(), HANClassifier(random_state=0))
model.fit(texts[:1200], labels[:1200])
explanation = explain(model, texts[1200:1201])[0]
axes = Figure(figsize=(9, 4)).subplots()
explanation.plot(ax=axes)
axes.figure.savefig(Path(__file__).with_name("attention.png"), dpi=90, bbox_inches="tight")
