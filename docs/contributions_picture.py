"""Draw what stands at the top of README and site: one review explained, as picture and as HTML."""

from pathlib import Path

import matplotlib as mpl
from matplotlib import pyplot as plt
from sklearn.pipeline import make_pipeline

from sk_han import HANClassifier, HierarchicalTokenizer, explain
from sk_han.datasets import make_reviews

mpl.use("Agg")
here = Path(__file__).parent
texts, labels = make_reviews(2500, random_state=0)
model = make_pipeline(HierarchicalTokenizer(), HANClassifier(random_state=0))
model.fit(texts[:2000], labels[:2000])
explanation = explain(model, texts[2096:2097])[0]

# Narrow, so that its letters can be read on a phone.
figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
explanation.plot(ax=axes)
figure.savefig(
    here / "contributions.png",
    dpi=170,
    bbox_inches="tight",
    pad_inches=0.02,
    metadata={"Software": None},
)
# The site shows the page: its letters have the size of the text around, on a phone and in the dark.
(here / "contributions.html").write_text(f"{explanation._repr_html_()}\n", "utf-8")
