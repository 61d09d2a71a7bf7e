"""Whether the numbers before sentences say what leaving these out does, and what they cost.

``python benchmarks/sentence_values.py`` fits a HANClassifier with its defaults on 2,000 documents
of each corpus, and explains others for their predicted class. Columns: how far the sentences of a
document are from summing to its log-odds less those of a document without words, at most; the share
of bars above 0.1 whose sign is that of leaving the sentence out; the share of documents whose
longest bar is the sentence that they lose most without; the share of words above 0.05 with the sign
of leaving the word out; processor time over that of a prediction, and its milliseconds for one
document at a time.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from statistics import median
from time import process_time
from typing import Any

import corpora
import numpy as np
from numpy.typing import NDArray
from results import add_save, publish
from sentence_corpora import TRAINING, airline_mixed, imdb_reviews, movies_evidence

from sk_han import ExplanationList, HANClassifier, explain

METHODS = ("shapley", "sentence_alone", "gradient_attention")
GROUPS = ("comp", "rec", "sci", "talk", "soc")  # of newsgroups
N_TRAINING = 2_000


def news(split: str) -> tuple[list[str], NDArray]:
    """Give a random part of the newsgroups, in five groups."""
    texts, labels = corpora.newsgroups(split)
    groups = np.array([label.split(".")[0] for label in labels])
    rows = np.random.RandomState(0).permutation(np.flatnonzero(np.isin(groups, GROUPS)))
    return [texts[row] for row in rows[:N_TRAINING]], groups[rows[:N_TRAINING]]


CORPORA: dict[str, tuple[Callable[[], Any], Callable[[], list[str]]]] = {
    "IMDB": (lambda: TRAINING["imdb"](1), lambda: imdb_reviews(1)),
    "movies": (lambda: TRAINING["movies"](1), lambda: movies_evidence(1).texts),
    "airline": (lambda: TRAINING["airline"](1), lambda: airline_mixed(1).texts),
    "20 newsgroups in 5": (lambda: news("train"), lambda: news("test")[0]),
}


def processor_time(work: Callable[[], Any], n_rounds: int = 3) -> float:
    """Give the least seconds of the processor."""
    taken = []
    for _ in range(n_rounds):
        start = process_time()
        work()
        taken.append(process_time() - start)
    return min(taken)


def one_by_one(classifier: HANClassifier, texts: list[str], method: str) -> float:
    """Give the median milliseconds of the processor for a document alone."""
    taken = []
    for text in texts:
        start = process_time()
        explain(classifier, [text], method=method)
        taken.append(1_000 * (process_time() - start))
    return median(taken)


def measured(
    classifier: HANClassifier, texts: list[str], method: str, left_out: ExplanationList
) -> dict[str, Any]:
    """Compare a method with leaving words and sentences out, of texts with several sentences."""
    found = explain(classifier, texts, method=method)
    pool, documents = classifier.pool_, classifier.tokenizer_.transform(texts)
    logits, nothing = (pool.logits(X) for X in (documents, classifier.tokenizer_.transform([""])))
    t = np.array([classifier.classes_.tolist().index(e.target) for e in found])
    change = pool.target.log_odds(logits, t)
    change = change - pool.target.log_odds(np.repeat(nothing, len(t), axis=0), t)
    sums = np.array([e.sentence_contributions.sum() for e in found])
    pairs = list(zip(found, left_out, strict=True))
    longest = [
        e.sentence_contributions.argmax() == o.sentence_contributions.argmax() for e, o in pairs
    ]
    predict = processor_time(lambda: classifier.predict_proba(texts))
    return {
        "method": method,
        "off the sum": f"{np.abs(sums - change).max():.1g}",
        "sign of sentences": agreement(pairs, "sentence_contributions", 0.1),
        "longest bar": round(float(np.mean(longest)), 3),
        "sign of words": agreement(pairs, "contributions", 0.05),
        "time over prediction": round(
            processor_time(lambda: explain(classifier, texts, method=method)) / predict, 1
        ),
        "ms of one": round(one_by_one(classifier, texts[:30], method), 1),
    }


def agreement(pairs: list[Any], name: str, least: float) -> float:
    """Give the share of numbers above a size that have the sign of leaving out."""
    ours, theirs = (
        np.concatenate([getattr(e, name) for e in each]) for each in zip(*pairs, strict=True)
    )
    large = np.abs(ours) > least
    return round(float(np.mean(np.sign(ours[large]) == np.sign(theirs[large]))), 3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", choices=CORPORA, default=list(CORPORA))
    parser.add_argument("--methods", nargs="+", default=list(METHODS))
    parser.add_argument("--documents", type=int, default=100)
    add_save(parser)
    arguments = parser.parse_args()
    rows = []
    for name in arguments.data:
        training, texts_of = CORPORA[name]
        classifier = HANClassifier(random_state=0, device="cpu").fit(*training())
        texts = texts_of()[: arguments.documents]
        several = np.diff(classifier.tokenizer_.transform(texts).document_starts) > 1
        texts = [text for text, is_long in zip(texts, several, strict=True) if is_long]
        left_out = explain(classifier, texts, method="occlusion")
        for method in arguments.methods:
            rows.append({"corpus": name} | measured(classifier, texts, method, left_out))
            print(rows[-1], flush=True)
    publish("sentence_values", rows, arguments.save)


if __name__ == "__main__":
    main()
