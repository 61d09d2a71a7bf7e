"""How good predicted probabilities are, and how long it took to get them."""

from __future__ import annotations

from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import f1_score, log_loss
from splits import Split

from sk_han._utils.metrics import calibration_error


class Scores(NamedTuple):
    """One model, fitted on one split."""

    accuracy: float
    macro_f1: float
    calibration_error: float
    log_loss: float
    fit_seconds: float
    predict_seconds: float


def measure(model: Any, split: Split, **fit_params: Any) -> Scores:
    """Fit from raw text and score the probabilities of the test documents."""
    start = perf_counter()
    model.fit(split.train_texts, split.train_labels, **fit_params)
    fitted = perf_counter()
    probabilities = model.predict_proba(split.test_texts)
    predicted = perf_counter()
    labels = model.classes_[probabilities.argmax(axis=1)]
    return Scores(
        accuracy=float((labels == split.test_labels).mean()),
        macro_f1=f1_score(split.test_labels, labels, average="macro"),
        calibration_error=calibration_error(
            probabilities, np.searchsorted(model.classes_, split.test_labels)
        ),
        log_loss=log_loss(split.test_labels, probabilities, labels=model.classes_),
        fit_seconds=fitted - start,
        predict_seconds=predicted - fitted,
    )


def row_of(found: list[Scores]) -> dict[str, Any]:
    """Give means over runs of one model, and the standard deviation of the accuracy."""
    mean = Scores(*np.mean(found, axis=0))
    spread = np.std([one.accuracy for one in found], ddof=1 if len(found) > 1 else 0)
    return {
        "runs": len(found),
        "accuracy": round(100 * mean.accuracy, 2),
        "spread": round(100 * spread, 2),
        "log loss": round(mean.log_loss, 3),
        "calibration error": round(mean.calibration_error, 3),
    }
