"""Texts in MAPIE, hiclass, scikit-activeml, Evidently and MLflow (pip install and the name)."""

import numpy as np
import pandas as pd
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer

from sk_han import HANClassifier
from sk_han.datasets import make_reviews

texts, labels = make_reviews(1200, n_classes=3, random_state=0)
texts = np.array(texts, dtype=object)
classifier = HANClassifier(embedding_dim=16, word_hidden=8, max_epochs=10, random_state=0)
rows = np.arange(len(texts)).reshape(-1, 1)


def by_row() -> Pipeline:
    """Make a classifier of row numbers, for libraries that refuse texts."""
    return make_pipeline(FunctionTransformer(texts.take), classifier)


def prediction_sets() -> np.ndarray:
    """MAPIE: sets of classes, nine of ten of which hold the right one."""
    from mapie.classification import SplitConformalClassifier

    classifier.fit(texts[:600], labels[:600])
    mapie = SplitConformalClassifier(classifier, confidence_level=0.9)
    mapie.conformalize(texts[600:900], labels[600:900])
    _, sets = mapie.predict_set(texts[900:])
    return sets[:, :, 0]  # documents x classes_


def tree_of_classes() -> np.ndarray:
    """hiclass: a classifier at each node of a tree of classes."""
    from hiclass import LocalClassifierPerParentNode

    groups = np.where(labels == "neutral", "unclear", "clear")
    levels = np.column_stack([groups, labels])
    tree = LocalClassifierPerParentNode(by_row()).fit(rows[:600], levels[:600])
    return tree.predict(rows[600:])  # documents x levels


def next_to_label() -> np.ndarray:
    """scikit-activeml: the rows of the documents to label next."""
    from skactiveml.classifier import SklearnClassifier
    from skactiveml.pool import UncertaintySampling

    known = np.where(rows[:, 0] < 100, labels, None)  # None: no label yet
    model = SklearnClassifier(by_row(), classes=np.unique(labels), missing_label=None)
    query = UncertaintySampling("margin_sampling", missing_label=None, random_state=0)
    return query.query(rows, known, model, batch_size=20)


def drift_of_predictions(new_texts: list[str]) -> pd.DataFrame:
    """Evidently: whether the probabilities are distributed as before."""
    from evidently import Report
    from evidently.presets import DataDriftPreset

    classifier.fit(texts[:600], labels[:600])
    before, now = (
        pd.DataFrame(classifier.predict_proba(part), columns=classifier.classes_)
        for part in (texts[600:900], new_texts)
    )
    drift = Report([DataDriftPreset()]).run(now, before)
    drift.save_html("drift.html")
    return pd.DataFrame(drift.dict()["metrics"])


def saved_for_mlflow(file: str, folder: str) -> None:
    """MLflow: a model that loads a file of `sk_han.save` and needs no PyTorch."""
    import mlflow

    from sk_han.serving import Scorer

    class Reviews(mlflow.pyfunc.PythonModel):
        def load_context(self, context):
            self.scorer = Scorer.load(context.artifacts["model"])

        def predict(self, context, model_input, params=None):
            return self.scorer.predict_frame(model_input["text"])

    mlflow.pyfunc.save_model(
        folder,
        python_model=Reviews(),
        artifacts={"model": file},
        pip_requirements=["sk-han"],  # else MLflow looks for the installed packages
    )
