"""How faithful explanations are: our methods, LIME and SHAP on the same documents.

``python benchmarks/faithfulness.py --data movies`` fits a HANClassifier with its defaults on the
training documents, and measures explanations of others. Methods that take seconds a document
are measured on the first few of these, beside all others on the same few.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import corpora
import numpy as np
import torch
from numpy.typing import NDArray
from other_explainers import OTHERS, installed
from results import add_save, save
from sklearn.metrics import average_precision_score

from sk_han import ExplanationList, HANClassifier, explain, faithfulness_report
from sk_han._utils.metrics import mean_interval
from sk_han.datasets import make_reviews
from sk_han.inspection import FaithfulnessReport

Spans = list[list[tuple[int, int]]]

DATA = ("movies", "imdb", "make_reviews")
OURS = ["shapley", "gradient_attention", "attention"]


class Documents(NamedTuple):
    """Documents to train on, and others to explain."""

    train_texts: list[str]
    train_labels: NDArray
    texts: list[str]
    labels: NDArray
    rationales: Spans | None


def documents_of(name: str, n_documents: int) -> Documents:
    """Give a corpus with at most so many documents to explain, drawn once for all."""
    if name == "movies":
        train_texts, train_labels = corpora.movies("train")
        texts, labels, rationales = movie_rationales("val")
    elif name == "imdb":
        train_texts, train_labels = corpora.imdb("train")
        texts, labels = corpora.imdb("test")
        rationales = None
    else:
        texts, labels, rationales = make_reviews(3_000, random_state=1_000, return_rationales=True)
        train_texts, train_labels = texts[:2_000], labels[:2_000]
        texts, labels, rationales = texts[2_000:], labels[2_000:], rationales[2_000:]
    rows = np.random.RandomState(0).permutation(len(texts))[:n_documents]
    return Documents(
        train_texts,
        train_labels,
        [texts[row] for row in rows],
        labels[rows],
        rationales and [rationales[row] for row in rows],
    )


def movie_rationales(split: str) -> tuple[list[str], NDArray, Spans]:
    """Give film reviews of ERASER with the characters that people marked."""
    path = corpora.data_folder() / "eraser_movies" / f"{split}.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    return (
        [row["text"] for row in rows],
        np.array([row["label"] for row in rows]),
        [row["evidence_chars"] for row in rows],
    )


def first_of(documents: Documents, n: int) -> tuple[list[str], NDArray, Spans | None]:
    """Give the first documents to explain."""
    rationales = documents.rationales and documents.rationales[:n]
    return documents.texts[:n], documents.labels[:n], rationales


def agreement(
    scores: Sequence[NDArray], explained: ExplanationList, rationales: Spans
) -> dict[str, NDArray]:
    """Compare scores of words with people's marks: AUPRC and token F1 of documents with marks.

    F1 is that of the k top words if k words are marked, so it equals precision and recall. A word
    is marked if it overlaps a span.
    """
    found: dict[str, list[float]] = {"auprc": [], "token_f1": []}
    for own, explanation, spans in zip(scores, explained, rationales, strict=True):
        words = explanation.word_spans
        marked = np.zeros(len(words), dtype=bool)
        for start, end in spans:
            marked |= (words[:, 0] < end) & (words[:, 1] > start) & (words[:, 0] < words[:, 1])
        if marked.any():
            found["auprc"].append(average_precision_score(marked, own))
            found["token_f1"].append(marked[np.argsort(-own, kind="stable")[: marked.sum()]].mean())
    return {name: np.array(values) for name, values in found.items()}


def scored(method: str, scores: dict[str, Any], model: Any, X: Any) -> Any:
    """Give the scores of all words by a method, and keep them by its name."""
    if method in OTHERS:
        scores[method] = OTHERS[method](model, X)
    else:
        scores[method] = [each.contributions for each in explain(model, X, method=method)]
    return scores[method]


def rows_of(
    report: FaithfulnessReport, agreements: dict[str, dict[str, NDArray]]
) -> list[dict[str, Any]]:
    """Give a row for each method: means with intervals, and milliseconds a document."""
    rows = []
    for method in report.methods:
        row: dict[str, Any] = {"method": method}
        for metric in report.metrics:
            low, high = report.intervals[metric][method]
            row[metric] = f"{report.means[metric][method]:.3f} [{low:.3f}, {high:.3f}]"
        for metric, values in agreements.get(method, {}).items():
            low, high = mean_interval(values, 0.0)
            row[metric] = f"{values.mean():.3f} [{low:.3f}, {high:.3f}]"
        rows.append(row | {"ms a document": f"{float(f'{1000 * report.seconds[method]:.2g}'):g}"})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", choices=DATA, default=["make_reviews"])
    parser.add_argument("--methods", nargs="+", choices=[*OURS, *OTHERS], default=[*OURS, *OTHERS])
    parser.add_argument("--documents", type=int, default=500, help="documents to explain, at most")
    parser.add_argument("--slow-documents", type=int, default=50, help="of these for LIME and SHAP")
    parser.add_argument("--seed", type=int, default=0, help="of the classifier and the control")
    add_save(parser)
    arguments = parser.parse_args()
    names = installed(arguments.methods)
    ours = [name for name in names if name in OURS]
    slow = {name: OTHERS[name] for name in names if name in OTHERS}
    for name in arguments.data:
        documents = documents_of(name, arguments.documents)
        classifier = HANClassifier(random_state=arguments.seed)
        classifier.fit(documents.train_texts, documents.train_labels)
        accuracy = classifier.score(documents.texts, documents.labels)
        print(
            f"\n{name}: {classifier}, fitted on {len(documents.train_texts):,} labels, right "
            f"about {100 * accuracy:.1f} % of {len(documents.texts)} others; "
            f"{torch.get_num_threads()} threads"
        )
        for methods, n in ((ours, len(documents.texts)), (slow, arguments.slow_documents)):
            if not methods:
                continue
            print(f"{name}: measuring {', '.join(methods)}", file=sys.stderr)
            texts, _, rationales = first_of(documents, n)
            scores: dict[str, Any] = {}
            chosen = [*ours, *slow] if methods is slow else ours
            report = faithfulness_report(
                classifier,
                texts,
                methods={one: partial(scored, one, scores) for one in chosen},
                random_state=arguments.seed,
            )
            print(f"\n{report}", flush=True)
            agreements = {}
            if rationales is not None:
                explained = explain(classifier, texts, method="random", random_state=arguments.seed)
                scores["random"] = [each.contributions for each in explained]
                agreements = {
                    one: agreement(found, explained, rationales) for one, found in scores.items()
                }
            rows = rows_of(report, agreements)
            print(*rows, sep="\n", flush=True)
        if arguments.save:
            save(f"faithfulness-{name}", rows)


if __name__ == "__main__":
    main()
