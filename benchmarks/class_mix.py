"""What another mix of classes costs, and what given and estimated shares win back: `with_priors`.

``OMP_NUM_THREADS=1 python benchmarks/class_mix.py`` fits three models of 1,000 labels to each
corpus, which takes ten minutes. Of each, 30 batches of 300 test documents have class shares drawn
from a uniform Dirichlet distribution, and 30 those of the test. With ``--train``, parts of the
training documents are scored, by which the constants of `sk_han.inspection._class_mix` were chosen.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from numpy.typing import NDArray
from results import add_save, publish
from scipy.special import log_softmax, softmax
from several_labels import read
from sklearn.model_selection import train_test_split
from splits import N_SEEDS, Split, held_out, published

from sk_han import HANClassifier, with_priors
from sk_han.inspection._class_mix import estimated_mix

CORPORA = ("airline-1000", "imdb-1000", "20news-1000", "nsmc-1000", "movies-1000", "reuters")
N_BATCHES = 30
LARGE_TOPIC = 100  # documents of Reuters that have this topic alone


def reuters(seed: int) -> Split:
    """Draw 1,000 documents of Reuters with one topic, of the large ones, to train on."""
    texts, labels = read("reuters/train.csv.gz")
    rows = [row for row, names in enumerate(labels) if len(names) == 1]
    y = np.array([labels[row][0] for row in rows])
    names, counts = np.unique(y, return_counts=True)
    kept = np.isin(y, names[counts >= LARGE_TOPIC])
    X = [texts[row] for row, is_kept in zip(rows, kept, strict=True) if is_kept]
    train, test, y_train, y_test = train_test_split(
        X, y[kept], train_size=1_000, stratify=y[kept], random_state=seed
    )
    return Split(train, y_train, test, y_test)


def drawn(t: NDArray, n: int, rng: np.random.RandomState) -> tuple[NDArray, NDArray]:
    """Draw rows of a batch of random shares of the classes, and the shares."""
    shares = rng.dirichlet(np.ones(t.max() + 1)).clip(1e-4)
    shares /= shares.sum()
    counts = rng.multinomial(n, shares)
    rows = [rng.choice(np.flatnonzero(t == k), counts[k]) for k in range(len(shares))]
    return np.concatenate(rows), shares


def scores(z: NDArray, t: NDArray) -> NDArray:
    """Return accuracy in percent and log loss."""
    of_true = log_softmax(z, axis=1)[np.arange(len(t)), t]
    return np.array([100 * (z.argmax(axis=1) == t).mean(), -of_true.mean()])


def measure(model: Any, texts: list[str], y: NDArray, n: int, seed: int) -> list[float]:
    """Score batches with and without another mix: as it is, shares given, shares estimated."""
    rng, fitted = np.random.RandomState(seed), model.model_
    z, t = fitted.logits(texts), np.searchsorted(model.classes_, y)
    figures = []
    for _ in range(N_BATCHES):
        batches = [drawn(t, n, rng), (rng.choice(len(t), n, replace=len(t) < n), None)]
        found: list[float] = []
        for rows, shares in batches:
            estimate = estimated_mix(softmax(z[rows], axis=1), fitted.reference, fitted.target)
            as_it_is = scores(z[rows], t[rows])
            found += as_it_is.tolist() if shares is not None else []
            wanted = [estimate.priors]
            if shares is not None:
                wanted.insert(0, dict(zip(model.classes_, shares, strict=True)))
            for priors in wanted:
                shift = with_priors(model, priors).pool_.shift
                found += (scores(z[rows] + shift, t[rows]) - as_it_is).tolist()
            found.append(100 * estimate.moved)
        figures.append(found)
    return np.mean(figures, axis=0).tolist()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpora", nargs="*", default=CORPORA)
    parser.add_argument("--documents", type=int, default=300, help="of a batch")
    parser.add_argument("--train", action="store_true", help="score training documents alone")
    add_save(parser)
    arguments = parser.parse_args()
    keys = ("accuracy, %", "log loss", "shares given", "loss", "estimated", "its loss", "used, %")
    keys += ("unchanged mix, estimated", "loss of it", "used, % of it")
    rows = []
    for name in arguments.corpora:
        found = []
        for seed in range(N_SEEDS):
            if name == "reuters":
                split = reuters(seed)
            else:
                split = held_out(name, seed, seed) if arguments.train else published(name, seed)
            model = HANClassifier(random_state=seed).fit(split.train_texts, split.train_labels)
            some = np.random.RandomState(seed).permutation(len(split.test_texts))[:5_000]
            texts = [split.test_texts[row] for row in some]
            found.append(measure(model, texts, split.test_labels[some], arguments.documents, seed))
        mean = np.mean(found, axis=0)
        digits = [1, 3, 1, 3, 1, 3, 0, 2, 3, 0]
        pairs = zip(keys, mean.tolist(), digits, strict=True)
        row = {key: round(value, n) if n else round(value) for key, value, n in pairs}
        rows.append({"documents": name} | row)
        print(rows[-1], flush=True)
    publish("class_mix", rows, arguments.save)


if __name__ == "__main__":
    main()
