"""Whether the contributions of sentences tell those that praise from those that blame.

``python benchmarks/sentence_ranking.py`` fits a HANClassifier with its defaults and TF-IDF with
logistic regression on the same documents, and ranks sentences whose sign people gave (or the
generator): the area under the ROC curve of their contributions toward "pos", over the sentences of
all documents. Then it takes the first sentences of each ranking, and the first words, out of
documents, and prints by how much the probability of the predicted class falls. ``--part 0`` has the
documents by which the default method was chosen, ``--part 1`` others.
"""

from __future__ import annotations

import argparse
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from results import add_save, publish
from sentence_corpora import RANKED, TASKS, TRAINING, Documents
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import Pipeline, make_pipeline

from sk_han import DocumentArray, HANClassifier, explain, faithfulness_report
from sk_han.inspection.methods.by_name import without_each

METHODS = ("shapley", "sentence_alone", "gradient_attention")
FRACTIONS = (0.05, 0.1, 0.2, 0.5)  # of the sentences of a document
N_EXPLAINED = 100  # documents that sentences and words are taken out of


class Models(NamedTuple):
    """What one training set has taught."""

    han: HANClassifier
    words: Pipeline  # TF-IDF of words, logistic regression
    pairs: Pipeline  # of words and pairs of words


class Case(NamedTuple):
    """Documents to rank the sentences of, as read by the classifier."""

    models: Models
    texts: list[str]
    documents: DocumentArray
    spans: list[NDArray]  # of the sentences of each text

    @property
    def document_of_sentence(self) -> NDArray:
        """Number of the document of each sentence."""
        return np.repeat(np.arange(len(self.texts)), self.documents.sentences_per_document)


Ranking = Callable[[Case], NDArray]  # a number for each sentence, toward "pos"


def fitted(name: str, part: int, folder: Path | None, limit: int | None) -> Models:
    """Fit the models, or load them from the folder."""
    path = folder and folder / f"{name}-{part}-{limit}.pickle"
    if path and path.exists():
        with path.open("rb") as file:
            return pickle.load(file)
    texts, labels = TRAINING[name](part)
    texts, labels = texts[:limit], labels[:limit]
    start = perf_counter()
    models = Models(
        HANClassifier(random_state=0).fit(texts, labels),
        *(
            make_pipeline(
                TfidfVectorizer(ngram_range=(1, n)), LogisticRegression(max_iter=1_000)
            ).fit(texts, labels)
            for n in (1, 2)
        ),
    )
    print(f"{name}: fitted in {perf_counter() - start:.0f} s", file=sys.stderr)
    if path:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            pickle.dump(models, file)
    return models


def read(models: Models, texts: list[str]) -> Case:
    documents, spans = models.han.tokenizer_.locate(texts)
    return Case(models, texts, documents, [found.sentence_spans for found in spans])


def signs_of(case: Case, documents: Documents) -> NDArray:
    """Give each sentence the sign of the passage that it shares most with: 1, 0, or -1 for none."""
    signs = []
    for spans, passages in zip(case.spans, documents.passages, strict=True):
        for start, end in spans:
            shared = [(min(end, e) - max(start, s), sign, e - s) for s, e, sign in passages]
            most, sign, length = max(shared, default=(0, False, 1))
            signs.append(int(sign) if most > 0 and most >= min(end - start, length) / 2 else -1)
    return np.array(signs)


# The linear model


def coefficients(case: Case, *, pairs: bool = False, weighted: bool = False) -> NDArray:
    """Sum the coefficients of a sentence; weighted: times their TF-IDF in the document.

    The latter sum over a document to its log-odds, but for the intercept.
    """
    vectorizer, model = (step for _, step in case.models[2 if pairs else 1].steps)
    analyze, vocabulary = vectorizer.build_analyzer(), vectorizer.vocabulary_
    factors = model.coef_[0] * (vectorizer.idf_ if weighted else 1)
    found = []
    for text, spans in zip(case.texts, case.spans, strict=True):
        columns, counts = np.unique(
            [vocabulary[term] for term in analyze(text) if term in vocabulary], return_counts=True
        )
        columns = columns.astype(int)
        length = np.linalg.norm(counts * vectorizer.idf_[columns]) if weighted else 1
        for start, end in spans:
            known = [vocabulary[t] for t in analyze(text[start:end]) if t in vocabulary]
            found.append(factors[known].sum() / (length or 1))
    return np.array(found)


