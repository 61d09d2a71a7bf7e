"""See what sentences and words did for the predicted label: terminal, HTML, picture, pickle.

The picture needs the extra `plot`: pip install ".[plot]" in a clone.
"""

import joblib
from matplotlib import pyplot as plt
from sklearn.pipeline import make_pipeline

from sk_han import HANClassifier, HierarchicalTokenizer, explain
from sk_han.datasets import make_reviews

texts, labels = make_reviews(2500, random_state=0)
pipeline = make_pipeline(HierarchicalTokenizer(), HANClassifier(random_state=0, verbose=1))
pipeline.fit(texts[:-3], labels[:-3])

explanations = explain(pipeline, texts[-3:])
print(explanations)
for word in explanations[0].top(5):
    print(f"{word.score:.3f}  {word.text!r} at characters {word.start} to {word.end}")
explanations.to_html("explanations.html")

explanations[0].plot()
plt.savefig("explanation.png", dpi=100, bbox_inches="tight")

joblib.dump(pipeline, "reviews.joblib")
assert (joblib.load("reviews.joblib").predict(texts[-3:]) == pipeline.predict(texts[-3:])).all()
