"""Whether small collections are learnt with every seed, and how long it takes.

``python benchmarks/small_collections.py`` fits HANClassifier with its defaults on 1,200 generated
reviews, in which the order of words decides, and scores 1,000 others: the seed of a row is that of
the reviews and of the classifier. The seeds 0 to 9 are for reporting; choose by others
(``--first 100``).
"""

from __future__ import annotations

import argparse
from statistics import median
from time import perf_counter, process_time

import torch
from results import add_save, save

from sk_han import HANClassifier
from sk_han.datasets import make_reviews

GOOD = 0.95


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--train", type=int, default=1_200, help="reviews to train on")
    parser.add_argument("--test", type=int, default=1_000, help="reviews to score")
    add_save(parser)
    arguments = parser.parse_args()
    n = arguments.train
    warm_up = make_reviews(100, random_state=10_000)
    HANClassifier(max_epochs=1, random_state=0).fit(*warm_up)  # imports, compiles
    accuracies, seconds, rows = [], [], []
    print(f"{'seed':>4}{'accuracy, %':>14}{'network, %':>13}{'epochs':>8}{'fit s':>8}{'CPU s':>8}")
    for seed in range(arguments.first, arguments.first + arguments.seeds):
        texts, labels = make_reviews(n + arguments.test, random_state=seed)
        classifier = HANClassifier(random_state=seed)
        start, cpu_start = perf_counter(), process_time()
        classifier.fit(texts[:n], labels[:n])
        seconds.append(perf_counter() - start)
        cpu = process_time() - cpu_start
        accuracies.append(classifier.score(texts[n:], labels[n:]))
        documents = classifier.tokenizer_.transform(texts[n:])
        of_network = classifier.classes_[classifier.net_.logits(documents).argmax(axis=1)]
        accuracy, alone = accuracies[-1], (of_network == labels[n:]).mean()
        rows.append(
            {
                "seed": seed,
                "accuracy, %": round(100 * accuracy, 1),
                "network alone, %": round(100 * alone, 1),
                "CPU seconds of a fit": round(cpu, 1),
            }
        )
        print(
            f"{seed:4}{100 * accuracy:14.1f}{100 * alone:13.1f}"
            f"{classifier.n_iter_:8}{seconds[-1]:8.1f}{cpu:8.1f}",
            flush=True,
        )
    print(
        f"\n{sum(accuracy >= GOOD for accuracy in accuracies)} of {len(accuracies)} seeds at "
        f"{100 * GOOD:.0f} % or more; the lowest {100 * min(accuracies):.1f} %; median of the fits "
        f"{median(seconds):.1f} s, {torch.get_num_threads()} threads, {classifier.engine_}"
    )
    if arguments.save:
        save("small_collections", rows)


if __name__ == "__main__":
    main()
