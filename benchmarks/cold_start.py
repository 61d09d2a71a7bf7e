"""What a new process pays before its first prediction.

``python benchmarks/cold_start.py`` saves a small model and starts new processes in turns: some only
import a package, the others load the model and predict one text, with each engine. Files are in the
memory of the operating system and kernels in Numba's cache, since each of them ran once before.
Seconds are counted from the first statement of a process. ``--jobs`` instead times a small
`cross_val_score` twice, in one process and in two workers, which start in the first call.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import NamedTuple

from results import add_save, publish

from sk_han import HANClassifier, save
from sk_han.datasets import make_reviews

# The promise: load and first prediction, over the import of the packages that they need.
MOST = 1.3
NEEDED = "import skorch, numba"

PREDICT = "from sk_han import load; load({path!r}).predict_proba(['A good film.'])"
CONTESTANTS = {
    "import sklearn.linear_model": ("import sklearn.linear_model", {}),
    "import torch": ("import torch", {}),
    "import skorch": ("import skorch", {}),
    NEEDED: (NEEDED, {}),
    "from sk_han import load": ("from sk_han import load", {}),
    "load and predict, torch": (PREDICT, {"SK_HAN_ENGINE": "torch"}),
    "load and predict, numba": (PREDICT, {"SK_HAN_ENGINE": "numba"}),
}
MEASURED = """
import time
wall, cpu = time.perf_counter(), time.process_time()
{code}
wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
import json
from pathlib import Path
line = next(l for l in Path("/proc/self/status").read_text().splitlines() if l[:6] == "VmRSS:")
print(json.dumps([wall, cpu, int(line.split()[1]) / 1024]))
"""
CROSS_VALIDATED = """
import json, time
from sklearn.model_selection import cross_val_score
from sk_han import HANClassifier
from sk_han.datasets import make_reviews
texts, labels = make_reviews(400, random_state=0)
classifier = HANClassifier(random_state=0, max_epochs=2, device="cpu")
taken = []
for _ in range(2):
    start = time.perf_counter()
    cross_val_score(classifier, texts, labels, cv=4, n_jobs={n_jobs})
    taken.append(time.perf_counter() - start)
print(json.dumps(taken))
"""


class Cost(NamedTuple):
    """What a process took."""

    seconds: float
    cpu_seconds: float
    megabytes: float  # resident at the end


def said(code: str, environment: Mapping[str, str] | None = None) -> list[float]:
    """Run code in a new process, and return the numbers that it prints."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        capture_output=True,
        text=True,
        env=os.environ | (environment or {}),
    )
    numbers: list[float] = json.loads(done.stdout)
    return numbers


def costs(
    path: Path,
    names: Sequence[str],
    n_rounds: int,
    typical: Callable[[Sequence[float]], float] = median,
) -> dict[str, Cost]:
    """Give what some contestants typically take; `path` is that of a saved model."""
    found: dict[str, list[Cost]] = {name: [] for name in names}
    for number in range(n_rounds + 1):
        for name in names:
            code, environment = CONTESTANTS[name]
            measured = MEASURED.format(code=code.format(path=str(path)))
            taken = Cost(*said(measured, environment))
            if number:  # the first round warms up
                found[name].append(taken)
    return {name: Cost(*map(typical, zip(*rounds, strict=True))) for name, rounds in found.items()}


def save_model(path: Path) -> None:
    """Save a model of the default size, taught for an epoch."""
    texts, labels = make_reviews(400, random_state=0)
    save(HANClassifier(random_state=0, max_epochs=1, device="cpu").fit(texts, labels), path)


def report_jobs(n_rounds: int) -> None:
    """Print the seconds of a first and a second cross_val_score, by n_jobs."""
    found: dict[int, list[list[float]]] = {1: [], 2: []}
    for _ in range(n_rounds):
        for n_jobs, rounds in found.items():
            rounds.append(said(CROSS_VALIDATED.format(n_jobs=n_jobs)))
    print(f"cross_val_score of 4 folds of 400 reviews, medians of {n_rounds} rounds")
    print(f"{'n_jobs':8}{'first call':>12}{'second call':>12}")
    for n_jobs, rounds in found.items():
        first, second = map(median, zip(*rounds, strict=True))
        print(f"{n_jobs:<8}{first:10.1f} s{second:10.1f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--jobs", action="store_true")
    add_save(parser)
    arguments = parser.parse_args()
    if arguments.jobs:
        report_jobs(arguments.rounds)
        return
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.han"
        save_model(path)
        found = costs(path, list(CONTESTANTS), arguments.rounds)
    reference = found[NEEDED].seconds
    print(f"new processes, medians of {arguments.rounds} rounds")
    rows = [
        {
            "new process": name,
            "seconds": round(taken.seconds, 2),
            "CPU seconds": round(taken.cpu_seconds, 2),
            "MB": round(taken.megabytes),
            "ratio of seconds": round(taken.seconds / reference, 2),
        }
        for name, taken in found.items()
    ]
    publish("cold_start", rows, arguments.save)
    worst = max(taken.seconds for name, taken in found.items() if "predict" in name)
    if worst > MOST * reference:
        sys.exit(f"Load and first prediction take over {MOST} times as long as {NEEDED}.")


if __name__ == "__main__":
    main()