# The classifier


def explained(method: str) -> Ranking:
    """Rank by `explain`."""

    def ranking(case: Case) -> NDArray:
        found = explain(case.models.han, case.texts, method=method, target="pos")
        return np.concatenate([explanation.sentence_contributions for explanation in found])

    return ranking


def log_odds(case: Case, documents: DocumentArray) -> NDArray:
    logits = case.models.han.decision_function(documents)
    return logits if case.models.han.classes_[1] == "pos" else -logits


def left_out(case: Case) -> NDArray:
    """Rank by the fall when a sentence is left out."""
    pieces = without_each(case.documents, case.documents.sentence_starts)
    rest = [log_odds(case, copies) for _, copies in pieces]
    whole = log_odds(case, case.documents)
    return whole[case.document_of_sentence] - np.concatenate(rest)


LINEAR: dict[str, Ranking] = {
    "TF-IDF + LR, coefficients": coefficients,
    "TF-IDF + LR, weighted": lambda case: coefficients(case, weighted=True),
    "the same, with pairs": lambda case: coefficients(case, pairs=True, weighted=True),
}
OURS: dict[str, Ranking] = {method: explained(method) for method in METHODS}
RANKINGS = {**LINEAR, **OURS, "left out": left_out}


# What is printed


def sentence_comprehensiveness(case: Case, ranking: NDArray) -> float:
    """Give the mean fall of the predicted class's probability without the first sentences."""
    han, documents, of = case.models.han, case.documents, case.document_of_sentence
    whole = han.predict_proba(documents)
    rows, predicted = np.arange(len(documents)), whole.argmax(axis=1)
    toward = np.where(han.classes_[predicted] == "pos", 1, -1)[of] * ranking
    n, order = documents.sentences_per_document, np.lexsort((-toward, of))
    rank = np.empty(len(of), dtype=int)
    rank[order] = np.arange(len(of)) - documents.document_starts[of[order]]
    falls = []
    for fraction in FRACTIONS:
        stays = rank >= np.maximum(1, np.ceil(fraction * n))[of]
        rest = documents.keep_words(np.repeat(stays, documents.words_per_sentence))
        falls.append((whole - han.predict_proba(rest))[rows, predicted].mean())
    return float(np.mean(falls))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--rows", nargs="+", choices=RANKINGS)
    parser.add_argument("--part", type=int, choices=(0, 1), default=0)
    parser.add_argument("--models", type=Path, help="folder that keeps the fitted models")
    parser.add_argument("--limit", type=int, help="documents to train on and to rank, for a try")
    add_save(parser)
    arguments = parser.parse_args()
    rankings = {name: RANKINGS[name] for name in arguments.rows or RANKINGS}

    def models_of(training: str) -> Models:
        return fitted(training, arguments.part, arguments.models, arguments.limit)

    areas: dict[str, list[float]] = {name: [] for name in rankings}
    for number, task in enumerate(arguments.data, 1):
        training, documents_of = TASKS[task]
        documents = Documents(*(each[: arguments.limit] for each in documents_of(arguments.part)))
        case = read(models_of(training), documents.texts)
        signs = signs_of(case, documents)
        known = signs >= 0
        print(f"({number}) {task}: {known.sum():,} sentences, {(signs == 1).sum():,} positive")
        for name, ranking in rankings.items():
            areas[name].append(roc_auc_score(signs[known], ranking(case)[known]))
    rows = [
        {"learnt from, ranked in": task}
        | {name: round(values[number], 3) for name, values in areas.items()}
        for number, task in enumerate(arguments.data)
    ]
    publish("sentence_ranking", rows, arguments.save)

    for training in sorted({TASKS[task][0] for task in arguments.data} & set(RANKED)):
        texts_of = RANKED[training]
        texts = texts_of(arguments.part)[: arguments.limit or N_EXPLAINED]
        case = read(models_of(training), texts)
        print(f"\n{training}: comprehensiveness of sentences, {len(texts)} documents")
        for name, ranking in rankings.items():
            print(f"{name:30}{sentence_comprehensiveness(case, ranking(case)):9.3f}", flush=True)
        methods = [name for name in OURS if name in rankings]
        print(faithfulness_report(case.models.han, texts, methods=methods, random_state=0))


if __name__ == "__main__":
    main()
