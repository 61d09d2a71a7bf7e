"""
A search over tokenizer and network
===================================

``GridSearchCV`` searches parameters of both steps of a ``Pipeline``; every fold learns its own
vocabulary. The bars are standard deviations over the folds: settings that differ by less than that
are not told apart.
"""

from matplotlib import pyplot as plt
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline

from sk_han import HANClassifier, HierarchicalTokenizer
from sk_han.datasets import make_reviews

texts, labels = make_reviews(500, random_state=0)
pipeline = Pipeline(
    [
        ("tokenizer", HierarchicalTokenizer()),
        ("han", HANClassifier(embedding_dim=30, word_hidden=15, max_epochs=5, random_state=0)),
    ]
)
grid = {
    "tokenizer__tokens": ["words", "words+marks"],
    "han__linear_ngrams": [(1, 1), (1, 2), (1, 3)],
}
search = GridSearchCV(pipeline, grid, cv=3).fit(texts, labels)
print(search.best_params_)

# %%
# All settings
# ------------
# In these reviews "not good" and "good" lie close together: a model of single words is lost, pairs
# and triples help. (A network of this size learns little from 300 reviews.)
results = search.cv_results_
names = [
    f"{setting['tokenizer__tokens']}, n-grams of {setting['han__linear_ngrams'][1]}"
    for setting in results["params"]
]
figure, axes = plt.subplots(figsize=(7, 3.5), layout="constrained")
axes.errorbar(results["mean_test_score"], names, xerr=results["std_test_score"], fmt="o", capsize=4)
axes.set_xlabel("accuracy, mean of three folds")
axes.grid(axis="x", alpha=0.3)
axes.margins(y=0.2)
