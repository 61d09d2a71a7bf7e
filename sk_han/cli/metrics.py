"""Figures of a model on labelled documents, by NumPy alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["calibration_error", "figures"]


def figures(probabilities: NDArray[np.float64], targets: NDArray[np.int64]) -> dict[str, Any]:
    """Return accuracy, macro F1, log loss, calibration error and confusion.

    Parameters
    ----------
    probabilities : ndarray of shape (n_documents, n_classes)
    targets : ndarray of shape (n_documents,)
        The column of the true class.

    Returns
    -------
    dict
        ``documents``, ``accuracy``, ``macro_f1`` (of the classes that are true or predicted
        somewhere), ``log_loss``, ``calibration_error`` and ``confusion``, an ndarray of the number
        of documents of each true (row) and predicted (column) class.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_han.cli.metrics import figures
    >>> found = figures(np.array([[0.9, 0.1], [0.6, 0.4]]), np.array([0, 1]))
    >>> found["accuracy"], found["confusion"].tolist()
    (0.5, [[1, 0], [1, 0]])
    """
    n_documents, n_classes = probabilities.shape
    predicted = probabilities.argmax(axis=1)
    counts = np.bincount(targets * n_classes + predicted, minlength=n_classes**2)
    confusion = counts.reshape(n_classes, n_classes)
    right = np.diag(confusion)
    occurring = confusion.sum(axis=0) + confusion.sum(axis=1)
    f1 = 2 * right[occurring > 0] / occurring[occurring > 0]
    of_true = probabilities[np.arange(n_documents), targets]
    return {
        "documents": n_documents,
        "accuracy": float(right.sum() / n_documents),
        "macro_f1": float(f1.mean()),
        "log_loss": float(-np.log(np.maximum(of_true, np.finfo(float).eps)).mean()),
        "calibration_error": calibration_error(probabilities, targets),
        "confusion": confusion,
    }


def calibration_error(
    probabilities: NDArray[np.float64], targets: NDArray[np.int64], n_bins: int = 15
) -> float:
    """Return how far the share of right predictions is from the confidence in them, on average.

    Documents are put into bins of equal width by their highest probability, the confidence; bins
    count by their documents (Guo, Pleiss, Sun, Weinberger, 2017, On Calibration of Modern Neural
    Networks, ICML, equation 3).

    Parameters
    ----------
    probabilities, targets
        As of `figures`.
    n_bins : int, default=15

    Returns
    -------
    float
    """
    confidence = probabilities.max(axis=1)
    right = probabilities.argmax(axis=1) == targets
    bins = np.digitize(confidence, np.linspace(0, 1, n_bins + 1)[1:-1], right=True)
    return float(np.abs(np.bincount(bins, weights=right - confidence)).sum() / len(targets))
