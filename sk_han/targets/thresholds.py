"""The probability from which on a document gets a label."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# So many documents with a label count as much for its threshold as what the probabilities of all
# documents promise.
_PRIOR = 10.0
# No threshold is lower: it would promise an F1 below 4 %, and a rare label went to many documents.
_LOWEST = 0.02


def best_thresholds(p: NDArray[np.float64], t: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the threshold of each label with the highest F1 on documents not learnt from, (L,).

    If probabilities are right, the best threshold is half of the F1 that it reaches, and no label
    need be known (Lipton et al., 2014). So the truth is taken as a mixture: of the labels, the more
    documents have the label, and else of the probabilities. With few documents of a label, this is
    the F1 that its probabilities promise. No threshold is below 0.02.

    Lipton, Elkan, Naryanaswamy. Optimal Thresholding of Classifiers to Maximize F1. ECML PKDD.
    """
    thresholds = np.full(p.shape[1], 0.5)
    for label in range(p.shape[1]):
        order = np.argsort(-p[:, label], kind="stable")
        sure, has = p[order, label], t[order, label]
        of_labels = has.sum() / (has.sum() + _PRIOR)
        truth = of_labels * has + (1 - of_labels) * sure
        if not truth.sum() > 0:
            continue
        f1 = 2 * np.cumsum(truth) / (np.arange(1, len(sure) + 1) + truth.sum())
        f1[:-1][sure[:-1] == sure[1:]] = 0  # equal probabilities get the label together
        best = int(f1.argmax())
        below = sure[best + 1] if best + 1 < len(sure) else 0.0
        thresholds[label] = max((sure[best] + below) / 2, _LOWEST)
    return thresholds
