"""Documents whose label may be wrong, by confident learning."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["suspected_labels"]


def suspected_labels(
    probabilities: NDArray[np.float64], targets: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return documents that are confidently taken for another class than that of their label.

    The threshold of a class is the mean probability of it over the documents that have it as
    their label. A document is suspected if the most probable of the classes whose thresholds it
    reaches is not its label: these are the entries beside the diagonal of the confident joint of
    Northcutt, Jiang and Chuang (2021).

    Parameters
    ----------
    probabilities : ndarray of shape (n_documents, n_classes)
        Of a model that was not fitted on these documents; otherwise it knows their labels.
    targets : ndarray of int64, shape (n_documents,)
        The class of each label. A class that no document has cannot be suspected, since nothing
        tells how sure the model is of it.

    Returns
    -------
    ndarray of int64
        Positions of documents. First come those of the smallest normalized margin, which is the
        probability of the label less that of the most probable other class.

    References
    ----------
    Northcutt, Jiang, Chuang (2021). Confident Learning: Estimating Uncertainty in Dataset Labels.
    Journal of Artificial Intelligence Research 70.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_han.inspection.suspects import suspected_labels
    >>> of_second = np.array([0.1, 0.2, 0.95, 0.9, 0.8])
    >>> suspected_labels(np.column_stack([1 - of_second, of_second]), np.array([0, 0, 0, 1, 1]))
    array([2])
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
