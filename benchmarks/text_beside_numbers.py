"""Text and numbers in one model, beside text alone and numbers alone; and a useless number.

Text is `HANClassifier`: alone, and by its log-odds (`features="log_odds"`) in a logistic regression
of all columns, whose numbers are scaled. Airline tweets stand beside their airline and length,
IMDB reviews and films of ERASER beside a number drawn as class + 2 z. Everything has its defaults:
nothing is chosen. 500 training documents are drawn for each seed, and 2,000 (of films 200) others
are scored.
"""

from __future__ import annotations

import argparse
from typing import Any

import corpora
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from results import add_save, publish
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from sk_han import HANClassifier
from sk_han.datasets import load_csv

N_TRAINING, N_TEST = 500, 2000
TITLES = {
    "airline": "airline tweets, their airline and length",
    "imdb": "IMDB, a number drawn as class + 2 z",
    "movies": "ERASER movies, a number drawn as class + 2 z",
}


def read(name: str, rng: np.random.RandomState) -> tuple[pd.DataFrame, Any, pd.DataFrame, Any]:
    """Give columns and labels of training and of test documents."""
    if name == "airline":
        texts, labels = corpora.airline()
        path = corpora.data_folder() / "airline" / "tweets.csv.gz"
        airlines = load_csv(path, text="airline", label=None)
        rows = rng.permutation(len(texts))[: N_TRAINING + N_TEST]
        frame = pd.DataFrame({"text": [texts[row] for row in rows]})
        frame["number"] = frame["text"].str.len()
        frame["airline"] = [airlines[row] for row in rows]
        y = labels[rows]
        return frame[:N_TRAINING], y[:N_TRAINING], frame[N_TRAINING:], y[N_TRAINING:]
    splits: list[Any] = []
    load = corpora.imdb if name == "imdb" else corpora.movies
    for split, n in [("train", N_TRAINING), ("test" if name == "imdb" else "val", N_TEST)]:
        texts, labels = load(split)
        rows = rng.permutation(len(texts))[:n]
        y = labels[rows]
        number = (y == np.unique(labels)[1]) + 2 * rng.normal(size=len(rows))
        splits += [pd.DataFrame({"text": [texts[row] for row in rows], "number": number}), y]
    return tuple(splits)


def scores(name: str, seed: int) -> dict[str, float]:
    """Give the accuracy of each model; one cross-fit serves both that have text and numbers."""
    rng = np.random.RandomState(seed)
    train, y, test, truth = read(name, rng)
    han = HANClassifier(features="log_odds", random_state=seed)
    of_text = han.fit_transform(train["text"], y), han.transform(test["text"])
    numbers = [(StandardScaler(), ["number"])]
    if "airline" in train:
        numbers.append((OneHotEncoder(handle_unknown="ignore"), ["airline"]))
    columns = make_column_transformer(*numbers, sparse_threshold=0)
    of_numbers = columns.fit_transform(train), columns.transform(test)
    useless = rng.normal(size=(len(train), 1)), rng.normal(size=(len(test), 1))

    def accuracy(*kinds: tuple[NDArray[Any], NDArray[Any]]) -> float:
        learnt, scored = (np.hstack(each) for each in zip(*kinds, strict=True))
        return LogisticRegression(max_iter=1000).fit(learnt, y).score(scored, truth)

    return {
        "text alone": han.score(test["text"], truth),
        "numbers alone": accuracy(of_numbers),
        "text and numbers": accuracy(of_text, of_numbers),
        "text and a useless number": accuracy(of_text, useless),
    }


def row_of(name: str, found: list[dict[str, float]]) -> dict[str, Any]:
    """Give mean accuracies of all seeds, and what they are above the better of both alone."""
    mean = {key: 100 * float(np.mean([one[key] for one in found])) for key in found[0]}
    better = max(mean["text alone"], mean["numbers alone"])
    return {
        "accuracy, %": TITLES[name],
        **{key: round(value, 1) for key, value in mean.items()},
        "gain over the better alone": round(mean["text and numbers"] - better, 1),
        "cost of the useless number": round(
            mean["text alone"] - mean["text and a useless number"], 1
        ),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", choices=list(TITLES), default="airline")
    parser.add_argument("--seeds", type=int, default=3)
    add_save(parser)
    arguments = parser.parse_args()
    found = []
    for seed in range(arguments.seeds):
        found.append(scores(arguments.data, seed))
        print(seed, found[-1], flush=True)
    rows = [row_of(arguments.data, found)]
    publish(f"text_beside_numbers-{arguments.data}", rows, arguments.save)


if __name__ == "__main__":
    main()
