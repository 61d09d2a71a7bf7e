"""A model and reviews for the benchmarks of serving."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import NamedTuple

import corpora
from numpy.typing import NDArray

from sk_han import HANClassifier, save
from sk_han.datasets import make_reviews

# Run in a process that serves: what it does without cannot be imported there.
HIDDEN = """
import sys
sys.modules |= dict.fromkeys(["torch", "skorch", "sklearn", "scipy", "joblib"])
"""
N_SENT = 1_000


class Reviews(NamedTuple):
    """Reviews with labels to fit, others to predict, and what they are."""

    texts: list[str]
    labels: NDArray
    sent: list[str]
    what: str


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", choices=("make_reviews", "imdb"), default="make_reviews")
    parser.add_argument("--documents", type=int, default=1_000, help="that the model is fitted on")
    parser.add_argument("--model", type=Path, help="file of a model of these, instead of a fit")


def reviews(arguments: argparse.Namespace) -> Reviews:
    if arguments.data == "imdb":
        (texts, labels), (sent, _) = corpora.imdb("train"), corpora.imdb("test")
        step = max(1, len(texts) // arguments.documents)
        texts, labels, sent = texts[::step], labels[::step], sent[:: len(sent) // N_SENT]
    else:
        texts, labels = make_reviews(arguments.documents, random_state=0)
        sent, _ = make_reviews(N_SENT, random_state=1)
    what = f"{arguments.data}, a model of {len(texts):,} reviews and one epoch"
    return Reviews(texts, labels, sent[:N_SENT], what)


def saved_model(arguments: argparse.Namespace, found: Reviews, folder: Path) -> Path:
    """Fit a model for one epoch and save it, unless one is given."""
    if arguments.model is not None:
        return arguments.model
    path = folder / "model.han"
    classifier = HANClassifier(random_state=0, max_epochs=1, device="cpu")
    save(classifier.fit(found.texts, found.labels), path)
    return path
