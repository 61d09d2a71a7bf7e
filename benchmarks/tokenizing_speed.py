"""How fast texts become documents of word ids, with each engine, against scikit-learn.

``python benchmarks/tokenizing_speed.py`` takes the IMDB reviews from ``$SK_HAN_DATA`` (else
``../shared/data``) and without them makes texts of like lengths. One process, one thread,
processor time; the contestants take turns, and the medians are printed with their ratio to
``CountVectorizer().build_analyzer()``, which finds words alone and no sentences. Behind it stand
the analyzer of TF-IDF on words and pairs, and n-gram scores of the documents. ``numba`` marks the
compiled kernels; what they cost a new process is printed apart.
"""

from __future__ import annotations

import argparse
import time
from collections import deque
from collections.abc import Callable
from statistics import median

import numpy as np
from corpora import reviews
from results import add_save, publish
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

from sk_han import HierarchicalTokenizer
from sk_han.documents import LabelledDocuments
from sk_han.engines.engine_choice import kernels, using_engine
from sk_han.parts.ngrams.stacking import NgramLearner, Source
from sk_han.targets import OneOfClasses
from sk_han.text.analyzer import TextAnalyzer
from sk_han.text.sentences import sentence_spans
from sk_han.text.tokens import TOKEN_PATTERNS


def run(function: Callable[[str], object], texts: list[str]) -> None:
    """Call the function on every text, and keep nothing."""
    deque(map(function, texts), maxlen=0)


def with_engine(engine: str, function: Callable[[], object]) -> Callable[[], None]:
    """Return a function that calls this one with an engine."""

    def call() -> None:
        with using_engine(engine):
            function()

    return call


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=5_000)
    parser.add_argument("--rounds", type=int, default=7)
    add_save(parser)
    arguments = parser.parse_args()
    texts, labels, what = reviews(arguments.documents)

    start = time.perf_counter()
    engines = ["torch"]
    with using_engine("numba"):
        if kernels("text") is not None and kernels("ngrams") is not None:
            engines.append("numba")
            print(f"kernels loaded in {time.perf_counter() - start:.2f} s")

    analyze = CountVectorizer().build_analyzer()
    analyze_pairs = TfidfVectorizer(ngram_range=(1, 2)).build_analyzer()
    split = TextAnalyzer(TOKEN_PATTERNS[HierarchicalTokenizer().tokens]).analyze
    vectorizer = CountVectorizer().fit(texts)
    fitted = HierarchicalTokenizer().fit(texts)
    documents = fitted.transform(texts)
    targets = np.unique(labels, return_inverse=True)[1]
    some = slice(0, len(texts), 3)
    labelled = LabelledDocuments(documents[some], targets[some], np.ones(len(targets[some])))
    learner = NgramLearner(Source(labelled, (1, 3)), OneOfClasses(np.arange(2)), None)
    ngrams = learner.fit(np.arange(len(labelled)))
    assert ngrams is not None
    ours: dict[str, Callable[[], object]] = {
        "transform": lambda: fitted.transform(texts),
        "fit_transform": lambda: HierarchicalTokenizer().fit_transform(texts),
        "spans": lambda: fitted.spans(texts),
        "n-gram scores": lambda: ngrams.logits(documents),
        "transform, one text a call": lambda: run(lambda text: fitted.transform([text]), texts),
    }
    contestants: dict[str, Callable[[], object]] = {
        "CountVectorizer().build_analyzer()": lambda: run(analyze, texts),
        "analyzer of TF-IDF(1-2)": lambda: run(analyze_pairs, texts),
        "sentences": lambda: run(sentence_spans, texts),
        "sentences and words": lambda: run(split, texts),
        **{
            f"{name}, {engine}": with_engine(engine, function)
            for name, function in ours.items()
            for engine in engines
        },
        "CountVectorizer().transform": lambda: vectorizer.transform(texts),
        "CountVectorizer().fit_transform": lambda: CountVectorizer().fit_transform(texts),
    }

    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(arguments.rounds):
        for name, contestant in contestants.items():
            start = time.process_time()
            contestant()
            seconds[name].append(time.process_time() - start)

    print(
        f"{len(texts):,} {what} of {documents.n_words / len(texts):.0f} words and "
        f"{documents.n_sentences / len(texts):.1f} sentences; medians of {arguments.rounds} "
        "interleaved rounds, one process, one thread, processor time"
    )
    reference = median(seconds["CountVectorizer().build_analyzer()"])
    rows = [
        {
            "": name,
            "documents a second": round(len(texts) / median(times)),
            "ratio": round(reference / median(times), 2),
        }
        for name, times in seconds.items()
    ]
    publish("tokenizing_speed", rows, arguments.save)


if __name__ == "__main__":
    main()
