"""How well and how fast SequenceTagger labels tokens, beside python-crfsuite, on CoNLL-2000.

``python benchmarks/tagging.py chunks`` finds phrases of words with given parts of speech: F1 by the
rules of the task's ``conlleval``. ``python benchmarks/tagging.py parts`` finds parts of speech of
words alone: accuracy of tokens. Both train on all training sentences and print the time of training
and of prediction, in turns, on one thread.

Word vectors are GloVe's (50 numbers, 50,000 words). python-crfsuite has the features of CRFsuite's
own example for this task, and those of its tutorial for words alone; both with the parameters of
that tutorial. ``pip install "sk-han[benchmarks]"`` brings it.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import mean
from time import perf_counter
from typing import Any

import torch
from corpora import conll2000, data_folder
from results import add_save, publish

from sk_han import SequenceTagger
from sk_han.embeddings import load_embeddings
from sk_han.tagging._fit import word_shape

Sentence = list[tuple[str, ...]]
PARAMS: dict[str, dict[str, Any]] = {"chunks": {"scheme": "iob2"}, "parts": {}}
# Of the tutorial of python-crfsuite.
CRFSUITE = {"c1": 1.0, "c2": 1e-3, "max_iterations": 50, "feature.possible_transitions": True}


def chunks(labels: list[str]) -> set[tuple[int, int, str]]:
    """Give the chunks of a sentence as conlleval reads them: an ``I-`` may begin one."""
    found, start, kind = set(), 0, None
    for at, label in enumerate([*labels, "O"]):
        tag, _, name = label.partition("-")
        if kind is not None and (tag != "I" or name != kind):
            found.add((start, at, kind))
            kind = None
        if tag != "O" and kind is None:
            start, kind = at, name
    return found


def chunk_f1(y: list[list[str]], found: list[list[str]]) -> float:
    true, guessed = (
        [{(i, *chunk) for chunk in chunks(labels)} for i, labels in enumerate(each)]
        for each in (y, found)
    )
    right = sum(len(a & b) for a, b in zip(true, guessed, strict=True))
    return 2 * right / (sum(map(len, true)) + sum(map(len, guessed)))


def token_accuracy(y: list[list[str]], found: list[list[str]]) -> float:
    pairs = [(a, b) for r, s in zip(y, found, strict=True) for a, b in zip(r, s, strict=True)]
    return mean(a == b for a, b in pairs)


def chunk_features(sentence: Sentence) -> Iterator[list[str]]:
    """Give the features of CRFsuite's chunking.py: words and tags around, pairs and triples."""
    words, tags = ([token[i] for token in sentence] for i in (0, 1))
    spans = [(words, "w", r) for r in ([-2], [-1], [0], [1], [2], [-1, 0], [0, 1])]
    near = [[-2], [-1], [0], [1], [2], [-2, -1], [-1, 0], [0, 1], [1, 2]]
    spans += [(tags, "t", r) for r in [*near, [-2, -1, 0], [-1, 0, 1], [0, 1, 2]]]
    for at in range(len(sentence)):
        features = ["bias", *(["first"] if at == 0 else []), *(["last"] * (at + 1 == len(words)))]
        for values, name, places in spans:
            if at + places[0] >= 0 and at + places[-1] < len(values):
                text = "|".join(values[at + place] for place in places)
                features.append(f"{name}{places}={text}")
        yield features


def word_features(sentence: Sentence) -> Iterator[list[str]]:
    """Give a word's letters and shape, and the same of its neighbours in short."""
    words = [token[0] for token in sentence]
    for at, word in enumerate(words):
        lower = word.lower()
        features = ["bias", f"w={lower}", f"shape={word_shape(word)}"]
        features += [f"p{n}={lower[:n]}" for n in (1, 2, 3, 4)]
        features += [f"s{n}={lower[-n:]}" for n in (1, 2, 3, 4)]
        for place in (-2, -1, 1, 2):
            near = words[at + place] if 0 <= at + place < len(words) else ""
            features += [f"w{place}={near.lower()}", f"s{place}={near[-3:].lower()}"]
            features += [f"shape{place}={word_shape(near)}"]
        yield features


def crfsuite(task: str, X: list[Sentence], y: list[list[str]], unseen: list[Sentence]) -> Any:
    import pycrfsuite

    features = chunk_features if task == "chunks" else word_features
    start = perf_counter()
    trainer = pycrfsuite.Trainer(verbose=False, params=CRFSUITE)
    for sentence, labels in zip(X, y, strict=True):
        trainer.append(list(features(sentence)), labels)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "model")
        trainer.train(path)
        trained = perf_counter()
        tagger = pycrfsuite.Tagger()
        tagger.open(path)
        found = [tagger.tag(list(features(sentence))) for sentence in unseen]
        tagger.close()
    return found, trained - start, perf_counter() - trained


def ours(
    X: list[Sentence], y: list[list[str]], unseen: list[Sentence], params: dict[str, Any]
) -> Any:
    start = perf_counter()
    glove = load_embeddings(data_folder() / "glove" / "glove.6B.50d.top50k.txt.gz")
    tagger = SequenceTagger(embedding_init=glove, n_threads=1, **params).fit(X, y)
    trained = perf_counter()
    found = tagger.predict(unseen)
    return found, trained - start, perf_counter() - trained


def quality(task: str, n_seeds: int, store: bool) -> None:
    training, unseen = conll2000("train"), conll2000("test")
    n_columns, column = (2, 2) if task == "chunks" else (1, 1)
    X, unseen_X = ([[t[:n_columns] for t in s] for s in each] for each in (training, unseen))
    y, unseen_y = ([[t[column] for t in s] for s in each] for each in (training, unseen))
    measure = chunk_f1 if task == "chunks" else token_accuracy
    name = "chunk F1" if task == "chunks" else "token accuracy"
    print(f"{name}, {len(X):,} training sentences, {len(unseen_X):,} others\n")
    scores: dict[str, float] = {}
    ratios: dict[str, float] = {}
    for seed in range(n_seeds):
        own, params, seconds = f"SequenceTagger, seed {seed}", {"random_state": seed}, []
        for who in (own, "python-crfsuite"):
            if who == own:
                found, fit, predict = ours(X, y, unseen_X, PARAMS[task] | params)
            else:
                found, fit, predict = crfsuite(task, X, y, unseen_X)
            scores[who] = 100 * measure(unseen_y, found)
            print(who, round(scores[who], 2), round(fit, 1), round(predict, 1), flush=True)
            seconds.append(fit)
        ratios[own] = seconds[0] / seconds[1]
    ratios["python-crfsuite"] = 1.0
    rows = [
        {"": who, name: round(scores[who], 2), f"{task}, training, ratio": round(ratio, 2)}
        for who, ratio in ratios.items()
    ]
    publish(f"tagging_{task}", rows, store)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("task", choices=["chunks", "parts"])
    parser.add_argument("--seeds", type=int, default=3)
    add_save(parser)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    quality(arguments.task, arguments.seeds, arguments.save)


if __name__ == "__main__":
    main()
