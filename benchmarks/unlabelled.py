"""What text without labels is worth: HANClassifier with it and without.

``python benchmarks/unlabelled.py`` fits HANClassifier with its defaults on some documents, once
alone and once with the text of others, whose labels are not read: on IMDB the other training
reviews and the 50,000 without labels, on the other corpora the other training texts. Texts that
are test documents too are dropped. With ``--held-out`` a fifth of the training documents is scored
in place of the test documents; what defaults should be is decided there.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

import corpora
import numpy as np
import torch
from results import add_save, save
from scores import Scores, measure
from splits import N_FOLDS, N_SEEDS, Split, held_out, published, shortened
from tables import UNLABELLED

from sk_han import HANClassifier


def texts_without_labels(corpus: str, split: Split) -> list[str]:
    """Give each text once that is neither trained on with its label nor scored."""
    if corpus.startswith("imdb"):
        texts = [*corpora.imdb("train")[0], *corpora.imdb_without_labels()]
    elif corpus.startswith("airline"):
        texts = corpora.airline()[0]
    elif corpus.startswith("nsmc"):
        texts = corpora.nsmc("train")[0]
    else:
        texts = corpora.newsgroups("train")[0]
    known = {*split.train_texts, *split.test_texts}
    return [text for text in dict.fromkeys(texts) if text not in known]


def scores_of(split: Split, texts: list[str] | None, seed: int) -> tuple[Scores, HANClassifier]:
    """Fit and score."""
    classifier = HANClassifier(random_state=seed)
    return measure(classifier, split, X_unlabelled=texts), classifier


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", choices=UNLABELLED, default=list(UNLABELLED))
    parser.add_argument("--seeds", type=int, default=N_SEEDS)
    parser.add_argument("--only-with", action="store_true", help="leave the fits alone out")
    parser.add_argument("--held-out", action="store_true")
    parser.add_argument("--limit", type=int, help="documents to train on and to score, for a try")
    add_save(parser)
    arguments = parser.parse_args()
    print(
        f"{'':34}{'accuracy, %':>16}{'log loss':>10}{'calibration':>13}{'fit s':>8}"
        f"{'scales of network, n-grams, latent':>38}"
    )
    for corpus in arguments.data:
        rows: dict[str, list[Scores]] = {}
        for seed in range(arguments.seeds):
            if arguments.held_out:
                split = held_out(corpus, N_FOLDS - 1 - seed % N_FOLDS, seed)
            else:
                split = published(corpus, seed)
            if arguments.limit:
                split = shortened(split, arguments.limit)
            texts = texts_without_labels(corpus, split)
            for given in [texts] if arguments.only_with else [None, texts]:
                found, classifier = scores_of(split, given, seed)
                name = f"{corpus}, " + (f"and {len(texts):,} without" if given else "labels alone")
                rows.setdefault("without" if given else "alone", []).append(found)
                scales = (classifier.network_scale_, classifier.ngram_scale_)
                shown = ", ".join(f"{scale:.2f}" for scale in (*scales, classifier.latent_scale_))
                print(f"{name}, seed {seed}: {shown}", file=sys.stderr, flush=True)
                print_row(f"{name}, seed {seed}", [found])
        for kind, found in rows.items():
            print_row(f"{corpus}, {kind}, mean", found)
        if arguments.save:
            save(f"unlabelled-{corpus}", [row_of(*each) for each in rows.items()])
    print(f"{arguments.seeds} seeds, {torch.get_num_threads()} threads")


def row_of(kind: str, found: list[Scores]) -> dict[str, Any]:
    """Give means over seeds, and the standard deviation of the accuracy."""
    mean = Scores(*np.mean(found, axis=0))
    spread = np.std([one.accuracy for one in found], ddof=1 if len(found) > 1 else 0)
    return {
        "kind": kind,
        "runs": len(found),
        "accuracy": round(100 * mean.accuracy, 2),
        "spread": round(100 * spread, 2),
        "log loss": round(mean.log_loss, 3),
        "calibration error": round(mean.calibration_error, 3),
    }


def print_row(name: str, found: list[Scores]) -> None:
    """Print means and the standard deviation of the accuracy."""
    mean = Scores(*np.mean(found, axis=0))
    spread = 100 * np.std([one.accuracy for one in found], ddof=1 if len(found) > 1 else 0)
    print(
        f"{name:40}{100 * mean.accuracy:8.2f} +-{spread:5.2f}{mean.log_loss:10.3f}"
        f"{mean.calibration_error:10.3f}{mean.fit_seconds:8.0f}",
        flush=True,
    )


if __name__ == "__main__":
    main()
