"""Draw docs/contributions.png, the picture at the top of the README: one review explained."""

from pathlib import Path

import matplotlib as mpl
from sklearn.pipeline import make_pipeline

from sk_han import HANClassifier, HierarchicalTokenizer, explain
from sk_han.datasets import make_reviews

mpl.use("Agg")
texts, labels = make_reviews(2500, random_state=0)
model = make_pipeline(HierarchicalTokenizer(), HANClassifier(random_state=0))
model.fit(texts[:2000], labels[:2000])
axes = explain(model, texts[2001:2002])[0].plot()
axes.figure.savefig(
    Path(__file__).with_name("contributions.png"), dpi=125, metadata={"Software": None}
)
