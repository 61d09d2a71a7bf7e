"""What it costs to serve a stored model: start, memory, one review, and disk.

``python benchmarks/serving_speed.py`` starts new processes in which PyTorch, scikit-learn, SciPy,
skorch and joblib cannot be imported, and prints the seconds and the resident memory of import and
load of `Scorer`, without and with a first prediction. Then it predicts single reviews from raw text
on one thread, the contestants taking turns, beside the classifier and TF-IDF(1-2) with logistic
regression; ratios are medians of those of single reviews. ``--install`` adds the size of what is
installed: this package and what serving needs, in a new virtual environment, from a package index.
"""

from __future__ import annotations

import argparse
import copy
import subprocess
import sys
import venv
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any

import linear
import numpy as np
from cold_start import MEASURED, Cost, said
from results import add_save, publish
from served import HIDDEN, add_arguments, reviews, saved_model

from sk_han import HANClassifier
from sk_han.engines.engine_choice import using_engine
from sk_han.serving import Scorer

ROOT = Path(__file__).parents[1]
LOAD = "from sk_han.serving import Scorer; scorer = Scorer.load({path!r})"
STARTS = {
    "import and load": (LOAD, "torch"),
    "and predict, NumPy": (LOAD + "; scorer.predict_proba(['A good film.'])", "torch"),
    "and predict, Numba": (LOAD + "; scorer.predict_proba(['A good film.'])", "numba"),
}
INSTALLED = {"NumPy alone": ["numpy"], "with Numba": ["numpy", "numba", "llvmlite"]}


def starts(path: Path, n_rounds: int) -> dict[str, Cost]:
    """Give the medians of new processes that serve."""
    found: dict[str, list[Cost]] = {name: [] for name in STARTS}
    for number in range(n_rounds + 1):
        for name, (code, engine) in STARTS.items():
            measured = HIDDEN + MEASURED.format(code=code.format(path=str(path)))
            taken = Cost(*said(measured, {"SK_HAN_ENGINE": engine, "OPENBLAS_NUM_THREADS": "1"}))
            if number:  # the first round warms up
                found[name].append(taken)
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
    classifier: HANClassifier, path: Path, texts: list[str], tfidf: object
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


def report_installed() -> None:
    """Print the size of what serving needs."""
    print(f"\n{'installed':32}{'MB':>10}")
    for name, packages in INSTALLED.items():
        with TemporaryDirectory() as folder:
            # Without pip, which serves nothing.
            venv.create(Path(folder) / "new", with_pip=False)
            python = Path(folder) / "new" / "bin" / "python"
            pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet"]
            subprocess.run([*pip, "--no-deps", str(ROOT), *packages], check=True)
            (site_packages,) = (Path(folder) / "new").glob("lib/python*/site-packages")
            n_bytes = sum(
                file.stat().st_size for file in site_packages.rglob("*") if file.is_file()
            )
            print(f"{name:32}{n_bytes / 1e6:10.0f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_arguments(parser)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--reviews", type=int, default=500)
    parser.add_argument("--install", action="store_true")
    add_save(parser)
    arguments = parser.parse_args()
    with TemporaryDirectory() as folder:
        found = reviews(arguments)
        path = saved_model(arguments, found, Path(folder))
        n_words = np.mean([len(text.split()) for text in found.sent])
        print(f"{found.what}; {path.stat().st_size / 1e6:.0f} MB, reviews of {n_words:.0f} words")
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
        from sk_han import load

        tfidf = linear.tfidf().fit(found.texts, found.labels)
        rows = cost_of_one(load(path), path, found.sent[: arguments.reviews], tfidf)
        publish("serving_one", rows, arguments.save)
    if arguments.install:
        report_installed()


if __name__ == "__main__":
    main()
