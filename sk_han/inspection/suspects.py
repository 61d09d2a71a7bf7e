"""Documents whose label may be wrong, by confident learning."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def suspected_labels(
    probabilities: NDArray[np.float64], targets: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return documents that are confidently taken for another class than that of their label.

    The threshold of a class is its mean probability over the documents that have it as their
    label. A document is suspected if the most probable of the classes whose thresholds it reaches
    is not its label: the entries beside the diagonal of the confident joint of Northcutt, Jiang
    and Chuang (2021), Confident Learning. `probabilities` (D, K) are of a model that was not
    fitted on the documents. Those of the smallest margin over another class come first.
    """
    n_documents, n_classes = probabilities.shape
    rows = np.arange(n_documents)
    of_label = probabilities[rows, targets]
    counts = np.bincount(targets, minlength=n_classes)
    sums = np.bincount(targets, weights=of_label, minlength=n_classes)
    thresholds = np.full(n_classes, np.inf)
    np.divide(sums, counts, out=thresholds, where=counts > 0)
    # A mean of equal numbers may be above each of them by the last bit.
    reached = np.where(probabilities >= thresholds * (1 - 1e-12), probabilities, -1.0)
    found = np.flatnonzero((reached.max(axis=1) >= 0) & (reached.argmax(axis=1) != targets))
    others = probabilities[found].copy()
    others[np.arange(len(found)), targets[found]] = -1.0
    margins = of_label[found] - others.max(axis=1, initial=-1.0)
    return found[np.argsort(margins, kind="stable")]
