"""HANRegressor against ridge regression on TF-IDF: errors, intervals, seconds of a fit.

``ratings`` are the eight ratings of IMDB, 1 to 4 and 7 to 10, on 2,000 test reviews; ``airline`` is
the sentiment of tweets as -1, 0, 1; ``prices`` are log-normal, of generated reviews, and depend on
what the review says, on rooms and on the district: exp(4 + .5 text + .15 rooms + district + noise).
Ridge regression has words and pairs of words, or characters, beside one-hot columns, with the
strength of five-fold cross-validation; it predicts the logarithm of prices. `HANRegressor` has its
defaults, and scale="log" for prices. A ratio below 1 is better, of R2 a difference above 0.

``--intervals 20`` fits as many models to 300 documents of each task, and prints how many true
numbers are in intervals of 50, 80 and 90 %, and how wide these are beside split conformal
intervals around ridge regression. ``--seconds`` compares a fit with that of a `HANClassifier` for
as many classes as the regressor has knots.
"""

from __future__ import annotations

import argparse
import sys
from time import process_time
from typing import Any, NamedTuple

import corpora
import numpy as np
import pandas as pd
from linear import tfidf, tfidf_of_characters
from numpy.typing import NDArray
from results import add_save, publish
from sklearn.compose import make_column_transformer
from sklearn.linear_model import Ridge
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from sk_han import HANClassifier, HANRegressor
from sk_han.datasets import make_reviews

TASKS = "ratings", "airline", "prices"
SENTIMENTS = {"negative": -1.0, "neutral": 0.0, "positive": 1.0}
DISTRICTS = {"north": -0.3, "east": 0.0, "south": 0.1, "west": 0.4}
NOISE = 0.2, 0.4, 0.8
N_TEST, N_OF_INTERVALS, COVERAGES = 2_000, 300, (0.5, 0.8, 0.9)
ALPHAS = np.logspace(-2, 2, 5)


class Data(NamedTuple):
    """Training and test documents, and their numbers."""

    train: pd.DataFrame  # the column text, and others
    y: NDArray
    test: pd.DataFrame
    truth: NDArray


def read(task: str, size: int, seed: int, noise: float = 0.4) -> Data:
    """Draw training documents and up to 2,000 test documents."""
    rng = np.random.RandomState(seed)
    if task == "ratings":
        parts = []
        for split, n in (("train", size), ("test", N_TEST)):
            texts, stars = corpora.imdb(split, "rating")
            rows = rng.permutation(len(texts))[:n]
            frame = pd.DataFrame({"text": [texts[row] for row in rows]})
            parts += [frame, stars[rows].astype(np.float64)]
        return Data(*parts)
    if task == "airline":
        texts, labels = corpora.airline()
        y = np.array([SENTIMENTS[label] for label in labels])
        rows = rng.permutation(len(texts))[: size + N_TEST]
        frame = pd.DataFrame({"text": [texts[row] for row in rows]})
        return Data(frame[:size], y[rows[:size]], frame[size:], y[rows[size:]])
    n = size + N_TEST
    texts, labels = make_reviews(n, random_state=seed)
    frame = pd.DataFrame(
        {"text": texts, "rooms": rng.randint(1, 7, n), "district": rng.choice([*DISTRICTS], n)}
    )
    mean = 4 + np.where(labels == "positive", 0.5, -0.5) + 0.15 * frame["rooms"]
    mean += frame["district"].map(DISTRICTS)
    prices = np.exp(mean.to_numpy() + noise * rng.randn(n))
    return Data(frame[:size], prices[:size], frame[size:], prices[size:])


def ridge(data: Data, *, characters: bool = False) -> Any:
    """Fit ridge regression to TF-IDF and one-hot columns."""
    text = (tfidf_of_characters() if characters else tfidf())[0]
    others = [name for name in data.train if name != "text"]
    features = make_column_transformer(
        (text, "text"), (OneHotEncoder(handle_unknown="ignore"), others)
    )
    model = make_pipeline(features, Ridge(solver="sparse_cg", random_state=0))
    return GridSearchCV(model, {"ridge__alpha": ALPHAS}, cv=5)


def regressor(data: Data, seed: int) -> HANRegressor:
    """Return a regressor of texts, or of a table that has other columns."""
    column = "text" if data.train.shape[1] > 1 else None
    scale = "linear" if column is None else "log"  # of prices, whose ridge regression has logs
    return HANRegressor(text_column=column, scale=scale, random_state=seed)


def inputs(frame: pd.DataFrame) -> Any:
    """Return texts alone where there are no other columns."""
    return frame if frame.shape[1] > 1 else frame["text"].tolist()


def errors(task: str, size: int, seed: int, noise: float) -> dict[str, float]:
    """Return R2 and the mean absolute error of each model, of prices the error of logarithms."""
    data, found = read(task, size, seed, noise), {}
    on_logs = task == "prices"
    y = np.log(data.y) if on_logs else data.y
    models = {
        "words": (ridge(data), data.train, data.test),
        "characters": (ridge(data, characters=True), data.train, data.test),
        "regressor": (regressor(data, seed), inputs(data.train), inputs(data.test)),
    }
    if on_logs:
        del models["characters"]
    for name, (model, X, X_test) in models.items():
        is_own = name == "regressor"
        predicted = model.fit(X, data.y if is_own else y).predict(X_test)
        if on_logs and not is_own:
            predicted = np.exp(predicted)
        found[f"R2, {name}"] = r2_score(data.truth, predicted)
        found[f"error, {name}"] = float(np.abs(predicted - data.truth).mean())
        if on_logs:
            away = np.log(np.maximum(predicted, 1e-9)) - np.log(data.truth)
            found[f"log error, {name}"] = float(np.sqrt(np.mean(away**2)))
    print(task, size, seed, noise, found, file=sys.stderr, flush=True)
    return found


