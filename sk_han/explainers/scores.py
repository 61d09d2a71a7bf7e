"""What is explained about a document: the log-odds of a class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import logsumexp, softmax
from torch import Tensor

__all__ = ["LogOdds", "class_numbers", "log_odds", "wrong_length"]


@dataclass(frozen=True)
class LogOdds:
    """Log-odds of the target of each document, made linear in the logits where it stands.

    With the logits ``z`` of the classifier and the target ``t`` the log-odds are
    ``z_t - log(sum_{c != t} exp(z_c))``, and ``z_t - sum_{c != t} q_c z_c`` has the same gradient,
    with the softmax ``q`` over the other classes. For two classes both are ``z_t - z_o``.

    Attributes
    ----------
    scale : float
        Factor of the network's logits in those of the classifier.
    added : ndarray of shape (D, C)
        What is added to them.
    targets : ndarray of int64, shape (D,)
        Number of the class; -1 for the predicted one.
    """

    scale: float
    added: NDArray[np.float64]
    targets: NDArray[np.int64]

    def __getitem__(self, rows: Any) -> LogOdds:
        return LogOdds(self.scale, self.added[rows], self.targets[rows])

    def __call__(self, network_logits: Tensor) -> Tensor:
        """Give the factors of the network's logits, as `sk_han.nn.attribution` asks for them."""
        factors = self.scale * self.factors(self.logits(network_logits))
        return torch.from_numpy(factors).to(network_logits)

    def logits(self, network_logits: Tensor) -> NDArray[np.float64]:
        """Logits of the classifier, shape (D, C)."""
        logits = network_logits.numpy(force=True).astype(np.float64)
        return self.scale * logits + self.added

    def targets_of(self, logits: NDArray[np.float64]) -> NDArray[np.int64]:
        """Numbers of the classes that are explained, shape (D,)."""
        return np.where(self.targets >= 0, self.targets, logits.argmax(axis=1))

    def factors(self, logits: NDArray[np.float64]) -> NDArray[np.float64]:
        """Factors of the classifier's logits, shape (D, C); zero where there is one class."""
        if logits.shape[1] == 1:
            return np.zeros_like(logits)
        is_target = _is_target(logits, self.targets_of(logits))
        with np.errstate(under="ignore"):  # next to a class that is sure, others may vanish
            return is_target - softmax(np.where(is_target, -np.inf, logits), axis=1)


def log_odds(logits: NDArray[np.float64], targets: NDArray[np.int64]) -> NDArray[np.float64]:
    """Log-odds of the targets, shape (D,); zero where there is one class."""
    if logits.shape[1] == 1:
        return np.zeros(len(logits))
    is_target = _is_target(logits, targets)
    with np.errstate(under="ignore"):
        others = logsumexp(np.where(is_target, -np.inf, logits), axis=1)
    return logits[is_target] - others


def class_numbers(
    target: Any, classes: NDArray[Any], n_documents: int | None
) -> NDArray[np.int64] | int:
    """Find the numbers of target labels.

    Parameters
    ----------
    target : label, array-like of n_documents labels, or None
    classes : ndarray of shape (n_classes,)
    n_documents : int or None
        None where it is not known yet.

    Returns
    -------
    ndarray of int64, shape (n_documents,), or int
        One number stands for all documents; -1 for the predicted class.

    Raises
    ------
    ValueError
        If a label is no class, or there are not as many labels as documents.
    """
    if target is None:
        return -1
    number_of = {label: number for number, label in enumerate(classes.tolist())}
    is_one = isinstance(target, (str, bytes)) or np.ndim(target) == 0
    labels = [target] if is_one else list(target)
    numbers = np.empty(len(labels), dtype=np.int64)
    for i, label in enumerate(labels):
        plain = label.item() if isinstance(label, (np.generic, np.ndarray)) else label
        if plain not in number_of:
            name = "target" if is_one else f"target[{i}]"
            raise ValueError(f"{name} is {plain!r}; the classes are {classes.tolist()}.")
        numbers[i] = number_of[plain]
    if is_one:
        return int(numbers[0])
    if n_documents not in (None, len(numbers)):
        raise wrong_length(len(numbers), f"{n_documents} documents")
    return numbers


def wrong_length(n_labels: int, documents: str) -> ValueError:
    """Say that there are not as many targets as documents."""
    return ValueError(
        f"target has {n_labels} labels for {documents}; give one label for each, or one for all."
    )


def _is_target(logits: NDArray[np.float64], targets: NDArray[np.int64]) -> NDArray[np.bool_]:
    return np.arange(logits.shape[1]) == targets[:, np.newaxis]
