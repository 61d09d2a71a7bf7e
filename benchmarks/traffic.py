"""Whether a model that serves takes more and more memory: a week of traffic in an hour.

``python benchmarks/traffic.py`` predicts reviews, most of them alone and some in small batches, by
one model in several threads, and prints the resident memory at intervals. The slope of a straight
line through the last half of these is printed as bytes for 1,000,000 predictions. Now and then a
thread ends and another takes its place, as in servers. Each engine has a process of its own.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from threading import Thread
from time import perf_counter

import numpy as np
from memory import resident_megabytes
from results import add_save, publish

from sk_han import HANClassifier
from sk_han.datasets import make_reviews

N_INTERVALS = 40
BATCHES = (1, 1, 1, 1, 1, 1, 1, 1, 4, 32)  # documents a request
OF_A_THREAD = 2_000  # predictions


def answer(classifier: HANClassifier, texts: list[str], seed: int) -> None:
    """Predict as many documents as a thread does in its life."""
    rng = np.random.default_rng(seed)
    n_predicted = 0
    while n_predicted < OF_A_THREAD:
        size = int(rng.choice(BATCHES))
        start = int(rng.integers(len(texts) - size))
        classifier.predict_proba(texts[start : start + size])
        n_predicted += size


def serve(engine: str, n_predictions: int, n_threads: int, store: bool) -> None:
    """Predict, and print the memory."""
    texts, labels = make_reviews(3_000, random_state=0)
    texts = [text[:200] for text in texts]
    classifier = HANClassifier(max_epochs=1, random_state=0, engine=engine, device="cpu")
    classifier.fit(texts[:1_000], labels[:1_000])
    predicted, resident = [0], [resident_megabytes()]
    print(f"{classifier.engine_}, {n_threads} threads\n{'predictions':>12}{'resident MB':>13}")
    start = perf_counter()
    while predicted[-1] < n_predictions:
        done = predicted[-1]
        while done < min(predicted[-1] + n_predictions / N_INTERVALS, n_predictions):
            threads = [
                Thread(target=answer, args=(classifier, texts, done + number))
                for number in range(n_threads)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            done += n_threads * OF_A_THREAD
        predicted.append(done)
        resident.append(resident_megabytes())
        print(f"{done:12,}{resident[-1]:13.1f}", flush=True)
    half = len(predicted) // 2
    slope = np.polyfit(predicted[half:], resident[half:], 1)[0]
    row = {
        "predictions": predicted[-1],
        "seconds": round(perf_counter() - start),
        "resident MB after the first interval": round(resident[1], 1),
        "at half": round(resident[half], 1),
        "at the end": round(resident[-1], 1),
        "MB a million in the last half": round(slope * 1e6, 2),
    }
    publish(f"traffic_{engine}", [row], store)


def main() -> None:
    """Serve with each engine."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--predictions", type=int, default=1_000_000)
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--engine", choices=("numba", "torch"))
    add_save(parser)
    arguments = parser.parse_args()
    if arguments.engine:
        serve(arguments.engine, arguments.predictions, arguments.threads, arguments.save)
        return
    for engine in ("numba", "torch"):
        further = ["--predictions", arguments.predictions, "--threads", arguments.threads]
        further += ["--save"] if arguments.save else []
        command = [sys.executable, __file__, "--engine", engine, *map(str, further)]
        subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
