"""How long HANClassifier takes to fit, with its defaults, against TF-IDF(1-2) + LR.

``python benchmarks/fit_speed.py --documents 1000 2000`` fits reviews from raw text (IMDB, or
generated ones of like lengths where it is absent), the contestants taking turns, each round on
other documents where there are enough. HANClassifier fits with each engine. Seconds are those of
the processor, so that other programs do not count; with ``--clock`` those that a user waits, on
all threads of a quiet machine.

``--against FOLDER`` compares with the code of another checkout instead: fits of reviews, tweets and
newsgroups with the defaults, in a process each, both taking turns. The least seconds count, since
whatever else a machine does only adds to them.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any

import linear
import torch
from corpora import imdb_without_labels, reviews
from results import add_save, publish
from splits import corpus_name, published

import sk_han
from sk_han import HANClassifier


def seconds_of(
    now: Callable[[], float], model: Any, texts: list[str], labels: Any, **given: Any
) -> float:
    start = now()
    model.fit(texts, labels, **given)
    return now() - start


def fit_defaults(corpus: str, folder: str) -> None:
    """Print the CPU seconds of a fit with the defaults, by the `sk_han` of a folder."""
    if not Path(sk_han.__file__).is_relative_to(folder):
        raise RuntimeError(f"{sk_han.__file__} is not in {folder}")
    split = published(corpus, seed=0)
    HANClassifier(max_epochs=1, random_state=0, device="cpu").fit(
        split.train_texts[:50], split.train_labels[:50]
    )
    start = process_time()
    HANClassifier(random_state=0, device="cpu").fit(split.train_texts, split.train_labels)
    print(process_time() - start)


def seconds_with(folder: Path, corpus: str) -> float:
    """Give what `fit_defaults` prints in a process that imports the `sk_han` of a folder."""
    paths = [str(folder.resolve()), str(Path(__file__).resolve().parent)]
    command = f"import sys; sys.path[:0] = {paths}; import fit_speed; "
    command += f"fit_speed.fit_defaults({corpus!r}, {paths[0]!r})"
    printed = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", command], check=True, capture_output=True, text=True
    ).stdout
    return float(printed)


def against(folder: Path, names: list[str], rounds: int) -> list[dict[str, Any]]:
    """Give the least seconds of fits with this code and with that of another checkout."""
    folders, rows = {"this": Path(__file__).parent.parent, "other": folder}, []
    for name in names:
        turns = [
            {which: seconds_with(path, name) for which, path in folders.items()}
            for _ in range(rounds)
        ]
        least = {which: min(turn[which] for turn in turns) for which in folders}
        rows.append(
            {
                "corpus": name,
                "CPU seconds of a fit": round(least["this"], 2),
                "of the other code": round(least["other"], 2),
                "ratio": round(least["this"] / least["other"], 2),
            }
        )
        print(rows[-1], flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, nargs="+", default=[1_000, 2_000])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--unlabelled", type=int, default=0)
    parser.add_argument("--clock", action="store_true", help="seconds of the clock")
    parser.add_argument("--quick", action="store_true", help="also fewer epochs without noise")
    parser.add_argument("--engines", nargs="+", default=["numba", "torch"])
    parser.add_argument("--against", type=Path, help="a checkout to compare with")
    corpora = ["imdb-1000", "airline-1000", "20news-1000"]
    parser.add_argument("--corpora", type=corpus_name, nargs="+", default=corpora)
    add_save(parser)
    arguments = parser.parse_args()
    if arguments.against is not None:
        rows = against(arguments.against, arguments.corpora, arguments.rounds)
        publish("fit_speed_against", rows, arguments.save)
        return
    largest = max(arguments.documents)
    texts, labels, what = reviews(min(25_000, largest * arguments.rounds))
    HANClassifier(max_epochs=1, random_state=0, device="cpu").fit(texts[:50], labels[:50])
    print(f"{what}, {torch.get_num_threads()} threads, medians of {arguments.rounds} rounds")
    unlabelled = imdb_without_labels()[: arguments.unlabelled] if arguments.unlabelled else None
    now = perf_counter if arguments.clock else process_time
    rows = []
    for n in arguments.documents:
        seconds: dict[str, list[float]] = {}
        epochs = {}
        for number in range(arguments.rounds):
            first = number * n % max(len(texts) - n + 1, 1)
            part = texts[first : first + n], labels[first : first + n]
            seconds.setdefault("TF-IDF(1-2) + LR", []).append(
                seconds_of(now, linear.tfidf(), *part)
            )
            for engine in arguments.engines:
                name = f"HANClassifier, {engine}"
                model = HANClassifier(engine=engine, random_state=number, device="cpu")
                taken = seconds_of(now, model, *part, X_unlabelled=unlabelled)
                seconds.setdefault(name, []).append(taken)
                epochs[name] = model.n_iter_
                if arguments.quick:
                    quick = {"max_epochs": min(model.n_iter_, 4), "adversarial_noise": 0}
                    model.set_params(**quick)
                    name += ", up to 4 epochs without noise"
                    seconds.setdefault(name, []).append(seconds_of(now, model, *part))
                    epochs[name] = model.n_iter_
        reference = seconds["TF-IDF(1-2) + LR"]
        for name, values in seconds.items():
            ratio = median(ours / theirs for ours, theirs in zip(values, reference, strict=True))
            rows.append(
                {
                    "documents": n,
                    "": name,
                    f"{'' if arguments.clock else 'CPU '}seconds of a fit": round(
                        median(values), 1
                    ),
                    "ratio": round(ratio, 1),
                    "epochs": epochs.get(name),
                }
            )
    kind = ("_unlabelled" if unlabelled else "") + ("_clock" if arguments.clock else "")
    publish(f"fit_speed{kind}", rows, arguments.save)


if __name__ == "__main__":
    main()
