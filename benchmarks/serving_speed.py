"""What it costs to serve a stored model: start, memory, one review, and disk.

``python benchmarks/serving_speed.py`` starts new processes in which PyTorch, scikit-learn, SciPy,
skorch and joblib cannot be imported, and prints the seconds and the resident memory of import and
load of `Scorer`, without and with a first prediction. Then it predicts single reviews from raw text
on one thread, the contestants taking turns, beside the classifier and TF-IDF(1-2) with logistic
regression; ratios are medians of those of single reviews.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any, NamedTuple

import corpora
import linear
import numpy as np
from results import add_save, publish

from sk_han import HANClassifier, load, save
from sk_han._kernels.engine import using_engine
from sk_han.datasets import make_reviews
from sk_han.serving import Scorer

# A process that serves: what it does without cannot be imported there.
MEASURED = """
import sys, time
sys.modules |= dict.fromkeys(["torch", "skorch", "sklearn", "scipy", "joblib"])
wall, cpu = time.perf_counter(), time.process_time()
{code}
wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
import json
from memory import resident_megabytes
print(json.dumps([wall, cpu, resident_megabytes()]))
"""
LOAD = "from sk_han.serving import Scorer; scorer = Scorer.load({path!r})"
STARTS = {
    "import and load": (LOAD, "torch"),
    "and predict, NumPy": (LOAD + "; scorer.predict_proba(['A good film.'])", "torch"),
    "and predict, Numba": (LOAD + "; scorer.predict_proba(['A good film.'])", "numba"),
}


class Cost(NamedTuple):
    """What a process took."""

    seconds: float
    cpu_seconds: float
    megabytes: float  # resident at the end


def reviews(data: str, n_documents: int) -> tuple[list[str], Any, list[str]]:
    """Give reviews with labels to fit, and others to predict."""
    if data == "imdb":
        (texts, labels), (sent, _) = corpora.imdb("train"), corpora.imdb("test")
        step = max(1, len(texts) // n_documents)
        return texts[::step], labels[::step], sent[:: len(sent) // 1_000]
    return *make_reviews(n_documents, random_state=0), make_reviews(1_000, random_state=1)[0]


def starts(path: Path, n_rounds: int) -> dict[str, Cost]:
    """Give the medians of new processes that serve."""
    found: dict[str, list[Cost]] = {name: [] for name in STARTS}
    for number in range(n_rounds + 1):
        for name, (code, engine) in STARTS.items():
            measured = MEASURED.format(code=code.format(path=str(path)))
            said = subprocess.run(
                [sys.executable, "-c", measured],
                check=True,
                capture_output=True,
                cwd=Path(__file__).parent,
                env=os.environ | {"SK_HAN_ENGINE": engine, "OPENBLAS_NUM_THREADS": "1"},
            ).stdout
            if number:  # the first round warms up
                found[name].append(Cost(*json.loads(said)))
    return {name: Cost(*map(median, zip(*rounds, strict=True))) for name, rounds in found.items()}


def singles(
    contestants: dict[str, Callable[[list[str]], object]], texts: list[str]
) -> dict[str, list[tuple[float, float]]]:
    """Give the milliseconds of each contestant for each text, and those of the processor."""
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in contestants}
    for number, text in enumerate([*texts[:20], *texts]):
        for name, contestant in contestants.items():
            wall, cpu = perf_counter(), process_time()
            contestant([text])
            wall, cpu = perf_counter() - wall, process_time() - cpu
            if number >= 20:  # the first ones warm up
                taken[name].append((1000 * wall, 1000 * cpu))
    return taken


def served_by(scorer: Scorer, engine: str, texts: list[str]) -> object:
    with using_engine(engine):
        return scorer.predict_proba(texts)


def cost_of_one(
    classifier: HANClassifier, path: Path, texts: list[str], tfidf: Any
) -> list[dict[str, Any]]:
    """Give the time of a review, and its ratio to that of TF-IDF."""
    import torch

    torch.set_num_threads(1)
    scorer = Scorer.load(path)
    plain = copy.deepcopy(classifier).set_params(engine="torch", n_threads=1)
    fast = classifier.set_params(engine="numba", n_threads=1)
    taken = singles(
        {
            "Scorer, NumPy": partial(served_by, scorer, "torch"),
            "Scorer, Numba": partial(served_by, scorer, "numba"),
            "HANClassifier, PyTorch": plain.predict_proba,
            "HANClassifier, Numba": fast.predict_proba,
            "TF-IDF(1-2) + LR": tfidf.predict_proba,
        },
        texts,
    )
    reference = np.array(taken["TF-IDF(1-2) + LR"])
    rows = []
    for name, values in taken.items():
        (wall, cpu), (ratio, _) = np.median(values, axis=0), np.median(values / reference, axis=0)
        rows.append(
            {
                "one review from raw text, one thread": name,
                "median ms": round(wall, 2),
                "95 % ms": round(np.quantile(values, 0.95, axis=0)[0], 2),
                "CPU ms": round(cpu, 2),
                "ratio": round(ratio, 2),
            }
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", choices=("make_reviews", "imdb"), default="make_reviews")
    parser.add_argument("--documents", type=int, default=1_000, help="that the model is fitted on")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--reviews", type=int, default=500)
    add_save(parser)
    arguments = parser.parse_args()
    with TemporaryDirectory() as folder:
        texts, labels, sent = reviews(arguments.data, arguments.documents)
        path = Path(folder) / "model.han"
        save(HANClassifier(random_state=0, max_epochs=1, device="cpu").fit(texts, labels), path)
        rows = [
            {
                "new process": name,
                "seconds": round(cost.seconds, 2),
                "CPU seconds": round(cost.cpu_seconds, 2),
                "MB": round(cost.megabytes),
            }
            for name, cost in starts(path, arguments.rounds).items()
        ]
        publish("serving_start", rows, arguments.save)
        tfidf = linear.tfidf().fit(texts, labels)
        rows = cost_of_one(load(path), path, sent[: arguments.reviews], tfidf)
        publish("serving_one", rows, arguments.save)


if __name__ == "__main__":
    main()
