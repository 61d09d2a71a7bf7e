"""Accuracy and times on IMDB, beside two linear models in the same run.

``python benchmarks/imdb.py`` fits each model with its defaults on the 25,000 training reviews of
Maas et al. (2011), from raw text, and scores it once on the 25,000 test reviews.
"""

from __future__ import annotations

import argparse
import statistics
from time import perf_counter

import linear
import torch
from corpora import imdb

from sk_han import HANClassifier


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=1, help="runs of HANClassifier")
    parser.add_argument("--verbose", type=int, default=0)
    arguments = parser.parse_args()
    train_texts, train_labels = imdb("train")
    test_texts, test_labels = imdb("test")

    models = {"TF-IDF(1-2) + LogisticRegression": linear.tfidf(), "NB-SVM(1-2)": linear.nb_svm()}
    for seed in range(arguments.seeds):
        models[f"HANClassifier, seed {seed}"] = HANClassifier(
            random_state=seed, verbose=arguments.verbose
        )
    print(f"IMDB 25,000 / 25,000 reviews, {torch.get_num_threads()} threads")
    print(f"{'':34}{'accuracy':>9}{'fit s':>8}{'predict s':>11}{'fit ratio':>11}")
    accuracies, reference = [], None
    for name, model in models.items():
        start = perf_counter()
        model.fit(train_texts, train_labels)
        fitted = perf_counter()
        accuracy = model.score(test_texts, test_labels)
        scored = perf_counter()
        reference = reference or fitted - start
        print(
            f"{name:34}{100 * accuracy:9.2f}{fitted - start:8.1f}{scored - fitted:11.1f}"
            f"{(fitted - start) / reference:11.1f}",
            flush=True,
        )
        if isinstance(model, HANClassifier):
            accuracies.append(100 * accuracy)
            epochs = [f"{epoch.get('valid_accuracy', 0):.4f}" for epoch in model.history_]
            print(f"    held-out accuracy by epoch: {', '.join(epochs)}")
    if len(accuracies) > 1:
        mean, spread = statistics.mean(accuracies), statistics.stdev(accuracies)
        print(f"{'HANClassifier, mean and deviation':34}{mean:9.2f} +- {spread:.2f}")


if __name__ == "__main__":
    main()
