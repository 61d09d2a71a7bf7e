"""What text without labels is worth: vectors learnt from it, beside those of the labelled text.

``python benchmarks/unlabelled.py`` fits HANClassifier on some of IMDB's training reviews, once with
its defaults and once with vectors learnt from the text of all 25,000, whose labels are not read,
and scores it on the test reviews.
"""

from __future__ import annotations

import argparse
import sys
from time import perf_counter

import corpora
import numpy as np
import torch
from scores import Scores, measure
from splits import CORPORA, N_SEEDS, published, shortened

from sk_han import HANClassifier, HierarchicalTokenizer
from sk_han.embeddings import Embeddings, learn_embeddings

SIZES = [name for name in CORPORA if name.startswith("imdb-")]


def vectors_of(texts: list[str], seed: int) -> Embeddings:
    """Learn a vector for every word."""
    tokenizer = HierarchicalTokenizer()
    documents = tokenizer.fit_transform(texts)
    return learn_embeddings(documents, tokenizer, random_state=seed)


def print_row(name: str, found: list[Scores]) -> None:
    """Print means and the standard deviation of the accuracy."""
    mean = Scores(*np.mean(found, axis=0))
    spread = 100 * np.std([one.accuracy for one in found], ddof=1 if len(found) > 1 else 0)
    print(
        f"{name:40}{100 * mean.accuracy:8.2f} +-{spread:5.2f}{mean.log_loss:10.3f}"
        f"{mean.fit_seconds:8.0f}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", choices=SIZES, default=SIZES)
    parser.add_argument("--seeds", type=int, default=N_SEEDS)
    parser.add_argument("--limit", type=int, help="documents to train on and to score, for a try")
    arguments = parser.parse_args()
    texts = corpora.imdb("train")[0][: arguments.limit]
    vectors = []
    start = perf_counter()
    for seed in range(arguments.seeds):
        vectors.append(vectors_of(texts, seed))
        print(f"seed {seed}: {vectors[-1]}", file=sys.stderr, flush=True)
    learning_seconds = (perf_counter() - start) / arguments.seeds
    print(f"{'':40}{'accuracy, %':>16}{'log loss':>10}{'fit s':>8}")
    for corpus in arguments.data:
        of_its_own, of_all = [], []
        for seed in range(arguments.seeds):
            split = published(corpus, seed)
            if arguments.limit:
                split = shortened(split, arguments.limit)
            of_its_own.append(measure(HANClassifier(random_state=seed), split))
            classifier = HANClassifier(embedding_init=vectors[seed], random_state=seed)
            of_all.append(measure(classifier, split))
        print_row(f"{corpus}, vectors of these reviews", of_its_own)
        print_row(f"{corpus}, vectors of {len(texts):,} reviews", of_all)
    print(
        f"means of {arguments.seeds} seeds, {torch.get_num_threads()} threads; vectors of "
        f"{len(texts):,} reviews took {learning_seconds:.0f} s more"
    )


if __name__ == "__main__":
    main()
