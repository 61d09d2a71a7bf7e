"""Corpora for the benchmarks: real ones from ``$SK_HAN_DATA`` (else ``../shared/data``)."""

from __future__ import annotations

import gzip
import os
import random
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sk_han.datasets import load_csv


def data_folder() -> Path:
    return Path(os.environ.get("SK_HAN_DATA", "../shared/data"))


def imdb(split: str, label: str = "label") -> tuple[list[str], NDArray]:
    """Give the texts and labels of the 25,000 "train" or "test" reviews of Maas et al. (2011).

    Labels are positive or negative, or in the column "rating" 1 to 4 and 7 to 10.
    """
    return load_csv(data_folder() / "imdb" / f"{split}.csv.gz", text="text", label=label)


def imdb_without_labels() -> list[str]:
    """Give the 50,000 reviews without labels, some of which are training or test reviews too."""
    return load_csv(data_folder() / "imdb" / "unsup.csv.gz", text="text", label=None)


def imdb_numbers(split: str) -> NDArray:
    """Give the number of each review among those of its label; reviews of a film are neighbours."""
    ids = load_csv(data_folder() / "imdb" / f"{split}.csv.gz", text="id", label=None)
    return np.array([int(name.split("/")[-1].split("_")[0]) for name in ids])


def newsgroups(split: str) -> tuple[list[str], NDArray]:
    """Give "train" or "test" of 20 newsgroups by date, without headers, footers and quotes."""
    path = data_folder() / "20news" / f"{split}.csv.gz"
    return load_csv(path, text="text_stripped", label="label")


def airline() -> tuple[list[str], NDArray]:
    """Give 14,640 tweets to airlines: negative, neutral or positive."""
    return load_csv(data_folder() / "airline" / "tweets.csv.gz", text="text", label="label")


def nsmc(split: str) -> tuple[list[str], NDArray]:
    """Give "train" or "test" of 25,000 Korean comments on films (Naver), positive or negative."""
    return load_csv(data_folder() / "nsmc" / f"{split}.csv.gz", text="text", label="label")


def movies(split: str) -> tuple[list[str], NDArray]:
    """Give the 1,600 "train" or 200 "val" film reviews of ERASER (DeYoung et al., 2020)."""
    return load_csv(data_folder() / "eraser_movies" / f"{split}.csv.gz", text="text", label="label")


def among_others(texts: list[str], seed: int) -> list[str]:
    """Hide each text among 29 sentences of newsgroups, at a random place."""
    rng = np.random.RandomState(seed)
    messages, _ = newsgroups("train")
    others = []
    for row in rng.permutation(len(messages))[:3_000]:
        parts = (" ".join(part.split()) for part in messages[row].split(". "))
        others += [f"{part.rstrip('.')}." for part in parts if 20 < len(part) < 150]
    documents = []
    for text in texts:
        sentences = [others[i] for i in rng.randint(len(others), size=29)]
        sentences.insert(rng.randint(30), f"{text.rstrip('.!?')}.")
        documents.append(" ".join(sentences))
    return documents


def reviews(n_documents: int) -> tuple[list[str], NDArray, str]:
    """Give shuffled reviews with labels, and say what they are: IMDB, or generated ones."""
    rng = random.Random(0)
    if (data_folder() / "imdb").exists():
        texts, labels = imdb("train")
        rows = rng.sample(range(len(texts)), n_documents)
        return [texts[row] for row in rows], labels[rows], "IMDB reviews"
    labels = np.array([rng.choice(["neg", "pos"]) for _ in range(n_documents)])
    return [generated_review(rng) for _ in range(n_documents)], labels, "generated reviews"


def generated_review(rng: random.Random) -> str:
    """Give a text with as many sentences, words and word types as a review has."""
    sentences = []
    for _ in range(max(1, round(rng.lognormvariate(2.35, 0.6)))):
        ranks = (int(50_000 ** rng.random()) for _ in range(max(1, round(rng.gauss(18, 8)))))
        words = ["etaoinshrdlu"[rank % 12] + f"{rank:x}"[:6] for rank in ranks]
        sentences.append(" ".join(words).capitalize() + rng.choice([".", ".", ".", "!", "?"]))
        if rng.random() < 0.1:
            sentences[-1] += "<br /><br />"
    return " ".join(sentences)


def conll2000(split: str) -> list[list[tuple[str, str, str]]]:
    """Give the sentences of "train" or "test" of CoNLL-2000: word, part of speech, chunk."""
    sentences: list[list[tuple[str, str, str]]] = [[]]
    with gzip.open(data_folder() / "conll2000" / f"{split}.txt.gz", "rt", encoding="utf-8") as file:
        for line in file:
            if fields := line.split():
                sentences[-1].append((fields[0], fields[1], fields[2]))
            elif sentences[-1]:
                sentences.append([])
    return sentences if sentences[-1] else sentences[:-1]
