"""How often 95 % intervals hold the true figure, of predictions that are drawn at random.

No model is fitted. Whether a document is right, or gets a label that it has, is drawn with the
chance of its group; the chances of groups have a beta distribution, by which documents of a group
are alike (intraclass correlation `ALIKE`). Precision of each label is its recall, on average.
Models that are compared are equally good and drawn apart: their true gain is 0. How faithful a
method is to each document has a beta distribution whose parameters sum to `SUM`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from results import add_save, publish

from sk_han.inspection.results import multilabel_report
from sk_han.inspection.results.collection import ExplanationList
from sk_han.utils.metrics import difference_interval, interval_of, mean_interval

ALIKE = 0.1
SUM = 10  # that of stored figures of faithfulness is 1 to 80
TRUE = (0.05, 0.75, 0.95, 0.99)
SIZES = {  # of groups; those of one document are no groups
    "10 documents": np.ones(10, int),
    "30 documents": np.ones(30, int),
    "300 documents": np.ones(300, int),
    "10 groups of 30": np.full(10, 30),
    "30 groups of 10": np.full(30, 10),
    "a group of 155, 29 of 5": np.r_[155, np.full(29, 5)],
    "30 groups of 75, 37, 25, ...": 75 // np.arange(1, 31),
}
N_LABELS, FREQUENCY = 5, 0.3
N_RARE, RARELY = 20, 0.03  # where there are 300 documents or groups of as many
Intervals = dict[str, tuple[float, float, float]]  # both ends and the true figure


def chances(random: np.random.Generator, mean: float, sizes: NDArray[Any]) -> NDArray[np.float64]:
    """Draw the chance of each document to be right."""
    total = 1 / ALIKE - 1
    return np.repeat(random.beta(mean * total, (1 - mean) * total, len(sizes)), sizes)


def groups_of(sizes: NDArray[Any]) -> NDArray[np.int64] | None:
    return None if sizes.max() == 1 else np.repeat(np.arange(len(sizes)), sizes)


def of_classes(random: np.random.Generator, true: float, sizes: NDArray[Any]) -> Intervals:
    """Give intervals of a report on one label a document."""
    groups = groups_of(sizes)
    right, other = (random.random(sizes.sum()) < chances(random, true, sizes) for _ in range(2))
    return {
        "accuracy": (*interval_of(right, groups), true),
        "gain of accuracy": (*difference_interval(right, other, groups), 0.0),
    }


def of_labels(
    random: np.random.Generator,
    true: float,
    sizes: NDArray[Any],
    n_labels: int = N_LABELS,
    frequency: float = FREQUENCY,
) -> Intervals:
    """Give intervals of a report on several labels a document."""
    t = random.random((sizes.sum(), n_labels)) < frequency
    wrong = frequency * (1 - true) / (1 - frequency)
    given, other = (
        random.random(t.shape) < np.where(t, chances(random, true, sizes)[:, np.newaxis], wrong)
        for _ in range(2)
    )
    found = reported(t, given, other, groups_of(sizes))
    scores = found.scores["model"]
    return {
        "micro F1": (scores["micro_f1_low"], scores["micro_f1_high"], true),
        "gain of micro F1": (*found.gain[1:], 0.0),
        "macro F1": (scores["macro_f1_low"], scores["macro_f1_high"], true),
    }


def of_rare_labels(random: np.random.Generator, true: float, sizes: NDArray[Any]) -> Intervals:
    found = of_labels(random, true, sizes, N_RARE, RARELY)
    return {"macro F1, rare labels": found["macro F1"]}


def reported(
    t: NDArray[np.bool_],
    given: NDArray[np.bool_],
    other: NDArray[np.bool_],
    groups: NDArray[np.int64] | None,
) -> multilabel_report.MultilabelReport:
    """Report on the labels that a model gives, beside those of a baseline."""
    nothing = np.zeros(0, dtype=np.int64)
    return multilabel_report.MultilabelReport(
        estimator="drawn at random",
        labels=tuple(range(t.shape[1])),
        targets=t,
        predicted=given,
        probabilities=given.astype(float),
        n_words=None,
        texts=None,
        mistakes=ExplanationList(),
        mistake_rows=nothing,
        mistake_labels=nothing,
        suspects=np.zeros((0, 2), dtype=np.int64),
        duplicates=(),
        trained_on=None,
        baseline=other.astype(float),
        baseline_note="",
        history=(),
        notes=(),
        groups=groups,
    )


def of_explanations(random: np.random.Generator, true: float, sizes: NDArray[Any]) -> Intervals:
    """Give intervals of a faithfulness report."""
    ours, control = random.beta(SUM * true, SUM * (1 - true), (2, len(sizes)))
    return {
        "mean": (*mean_interval(ours, lowest=0.0), true),
        "difference from an equal method": (*mean_interval(ours - control), 0.0),
    }


def held(draw: Callable[..., Intervals], sizes: NDArray[Any], n_samples: int) -> dict[str, str]:
    """Write the share of the intervals that hold the figure, for each true figure.

    Samples without an interval are left out; a dash where these are most.
    """
    random, shares = np.random.default_rng(0), {}
    for true in TRUE:
        found = [draw(random, true, sizes) for _ in range(n_samples)]
        for name in found[0]:
            low, high, figure = np.array([one[name] for one in found]).T
            told = ~np.isnan(low)
            hold = (low[told] <= figure[told]) & (figure[told] <= high[told])
            said = f"{100 * hold.mean():.0f}" if told.mean() > 0.5 else "–"
            shares.setdefault(name, []).append(said)
    return {name: " / ".join(of_name) for name, of_name in shares.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=4_000, help="for each true figure")
    parser.add_argument("--labelled", type=int, default=600, help="those of several labels")
    add_save(parser)
    arguments = parser.parse_args()
    # It is not measured, and takes most of the time.
    multilabel_report._average_precisions = lambda *given: []
    rows = []
    for name, sizes in SIZES.items():
        row = {"samples of": name} | held(of_classes, sizes, arguments.samples)
        row |= held(of_labels, sizes, arguments.labelled)
        is_large = sizes.sum() > 250
        row |= held(of_rare_labels, sizes, arguments.labelled) if is_large else {}
        rows.append(row)
        print(row, flush=True)
    columns = dict.fromkeys(name for row in rows for name in row)
    publish("interval_coverage", [dict.fromkeys(columns, "") | row for row in rows], arguments.save)
    rows = [
        {"documents": n} | held(of_explanations, np.ones(n, int), arguments.samples)
        for n in (3, 5, 10, 30, 100)
    ]
    publish("interval_coverage-explanations", rows, arguments.save)


if __name__ == "__main__":
    main()
