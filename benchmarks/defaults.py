"""How settings of HANClassifier compare over corpora, on training documents alone.

``python benchmarks/defaults.py`` holds a fifth of each corpus's training documents out, another
fifth for each seed, and trains on the rest: of IMDB by film (those of one label), of the others
at random, stratified.
Test documents are never read. It prints accuracy and log loss on the held-out documents, means
over the seeds: what a default should be is decided here, and not by test documents.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from scores import Scores, measure
from skorch.callbacks import Callback
from splits import CORPORA, N_FOLDS, N_SEEDS, corpus_name, held_out, shortened

from sk_han import HANClassifier, HierarchicalTokenizer
from sk_han.nn.han import SENTENCE_GAIN, WORD_GAIN


class Setting(NamedTuple):
    """Parameters that differ from the defaults, and why they might be better.

    The parameters may be a function of the number of training documents.
    """

    reason: str
    params: dict[str, Any] | Callable[[int], dict[str, Any]]


class SmallInputs(Callback):
    """Start from PyTorch's input weights, which the network makes larger."""

    def on_train_begin(self, net: Any, **kwargs: Any) -> None:
        """Undo the gains."""
        encoders = net.module_.word_encoder, net.module_.sentence_encoder
        for encoder, gain in zip(encoders, (WORD_GAIN, SENTENCE_GAIN), strict=True):
            for name, weight in encoder.named_parameters():
                if "weight_ih_l0" in name:
                    weight.data.div_(gain)


def former(n_documents: int) -> dict[str, Any]:
    """Give the defaults of the time when small collections were a gamble."""
    steps_per_epoch = math.ceil(0.9 * n_documents / 64)
    return {
        "lr": 0.003,
        "word_dropout": 0.2,
        "batch_size": 64,
        "max_epochs": min(max(math.ceil(600 / steps_per_epoch), 2), 20),
        "net_params": {"noise_every": 1},
        "callbacks": [SmallInputs()],
    }


SETTINGS = {
    "defaults": Setting("what a user gets", {}),
    "former defaults": Setting("up to 20 epochs of 64 documents a step, noise in each", former),
    "small inputs": Setting("PyTorch's initial weights", {"callbacks": [SmallInputs()]}),
    "noise in every step": Setting(
        "noise in every other step takes three quarters of the time",
        {"net_params": {"noise_every": 1}},
    ),
    "lr 0.003": Setting("large collections may not need the longer steps", {"lr": 0.003}),
    "random vectors, no noise": Setting(
        "what learnt vectors and noise are worth",
        {"embedding_init": "random", "adversarial_noise": 0},
    ),
    "no noise": Setting("noise takes a third of the time", {"adversarial_noise": 0}),
    "noise 0.1": Setting(
        "a network that noise cannot mislead may overfit less", {"adversarial_noise": 0.1}
    ),
    "3 epochs": Setting("large collections may need more than 2", {"max_epochs": 3}),
    "no n-grams": Setting("what the n-gram model is worth", {"linear_ngrams": None}),
    "pairs": Setting("triples make the model larger", {"linear_ngrams": (1, 2)}),
    "embedding dropout 0.3": Setting(
        "small collections overfit", {"net_params": {"module__embedding_dropout": 0.3}}
    ),
    "min_df 2": Setting("words that occur once teach little", {"tokenizer__min_df": 2}),
    "dropout 0.5": Setting("small collections overfit", {"dropout": 0.5}),
    "half the size": Setting(
        "a smaller network is quicker and may overfit less",
        {"word_hidden": 25, "sentence_hidden": 25, "embedding_dim": 100},
    ),
    "word dropout 0.2": Setting("large collections may not need every word", {"word_dropout": 0.2}),
    "averaged weights": Setting(
        "the last steps wobble around the optimum", {"weight_averaging": 0.999}
    ),
}


def scores_of(setting: Setting, corpus: str, seed: int, limit: int | None) -> Scores:
    """Train on four folds of the training documents and score the fifth."""
    # The first seed holds the last fold out: IMDB's films of the numbers from 10,000.
    split = held_out(corpus, N_FOLDS - 1 - seed % N_FOLDS, seed)
    if limit:
        split = shortened(split, limit)
    classifier = HANClassifier(tokenizer=HierarchicalTokenizer(), random_state=seed)
    params = setting.params
    if callable(params):
        params = params(len(split.train_texts))
    return measure(classifier.set_params(**params), split)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--settings", nargs="+", choices=list(SETTINGS), default=list(SETTINGS))
    parser.add_argument("--data", nargs="+", type=corpus_name, default=list(CORPORA))
    parser.add_argument("--seeds", type=int, default=N_SEEDS)
    parser.add_argument("--limit", type=int, help="documents to train on and to score, for a try")
    arguments = parser.parse_args()
    means: dict[tuple[str, str], Scores] = {}
    for corpus in arguments.data:
        for name in arguments.settings:
            found = [
                scores_of(SETTINGS[name], corpus, seed, arguments.limit)
                for seed in range(arguments.seeds)
            ]
            means[name, corpus] = Scores(*np.mean(found, axis=0))
            accuracies = ", ".join(f"{100 * one.accuracy:.2f}" for one in found)
            print(f"{corpus}, {name}: {accuracies} %", file=sys.stderr, flush=True)
    print(
        f"\naccuracy in %, log loss, seconds of a fit; means of {arguments.seeds} seeds, "
        f"{torch.get_num_threads()} threads"
    )
    print(f"{'':28}" + "".join(f"{corpus:>24}" for corpus in arguments.data))
    for name in arguments.settings:
        cells = (means[name, corpus] for corpus in arguments.data)
        print(
            f"{name:28}"
            + "".join(
                f"{100 * mean.accuracy:10.2f}{mean.log_loss:7.3f}{mean.fit_seconds:6.0f}s"
                for mean in cells
            )
        )
    for name in arguments.settings:
        print(f"{name}: {SETTINGS[name].reason}")


if __name__ == "__main__":
    main()
