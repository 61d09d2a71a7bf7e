"""How long the latent model's directions take to learn, beside TF-IDF of the same texts.

``python benchmarks/latent_speed.py`` takes the 100,000 reviews of IMDB (training, test and without
labels; nothing is trained with labels or scored). The latent part starts from word ids, as in a
fit, whose tokenizing is timed apart; TF-IDF starts from texts. Rounds alternate.
"""

from __future__ import annotations

import argparse
import resource
from statistics import median
from time import perf_counter

import corpora
import numpy as np
import torch
from sklearn.feature_extraction.text import TfidfVectorizer

from sk_han import HierarchicalTokenizer
from sk_han.parts.ngrams.latent import fit_latent_space


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    texts = [*corpora.imdb_without_labels(), *corpora.imdb("train")[0], *corpora.imdb("test")[0]]
    texts = texts[: arguments.documents]
    documents = HierarchicalTokenizer().fit_transform(texts[:2_000])
    fit_latent_space(documents, (1, 3), np.random.RandomState(0))  # loads what it computes with
    seconds: dict[str, list[float]] = {"tokenizing": [], "latent part": [], "TF-IDF(1-2)": []}
    for _ in range(arguments.rounds):
        start = perf_counter()
        documents = HierarchicalTokenizer().fit_transform(texts)
        seconds["tokenizing"].append(perf_counter() - start)
        start = perf_counter()
        space = fit_latent_space(documents, (1, 3), np.random.RandomState(0))
        seconds["latent part"].append(perf_counter() - start)
        start = perf_counter()
        TfidfVectorizer(ngram_range=(1, 2), min_df=2, sublinear_tf=True).fit_transform(texts)
        seconds["TF-IDF(1-2)"].append(perf_counter() - start)
    assert space is not None
    print(
        f"{documents}, {space.projection.shape[0]:,} n-grams, {space.projection.shape[1]} "
        f"directions, {torch.get_num_threads()} threads, medians of {arguments.rounds} rounds"
    )
    reference = seconds["TF-IDF(1-2)"]
    for name, found in seconds.items():
        ratios = [one / other for one, other in zip(found, reference, strict=True)]
        print(f"{name:14}{median(found):8.1f} s{median(ratios):8.2f} of TF-IDF(1-2)")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    print(f"peak memory of the process {peak:.1f} GiB")


if __name__ == "__main__":
    main()
