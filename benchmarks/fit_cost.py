"""What a fit takes: seconds and memory from documents, words and vocabulary, and a formula of them.

``OMP_NUM_THREADS=1 python benchmarks/fit_cost.py`` fits HANClassifier with its defaults to texts of
random words, frequent and rare as Zipf has them, each collection in a process of its own. It prints
the processor time of each stage (those of `fit_summary_`, without the time that other programs
took), the peak memory, and the constants of `sk_han.inspection.fit_cost`: those with the smallest
relative error.

``--classes`` fits collections of 2 to 500 classes, and of several labels a document, instead, and
prints the estimate beside what they took.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from time import perf_counter, process_time

import numpy as np
from memory import peak_megabytes
from results import add_save, publish
from scipy.optimize import nnls

from sk_han import HANClassifier, describe
from sk_han.inspection.fit_cost import MEGABYTES, SECONDS, quantities

WORDS_PER_SENTENCE = 18
# Documents, words a document, words to draw from.
COLLECTIONS = [
    (300, 60, 5_000),
    (300, 240, 20_000),
    (1_000, 20, 5_000),
    (1_000, 120, 20_000),
    (1_000, 240, 80_000),
    (3_000, 60, 20_000),
    (3_000, 240, 40_000),
    (6_000, 120, 40_000),
]
# The same, classes or labels, and whether documents have several labels.
OF_CLASSES = [
    (600, 60, 5_000, 2, 0),
    (600, 60, 5_000, 20, 0),
    (600, 60, 5_000, 200, 0),
    (600, 60, 5_000, 500, 0),
    (2_000, 60, 20_000, 20, 0),
    (2_000, 60, 20_000, 200, 0),
    (600, 60, 5_000, 10, 1),
    (2_000, 60, 20_000, 10, 1),
    (600, 60, 5_000, 90, 1),
    (2_000, 60, 20_000, 90, 1),
]


def collection(
    n_documents: int, n_words: int, n_distinct: int, n_classes: int = 2, several: int = 0
) -> tuple[list[str], list[int] | np.ndarray]:
    """Make texts; one word in twenty tells the class, or the first of one to three labels."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, n_classes, n_documents)
    ranks = np.exp(rng.random((n_documents, n_words)) * np.log(n_distinct)).astype(np.int64)
    tells = rng.random(ranks.shape) < 0.05
    ranks = np.where(tells, n_classes * ranks + labels[:, np.newaxis], ranks)
    texts = []
    for row in ranks.tolist():
        words = [f"w{rank:x}" for rank in row]
        starts = range(0, n_words, WORDS_PER_SENTENCE)
        texts.append(" ".join(" ".join(words[i : i + WORDS_PER_SENTENCE]) + "." for i in starts))
    if not several:
        return texts, labels.tolist()
    has = np.zeros((n_documents, n_classes), dtype=bool)
    has[np.arange(n_documents), labels] = True
    for share in (0.3, 0.1):
        has[np.arange(n_documents), rng.integers(0, n_classes, n_documents)] |= (
            rng.random(n_documents) < share
        )
    return texts, has


def measure(*size: int) -> None:
    """Fit once, and print what it took as JSON."""
    texts, labels = collection(*size)
    warm, warm_labels = collection(40, 20, 100)
    HANClassifier(max_epochs=1, random_state=0, device="cpu").fit(warm, warm_labels)
    of_processor, start = process_time(), perf_counter()
    model = HANClassifier(random_state=0, device="cpu").fit(texts, labels)
    share = (process_time() - of_processor) / (perf_counter() - start)
    summary = model.fit_summary_
    stages = dict(summary.seconds) | {"whole": summary.total_seconds}
    documents = model.tokenizer_.transform(texts)
    n_distinct_words = len(model.tokenizer_.vocabulary_)
    megabytes = peak_megabytes()
    cost = describe(texts, labels).cost
    print(
        json.dumps(
            {
                "seconds": {name: share * seconds for name, seconds in stages.items()},
                "megabytes": megabytes,
                "quantities": quantities(documents, n_distinct_words),
                "estimate": [cost.seconds, cost.megabytes],
            }
        )
    )


def measured_apart(*size: int) -> dict:
    command = [sys.executable, __file__, "--measure", *map(str, size)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def fitted_constants(found: list[dict], names: dict, what: str) -> dict[str, float]:
    """Find the constants >= 0 with the smallest sum of squared relative errors."""
    table = np.array([[run["quantities"][name] for name in names] for run in found])
    values = np.array(
        [run["megabytes"] if what == "megabytes" else run["seconds"]["whole"] for run in found]
    )
    # Of columns of like size, so that the solver does not stop early.
    sizes = table.max(axis=0)
    constants, _ = nnls(table / sizes / values[:, np.newaxis], np.ones(len(values)))
    return dict(zip(names, (constants / sizes).tolist(), strict=True))


def publish_classes(store: bool) -> None:
    rows = []
    for size in OF_CLASSES:
        run = measured_apart(*size)
        seconds, megabytes = run["estimate"]
        rows.append(
            {
                "documents x words": f"{size[0]:,} x {size[1]}",
                "classes or labels": f"{size[3]} {'labels' if size[4] else 'classes'}",
                "linear models, s": round(run["seconds"]["linear models"], 1),
                "whole, s": round(run["seconds"]["whole"], 1),
                "estimate, s": round(seconds, 1),
                "MB": round(run["megabytes"]),
                "estimate, MB": round(megabytes),
            }
        )
    publish("fit_cost_classes", rows, store)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--classes", action="store_true", help="collections of many classes")
    parser.add_argument("--measure", type=int, nargs="+", help=argparse.SUPPRESS)
    add_save(parser)
    arguments = parser.parse_args()
    if arguments.measure:
        measure(*arguments.measure)
        return
    if arguments.classes:
        publish_classes(arguments.save)
        return
    stages = ["texts", "word vectors", "network", "linear models", "whole"]
    found, rows = [], []
    for size in COLLECTIONS:
        run = measured_apart(*size)
        found.append(run)
        row = {"documents x words": f"{size[0]:,} x {size[1]}"}
        row["distinct words"] = run["quantities"]["distinct words"]
        row |= {f"{stage}, s": round(run["seconds"][stage], 1) for stage in stages}
        rows.append(row | {"MB": round(run["megabytes"])})
    publish("fit_cost", rows, arguments.save)
    for what, names in (("seconds", SECONDS), ("megabytes", MEGABYTES)):
        constants = fitted_constants(found, names, what)
        print(f"\n{what}: " + ", ".join(f"{name} {value:.3g}" for name, value in constants.items()))
        ratios = []
        for run in found:
            estimate = sum(run["quantities"][name] * value for name, value in constants.items())
            real = run["megabytes"] if what == "megabytes" else run["seconds"]["whole"]
            ratios.append(estimate / real)
        print(f"estimate over measurement: {min(ratios):.2f} to {max(ratios):.2f}")


if __name__ == "__main__":
    main()
