"""Choose parameters of both steps of a Pipeline by cross-validation, on two processes."""

from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline

from sk_han import HANClassifier, HierarchicalTokenizer
from sk_han.datasets import make_reviews

texts, labels = make_reviews(2400, random_state=0)
pipeline = Pipeline(
    [
        ("tokenizer", HierarchicalTokenizer()),
        ("han", HANClassifier(embedding_dim=50, word_hidden=25, random_state=0)),
    ]
)
grid = {"tokenizer__min_df": [1, 3], "han__dropout": [0.1, 0.3]}
search = GridSearchCV(pipeline, grid, cv=2, n_jobs=2, verbose=1).fit(texts, labels)
for params, score in zip(
    search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True
):
    print(f"{score:.3f}  {params}")