def accuracy_row(task: str, size: int, noise: float, seeds: list[int]) -> dict[str, Any]:
    """Return means over seeds, and the comparison of each seed with the better ridge regression."""
    runs = [errors(task, size, seed, noise) for seed in seeds]
    mean = {name: float(np.mean([run[name] for run in runs])) for name in runs[0]}
    better = "characters" if mean.get("R2, characters", -np.inf) > mean["R2, words"] else "words"
    return {
        "task": task if task != "prices" else f"prices, noise {noise}",
        "documents": size,
        "R2 of ridge": round(mean[f"R2, {better}"], 3),
        "R2": round(mean["R2, regressor"], 3),
        "gain": round(mean["R2, regressor"] - mean[f"R2, {better}"], 3),
        "error of ridge": round(mean[f"error, {better}"], 3),
        "error": round(mean["error, regressor"], 3),
        "ratio": round(mean["error, regressor"] / mean[f"error, {better}"], 3),
        "log error / noise": round(mean["log error, regressor"] / noise, 2)
        if task == "prices"
        else None,
    }


def conformal(data: Data, coverage: float, seed: int) -> float:
    """Return the mean width of split conformal intervals around ridge regression on words.

    A fifth of the documents calibrates; the logarithm of prices is predicted.
    """
    is_price = "rooms" in data.train
    y = np.log(data.y) if is_price else data.y
    rows = np.random.RandomState(seed).permutation(len(y))
    kept, calibrating = np.split(rows, [4 * len(y) // 5])
    model = ridge(data).fit(data.train.iloc[kept], y[kept])
    scores = np.sort(np.abs(model.predict(data.train.iloc[calibrating]) - y[calibrating]))
    away = scores[min(int(np.ceil(coverage * (len(scores) + 1))), len(scores)) - 1]
    centre = model.predict(data.test)
    ends = centre - away, centre + away
    low, high = map(np.exp, ends) if is_price else ends
    return float(np.mean(high - low))


def intervals(task: str, n_fits: int) -> dict[str, Any]:
    """Return the shares of true numbers in intervals, and mean widths beside ridge regression."""
    inside, widths = {coverage: [] for coverage in COVERAGES}, []
    for seed in range(n_fits):
        data = read(task, N_OF_INTERVALS, seed)
        model = regressor(data, seed).fit(inputs(data.train), data.y)
        for coverage in COVERAGES:
            low, high = model.predict_interval(inputs(data.test), coverage).T
            inside[coverage].append(np.mean((low <= data.truth) & (data.truth <= high)))
        widths.append([np.mean(high - low), conformal(data, COVERAGES[-1], seed)])
        shares = [float(np.mean(inside[coverage])) for coverage in COVERAGES]
        print(task, seed, shares, np.mean(widths, axis=0), file=sys.stderr, flush=True)
    own, other = np.mean(widths, axis=0)
    return {
        "task": task,
        "fits": n_fits,
        **{f"in {100 * c:.0f} %": round(100 * float(np.mean(inside[c])), 1) for c in COVERAGES},
        "width of 90 %": round(own, 3),
        "of ridge": round(other, 3),
        "ratio": round(own / other, 2),
    }


def seconds(size: int, rounds: int = 3) -> dict[str, Any]:
    """Return the CPU seconds of a fit, and of a classifier with as many classes, in turn."""
    data, least = read("ratings", size, 0), {}
    texts = inputs(data.train)
    for _ in range(rounds):
        for name, estimator in (("regressor", HANRegressor), ("classifier", HANClassifier)):
            start = process_time()
            estimator(random_state=0).fit(texts, data.y)
            least[name] = min(least.get(name, np.inf), process_time() - start)
    return {
        "documents": size,
        "CPU seconds": round(least["regressor"], 1),
        "of a classifier": round(least["classifier"], 1),
        "ratio": round(least["regressor"] / least["classifier"], 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=[*TASKS])
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 5_000])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--intervals", type=int, help="fits of 300 documents")
    parser.add_argument("--seconds", action="store_true")
    add_save(parser)
    arguments = parser.parse_args()
    if arguments.intervals:
        rows = [intervals(task, arguments.intervals) for task in arguments.tasks]
        publish("regression_intervals", rows, arguments.save)
    elif arguments.seconds:
        publish("regression_seconds", [seconds(n) for n in arguments.sizes], arguments.save)
    else:
        cases = [
            (task, size, noise)
            for task in arguments.tasks
            for size in ([2_000] if task == "airline" else arguments.sizes)
            for noise in (NOISE if task == "prices" else [0.0])
        ]
        rows = [accuracy_row(*case, arguments.seeds) for case in cases]
        publish("regression", rows, arguments.save)


if __name__ == "__main__":
    main()
