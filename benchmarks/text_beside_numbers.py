"""Text and columns in one model: a stack of a model of the text and one of the columns.

Airline tweets stand beside their airline and length. The text is read by `HANClassifier`, or by
TF-IDF with logistic regression in its place; the columns by logistic regression. Each is scored
alone, and both in a StackingClassifier, which cross-fits them. Everything has its defaults: nothing
is chosen. 500 training documents are drawn for each seed, and 2,000 others are scored.
"""

from __future__ import annotations

import argparse
from operator import itemgetter
from typing import Any

import corpora
import numpy as np
import pandas as pd
from linear import tfidf
from results import add_save, publish
from sklearn.compose import make_column_transformer
from sklearn.ensemble import StackingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from sk_han import HANClassifier
from sk_han.datasets import load_csv

N_TRAINING, N_TEST = 500, 2000


def read(seed: int) -> tuple[pd.DataFrame, Any, pd.DataFrame, Any]:
    """Give columns and labels of training and of test documents."""
    texts, labels = corpora.airline()
    path = corpora.data_folder() / "airline" / "tweets.csv.gz"
    airlines = load_csv(path, text="airline", label=None)
    rows = np.random.RandomState(seed).permutation(len(texts))[: N_TRAINING + N_TEST]
    frame = pd.DataFrame({"text": [texts[row] for row in rows]})
    frame["length"] = frame["text"].str.len()
    frame["airline"] = [airlines[row] for row in rows]
    y = labels[rows]
    return frame[:N_TRAINING], y[:N_TRAINING], frame[N_TRAINING:], y[N_TRAINING:]


def scores(reader: Any, seed: int) -> dict[str, float]:
    """Give the accuracy in percent of each model alone, and of both."""
    train, y, test, truth = read(seed)
    columns = make_column_transformer(
        (StandardScaler(), ["length"]), (OneHotEncoder(handle_unknown="ignore"), ["airline"])
    )
    models = [
        ("text", make_pipeline(FunctionTransformer(itemgetter("text")), reader)),
        ("columns", make_pipeline(columns, LogisticRegression(max_iter=1000))),
    ]
    stack = StackingClassifier(models, LogisticRegression(max_iter=1000)).fit(train, y)
    alone = stack.named_estimators_
    codes = stack.classes_.searchsorted(truth)  # a stack hands its members numbers of classes
    return {
        "text alone": 100 * alone["text"].score(test, codes),
        "columns alone": 100 * alone["columns"].score(test, codes),
        "text and columns": 100 * stack.score(test, truth),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    add_save(parser)
    arguments = parser.parse_args()
    rows = []
    for name in ("HANClassifier", "TF-IDF(1-2) + LR"):
        found = []
        for seed in range(arguments.seeds):
            reader = HANClassifier(random_state=seed) if name == "HANClassifier" else tfidf()
            found.append(scores(reader, seed))
            print(name, seed, found[-1], flush=True)
        mean = {key: float(np.mean([one[key] for one in found])) for key in found[0]}
        gain = mean["text and columns"] - mean["text alone"]
        row = {key: round(value, 1) for key, value in mean.items()}
        rows.append({"accuracy, %": name, **row, "gain over the text": round(gain, 1)})
    publish("text_beside_numbers", rows, arguments.save)


if __name__ == "__main__":
    main()
