"""How good predicted probabilities are, and how long it took to get them."""

from __future__ import annotations

from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import f1_score, log_loss
from splits import Split


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
        calibration_error=expected_calibration_error(
            probabilities, np.searchsorted(model.classes_, split.test_labels)
        ),
        log_loss=log_loss(split.test_labels, probabilities, labels=model.classes_),
        fit_seconds=fitted - start,
        predict_seconds=predicted - fitted,
    )


def expected_calibration_error(probabilities: NDArray, targets: NDArray, n_bins: int = 15) -> float:
    """Average how far the share of right predictions is from the confidence in them.

    Documents are put into bins of equal width by their highest probability, the confidence; bins
    count by their documents. Guo, Pleiss, Sun, Weinberger (2017), On calibration of modern neural
    networks, ICML, equation 3.

    Parameters
    ----------
    probabilities : ndarray of shape (n_documents, n_classes)
    targets : ndarray of int, shape (n_documents,)
        The column of the true class.
    n_bins : int, default=15
    """
    confidence = probabilities.max(axis=1)
    right = probabilities.argmax(axis=1) == targets
    inner_edges = np.linspace(0, 1, n_bins + 1)[1:-1]
    bins = np.digitize(confidence, inner_edges, right=True)  # a bin holds its upper edge
    return float(np.abs(np.bincount(bins, weights=right - confidence)).sum() / len(targets))
