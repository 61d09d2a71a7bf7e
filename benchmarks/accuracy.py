"""Accuracy, calibration and times of HANClassifier, its variants and linear models, side by side.

``python benchmarks/accuracy.py --data imdb`` fits every model from raw text, with its defaults,
once for each seed, and scores it on the test documents of the published split. `--cross-validate`
does the same within the training documents: that is for choosing, the test documents are not.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import linear
import numpy as np
import torch
from results import add_save, save
from scores import Scores, measure, row_of
from splits import N_FOLDS, N_SEEDS, Split, corpus_name, held_out, published

from sk_han import HANClassifier, HierarchicalTokenizer


class Model(NamedTuple):
    """How a model is called in the table, and how one is made for a seed."""

    label: str
    make: Callable[[int], Any]


def han(**params: Any) -> Callable[[int], HANClassifier]:
    """Make HANClassifier with its defaults but for some parameters."""
    return lambda seed: HANClassifier(random_state=seed, **params)


REFERENCE = "tfidf"
MODELS = {
    REFERENCE: Model("TF-IDF(1-2) + LR", lambda seed: linear.tfidf()),
    "characters": Model("TF-IDF of characters + LR", lambda seed: linear.tfidf_of_characters()),
    "nb-svm": Model("NB-SVM(1-2)", lambda seed: linear.nb_svm()),
    "han": Model("HANClassifier", han()),
    "words": Model("  tokens='words'", han(tokenizer=HierarchicalTokenizer(tokens="words"))),
    "min-df-2": Model("  min_df=2", han(tokenizer=HierarchicalTokenizer(min_df=2))),
    "excerpts": Model("  excerpt_words=256", han(net_params={"excerpt_words": 256})),
    "pure": Model("  linear_ngrams=None", han(linear_ngrams=None)),
    "pure-mean": Model("    pooling='mean'", han(linear_ngrams=None, pooling="mean")),
    "pure-excerpts": Model(
        "    excerpt_words=256", han(linear_ngrams=None, net_params={"excerpt_words": 256})
    ),
}


def runs(name: str, seed: int, cross_validate: bool) -> Iterator[tuple[str, Split]]:
    """Give the splits of a seed, each with what it is."""
    if not cross_validate:
        yield f"{name}, seed {seed}", published(name, seed)
        return
    for fold in range(N_FOLDS):
        yield f"{name}, seed {seed}, fold {fold}", held_out(name, fold, seed)


def rows_of(scores: dict[str, list[Scores]]) -> list[dict[str, Any]]:
    return [{"model": name} | row_of(found) for name, found in scores.items()]


def print_table(scores: dict[str, list[Scores]]) -> None:
    """Print means and standard deviations over the runs."""
    print(
        f"{'':28}{'accuracy, %':>15}{'macro-F1, %':>15}{'ECE':>8}{'log loss':>10}"
        f"{'fit s':>9}{'ratio':>8}{'predict s':>11}"
    )
    for name, found in scores.items():
        mean = Scores(*np.mean(found, axis=0))
        # With one run there is no spread to show.
        deviation = Scores(*np.std(found, axis=0, ddof=1 if len(found) > 1 else 0))
        ratio = "-"
        if REFERENCE in scores:
            ratios = [
                one.fit_seconds / reference.fit_seconds
                for one, reference in zip(found, scores[REFERENCE], strict=True)
            ]
            ratio = f"{np.mean(ratios):.1f}"
        print(
            f"{MODELS[name].label:28}"
            f"{100 * mean.accuracy:8.2f} +-{100 * deviation.accuracy:4.2f}"
            f"{100 * mean.macro_f1:8.2f} +-{100 * deviation.macro_f1:4.2f}"
            f"{mean.calibration_error:8.3f}{mean.log_loss:10.3f}"
            f"{mean.fit_seconds:9.1f}{ratio:>8}{mean.predict_seconds:11.1f}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", type=corpus_name, default=["make_reviews"])
    parser.add_argument("--models", nargs="+", choices=list(MODELS), default=list(MODELS))
    parser.add_argument("--seeds", type=int, default=N_SEEDS, help="runs of each model")
    parser.add_argument(
        "--cross-validate",
        action="store_true",
        help="five folds of the training documents; test documents are not touched",
    )
    add_save(parser)
    arguments = parser.parse_args()
    names = arguments.models
    for corpus in arguments.data:
        scores: dict[str, list[Scores]] = defaultdict(list)
        for seed in range(arguments.seeds):
            for what, split in runs(corpus, seed, arguments.cross_validate):
                for name in names:
                    scores[name].append(measure(MODELS[name].make(seed), split))
                    accuracy = 100 * scores[name][-1].accuracy
                    print(f"{what}, {name}: {accuracy:.2f} %", file=sys.stderr, flush=True)
        how = "cross-validated on training documents" if arguments.cross_validate else "published"
        print(
            f"\n{corpus}, {how}: {len(split.train_texts):,} documents to train on, "
            f"{len(split.test_texts):,} to score; mean and standard deviation of "
            f"{len(scores[names[0]])} runs, {torch.get_num_threads()} threads"
        )
        print_table(scores)
        if arguments.save:
            save(f"accuracy-{corpus}", rows_of(scores))


if __name__ == "__main__":
    main()
