"""
A search over network and linear model
======================================

``GridSearchCV`` fits each setting on parts of the documents and scores it on the others; every
fold learns its own vocabulary. The bars are standard deviations over the folds: settings that
differ by less than that are not told apart.
"""

from matplotlib import pyplot as plt
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline

from sk_han import HANClassifier, HierarchicalTokenizer
from sk_han.datasets import make_reviews

texts, labels = make_reviews(1000, random_state=0)
pipeline = Pipeline(
    [
        ("tokenizer", HierarchicalTokenizer(tokens="words")),
        ("han", HANClassifier(embedding_dim=50, random_state=0)),
    ]
)
grid = {"han__word_hidden": [5, 25], "han__linear_ngrams": [(1, 1), (1, 3)]}
search = GridSearchCV(pipeline, grid, cv=2).fit(texts, labels)
print(search.best_params_)

# %%
# All settings
# ------------
# These reviews are full of "not good" and "hardly bad". A network that is large enough reads the
# order of words. Where it is too small, the linear model helps out, if it may count pairs and
# triples of words.
results = search.cv_results_
names = [
    f"word_hidden {setting['han__word_hidden']}, n-grams of {setting['han__linear_ngrams'][1]}"
    for setting in results["params"]
]
figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
axes.errorbar(results["mean_test_score"], names, xerr=results["std_test_score"], fmt="o", capsize=4)
axes.set_xlabel("accuracy, mean of two folds")
axes.grid(axis="x", alpha=0.3)
axes.margins(y=0.2)
