"""Text and columns in one model: ``text_column``, against each alone and a stack of both.

Airline tweets stand beside their airline and length; reviews of IMDB and of ERASER's films beside a
number drawn as class + 2 z, z standard normal; messages of 20 newsgroups beside a category that
names the group of every other one. "useless" are ten columns of noise, numbers and categories, and
the text. The stack has TF-IDF with logistic regression for the text, and gradient boosting for the
columns. Everything has its defaults. 500 training documents are drawn for each seed (1,000 of 20
newsgroups), and up to 2,000 test documents are scored.

``--wide 500 300`` prints instead how many seconds the linear models of a fit to generated reviews
take, without and with so many columns of numbers.
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
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, StackingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OrdinalEncoder

from sk_han import HANClassifier
from sk_han.datasets import load_csv, make_reviews

N_TEST = 2000
CORPORA = ("airline", "IMDB", "films", "20 newsgroups")


def read(name: str, seed: int) -> tuple[pd.DataFrame, Any, pd.DataFrame, Any]:
    """Give tables and labels of training and of test documents."""
    rng = np.random.RandomState(seed)
    n = 1000 if name == "20 newsgroups" else 500
    if name == "airline":
        texts, labels = corpora.airline()
        rows = rng.permutation(len(texts))
        parts = [(texts, labels, rows[:n]), (texts, labels, rows[n : n + N_TEST])]
    else:
        load = {"IMDB": corpora.imdb, "films": corpora.movies, "20 newsgroups": corpora.newsgroups}
        parts = []
        for split, size in (("train", n), ("val" if name == "films" else "test", N_TEST)):
            texts, labels = load[name](split)
            parts.append((texts, labels, rng.permutation(len(texts))[:size]))
    found: list[Any] = []
    for texts, labels, rows in parts:
        y = labels[rows]
        frame = pd.DataFrame({"text": [texts[row] for row in rows]})
        if name == "airline":
            path = corpora.data_folder() / "airline" / "tweets.csv.gz"
            airlines = load_csv(path, text="airline", label=None)
            frame["airline"] = [airlines[row] for row in rows]
            frame["length"] = frame["text"].str.len()
        elif name == "20 newsgroups":
            frame["group"] = np.where(rng.rand(len(y)) < 0.5, y, "")
        else:
            frame["number"] = (y == np.unique(y)[1]) + 2 * rng.randn(len(y))
        for i in range(5):
            frame[f"useless number {i}"] = rng.randn(len(y))
            frame[f"useless category {i}"] = [f"v{v}" for v in rng.randint(0, 20, len(y))]
        found += [frame, y]
    return found[0], found[1], found[2], found[3]


def scores(name: str, seed: int) -> dict[str, float]:
    """Give the accuracy in percent of each model."""
    train, y, test, truth = read(name, seed)
    useless = [each for each in train if each.startswith("useless")]
    useful = [each for each in train if each not in ("text", *useless)]
    found = {}
    for key, columns in (("text", []), ("text + columns", useful), ("text + useless", useless)):
        model = HANClassifier(text_column="text", columns=columns, random_state=seed)
        if not columns:  # the texts alone, as without a table
            model.set_params(text_column=None, columns=None)
            found[key] = model.fit(train["text"], y).score(test["text"], truth)
        else:
            found[key] = model.fit(train, y).score(test, truth)
    coded = make_column_transformer(
        (
            OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
            make_column_selector(dtype_exclude=np.number),
        ),
        remainder="passthrough",
    )
    columns = make_pipeline(
        FunctionTransformer(itemgetter(useful)), coded, HistGradientBoostingClassifier()
    )
    text = make_pipeline(FunctionTransformer(itemgetter("text")), tfidf())
    stack = StackingClassifier(
        [("text", text), ("columns", columns)], LogisticRegression(max_iter=1000)
    ).fit(train, y)
    codes = stack.classes_.searchsorted(truth)  # a stack hands its members numbers of classes
    found["columns"] = stack.named_estimators_["columns"].score(test, codes)
    found["stack"] = stack.score(test, truth)
    return {key: 100 * value for key, value in found.items()}


def seconds_of_linear_models(n_rows: int, n_numbers: int) -> dict[str, float]:
    """Give the time of a fit to the texts alone, and next to numbers."""
    texts, labels = make_reviews(n_rows, random_state=0)
    numbers = np.random.RandomState(0).randn(n_rows, n_numbers)
    frame = pd.DataFrame(numbers, columns=[f"number {i}" for i in range(n_numbers)])
    frame.insert(0, "text", texts)
    found = {}
    for key, columns in (("text", []), ("text + columns", None)):
        model = HANClassifier(text_column="text", columns=columns, max_epochs=1, random_state=0)
        summary = model.fit(frame, labels).fit_summary_
        found[f"{key}, s"] = round(summary.seconds["linear models"], 2)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--corpora", nargs="+", default=CORPORA, choices=CORPORA)
    parser.add_argument("--wide", type=int, nargs=2, metavar=("ROWS", "NUMBERS"))
    add_save(parser)
    arguments = parser.parse_args()
    if arguments.wide:
        print(seconds_of_linear_models(*arguments.wide))
        return
    rows = []
    for name in arguments.corpora:
        found = []
        for seed in range(arguments.seeds):
            found.append(scores(name, seed))
            print(name, seed, {k: round(v, 1) for k, v in found[-1].items()}, flush=True)
        mean = {key: float(np.mean([one[key] for one in found])) for key in found[0]}
        gain = mean["text + columns"] - max(mean["text"], mean["columns"])
        order = ("text", "columns", "text + columns", "text + useless", "stack")
        row = {key: round(mean[key], 1) for key in order}
        rows.append({"accuracy, %": name, **row, "gain": round(gain, 1)})
    publish("text_beside_numbers", rows, arguments.save)


if __name__ == "__main__":
    main()
