"""How often a group of classes is an answer where no class is sure enough: `coarser`.

``OMP_NUM_THREADS=1 python benchmarks/coarser_answers.py`` fits 5,000 posts of 20 newsgroups, whose
names are a tree (comp.graphics, rec.autos), three times. Half of the test documents choose the
thresholds, and the other half is scored: answers of the tree against those of classes alone
(`selective_threshold`), both with at most 5 % of the answers wrong.
"""

from __future__ import annotations

import argparse

import numpy as np
from results import add_save, publish
from sklearn.model_selection import train_test_split
from splits import N_SEEDS, published

from sk_han import HANClassifier, coarser, selective_threshold

ERRORS = (0.05, 0.1)


def measure(seed: int) -> dict[tuple[float, str], list[float]]:
    """Fit once; return shares of classes, groups and errors for each error and kind of answer."""
    split = published("20news-5000", seed)
    model = HANClassifier(random_state=seed).fit(split.train_texts, split.train_labels)
    texts, others, labels, y = train_test_split(
        split.test_texts, np.asarray(split.test_labels), test_size=0.5, random_state=seed
    )
    most_probable, proba = model.predict(others).astype(object), model.predict_proba(others)
    shares = {}
    for max_error in ERRORS:
        flat = selective_threshold(model, texts, labels, max_error=max_error)
        confident = proba.max(axis=1) >= flat.threshold
        shares[max_error, "classes"] = _shares(np.where(confident, most_probable, None), y)
        coarse = coarser(model, ".", texts, labels, max_error=max_error)
        shares[max_error, "classes and groups"] = _shares(coarse.predict(others), y)
    return shares


def _shares(answers: np.ndarray, y: np.ndarray) -> list[float]:
    """Return the shares of classes and groups among documents, and of errors among answers."""
    is_right = np.array(
        [f"{true}.".startswith(f"{answer}.") for answer, true in zip(answers, y, strict=True)]
    )
    answered, is_class = answers != np.array(None), np.isin(answers.astype(str), y.astype(str))
    return [is_class.mean(), (answered & ~is_class).mean(), 1 - is_right[answered].mean()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_save(parser)
    arguments = parser.parse_args()
    runs, rows = [measure(seed) for seed in range(N_SEEDS)], []
    for max_error, name in runs[0]:
        classes, groups, wrong = 100 * np.mean([run[max_error, name] for run in runs], axis=0)
        row = {"max_error": max_error, "answers": name, "a class, %": round(classes, 1)}
        row["a group, %"] = round(groups, 1)
        rows.append(row | {"of these wrong, %": round(wrong, 1)})
    publish("coarser_answers", rows, arguments.save)


if __name__ == "__main__":
    main()
