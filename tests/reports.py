"""Reports by hand, without a model."""

from typing import Any

import numpy as np

from sk_han import ExplanationList
from sk_han.inspection import NumberReport, Report, Slice
from tests.by_hand import signed

SLICES = [
    Slice("word", "bad film", 3, 0.75, 0.5, 0.875, 1e-6, ("film", "a film"), (2, 4)),
    Slice("column", "shop = Köln", 2, 0.5, 0.25, 0.75, 0.03125, (), (5,)),
    *(Slice("length", f"{n} to 11", 2, 0.5, 0.25, 0.75, 0.03125, (), (5,)) for n in (3, 5, 7)),
]
HOSTILE = "<script>alert(1)</script>\"'&</details></td>\x1b[31m"


def made(**changes: Any) -> Report:
    """Report on six documents of three labels, of which the model knows two.

    Right are 0, 1 and 3; 2 is "neg" taken for "pos", 4 "pos" taken for "neg", 5 is unknown.
    """
    of_pos = np.array([0.2, 0.4, 0.9, 0.8, 0.3, 0.7])
    by_baseline = np.array([0.6, 0.1, 0.6, 0.7, 0.9, 0.2])
    fields: dict[str, Any] = {
        "estimator": "HANClassifier",
        "labels": ["neg", "pos", "new"],
        "targets": np.array([0, 0, 0, 1, 1, 2]),
        "probabilities": np.column_stack([1 - of_pos, of_pos]),
        "n_words": np.array([3, 3, 5, 7, 11, 0]),
        "texts": ["A bad film.", "Bad, bad film.", "Not bad.", "Good.", "Good. Or not?", ""],
        "mistakes": ExplanationList(
            [signed("Not bad. I say so."), signed("Good. Or not?", predicted="neg", target="neg")]
        ),
        "mistake_rows": np.array([2, 4]),
        "suspects": np.array([2]),
        "duplicates": [(0, 1), (3, 4, 2)],
        "trained_on": np.array([3]),
        "baseline": np.column_stack([1 - by_baseline, by_baseline, np.zeros(6)]),
        "baseline_note": "The baseline learnt from others.",
        "notes": ["1 document has a label that the model does not know."],
    }
    fields |= changes
    fields.setdefault("predicted", fields["probabilities"].argmax(axis=1))
    if fields["baseline"] is not None:
        fields.setdefault("baseline_predicted", fields["baseline"].argmax(axis=1))
    return Report(**fields)


def made_of_labels(**changes: Any) -> Report:
    """Report on two documents, of which the first gets a label too many, the second one too few."""
    fields: dict[str, Any] = {
        "estimator": "HANClassifier",
        "labels": ("late", "good"),
        "targets": np.array([[True, False], [True, True]]),
        "predicted": np.array([[True, True], [True, False]]),
        "probabilities": np.array([[0.9, 0.6], [0.8, 0.4]]),
        "n_words": None,
        "texts": None,
        "mistakes": ExplanationList(),
        "mistake_rows": np.array([0]),
        "mistake_labels": np.array([1]),
        "suspects": np.array([[1, 1]]),
        "duplicates": (),
        "trained_on": None,
        "baseline": None,
        "baseline_note": "There is no baseline.",
        "notes": (),
    }
    fields |= changes
    if fields["baseline"] is not None:
        fields.setdefault("baseline_predicted", fields["baseline"] >= 0.5)
    return Report(**fields)


def made_of_numbers(**changes: Any) -> NumberReport:
    """Report on twelve documents; numbers of the model are too low, half of them by 1, by 3."""
    true, of_number = np.arange(12.0), {"classes": [0.0, 12.0], "target": None}
    fields: dict[str, Any] = {
        "estimator": "HANRegressor",
        "targets": true,
        "predicted": true - np.tile([1.0, 3.0], 6),
        "intervals": np.stack([true, true + 1, true + 2])[:, :, None] + [-3.0, -0.5],
        "n_words": 10 + np.arange(12),
        "texts": [f"The price is {i}. Not bad." for i in range(12)],
        "mistakes": ExplanationList(
            signed(f"The price is {i}. Not bad.", predicted=i - 3.0, expected=i - 3.0, **of_number)
            for i in (1, 3)
        ),
        "mistake_rows": np.array([1, 3]),
        "duplicates": [(0, 1)],
        "trained_on": np.array([3]),
        "baseline": true + 3,
        "baseline_note": "The baseline learnt from others.",
        "notes": ["1 document has no words: 0."],
    }
    return NumberReport(**(fields | changes))


def of_size(n_documents: int, n_labels: int) -> Report:
    """Report on many documents, of random probabilities and texts that have no end."""
    random = np.random.default_rng(0)
    return made(
        labels=[f"label number {i}" for i in range(n_labels)],
        targets=random.integers(n_labels, size=n_documents),
        probabilities=random.dirichlet(np.ones(n_labels), n_documents),
        n_words=np.arange(n_documents),
        texts=["word " * 2000] * n_documents,
        mistakes=ExplanationList(),
        mistake_rows=np.arange(10),
        suspects=np.arange(n_documents // 4),
        duplicates=[np.arange(n_documents)],
        trained_on=np.arange(n_documents),
        baseline=None,
    )


def of_several(n_documents: int, n_labels: int) -> Report:
    """Report on documents of several labels with long names, at random given and predicted."""
    random = np.random.default_rng(0)
    return made_of_labels(
        labels=[f"Complaints > Late fees and interest > {i}" for i in range(n_labels)],
        targets=random.random((n_documents, n_labels)) < 0.2,
        predicted=random.random((n_documents, n_labels)) < 0.2,
        probabilities=random.random((n_documents, n_labels)),
        mistake_rows=np.arange(5),
        mistake_labels=np.arange(5),
        suspects=np.empty((0, 2), dtype=int),
    )


def hostile() -> Report:
    """Report whose every string would run code or break a page if it were not escaped."""
    explanation = signed(
        f"Not bad. {HOSTILE} is good.", classes=[HOSTILE, "b"], predicted="b", target="b"
    )
    return made(
        estimator=HOSTILE,
        labels=[HOSTILE, f"b{HOSTILE}", f"c{HOSTILE}"],
        texts=[f"{HOSTILE} {i}" for i in range(6)],
        mistakes=ExplanationList([explanation, explanation]),
        baseline_note=HOSTILE,
        notes=[HOSTILE],
        slices=[SLICES[0]._replace(kind=HOSTILE, name=HOSTILE, also=(HOSTILE,))],
    )


def one_document(*, right: bool) -> Report:
    """Report on a single document."""
    return made(
        labels=["neg", "pos"],
        targets=np.array([0]),
        probabilities=np.array([[0.9, 0.1] if right else [0.1, 0.9]]),
        n_words=np.array([3]),
        texts=["A film."],
        mistakes=ExplanationList(),
        mistake_rows=np.array([], dtype=int) if right else np.array([0]),
        suspects=np.array([], dtype=int),
        duplicates=[],
        trained_on=None,
        baseline=None,
        notes=[],
    )
