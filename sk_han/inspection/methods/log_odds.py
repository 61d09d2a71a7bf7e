"""What is explained of each document: the log-odds of a label, against all others or one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sk_han.documents import DocumentArray
from sk_han.parts import Pool
from sk_han.parts.pool import NETWORK
from sk_han.targets import OneOfClasses, Target
from sk_han.utils.containers import label_list, listed
from sk_han.utils.counts import counted
from sk_han.utils.visible_text import in_one_line


@dataclass(frozen=True)
class Asked:
    """Numbers of the labels that are explained, and of the classes these are compared with.

    Each is one number for all documents or an array of one for each, (D,). A target of -1 is the
    most probable label, and a rival of -1 all other classes.
    """

    targets: NDArray[np.int64] | int = -1
    rivals: NDArray[np.int64] | int = -1

    @classmethod
    def checked(cls, target: Any, against: Any, of: Target, n_documents: int | None) -> Asked:
        """Return the numbers of one label, an array-like of D, or None; D may not be known yet."""
        if against is not None and not isinstance(of, OneOfClasses):
            raise ValueError(
                f"against is {against!r}, but a document may have several labels here, which do "
                "not exclude each other; leave it out."
            )
        if against is not None and len(of.names) == 1:
            raise ValueError(
                f"against is {against!r}, but the model knows no other class; leave it out."
            )
        asked = cls(
            _class_numbers("target", target, of.names, n_documents),
            _class_numbers("against", against, of.names, n_documents),
        )
        both = np.ndim(asked.targets) and np.ndim(asked.rivals)
        if both and np.size(asked.targets) != np.size(asked.rivals):
            raise _wrong_length("against", asked.rivals, f"{np.size(asked.targets)} targets")
        same = np.atleast_1d((asked.targets == asked.rivals) & (np.asarray(asked.rivals) >= 0))
        if same.any():
            number = int(np.broadcast_to(asked.rivals, same.shape)[same][0])
            raise ValueError(
                f"target and against are both {of.names.tolist()[number]!r}; give two classes, or "
                "leave one of them out."
            )
        return asked

    def __getitem__(self, rows: Any) -> Asked:
        """Return what is asked of some of D documents; of arrays alone."""
        return Asked(np.asarray(self.targets)[rows], np.asarray(self.rivals)[rows])

    def of(self, first: int, n: int) -> Asked:
        """Return what is asked of the next n documents, as arrays."""
        rows = slice(first, first + n)
        found = {}
        for name, numbers in (("target", self.targets), ("against", self.rivals)):
            if isinstance(numbers, np.ndarray) and len(numbers) < rows.stop:
                raise _wrong_length(name, numbers, f"{counted(rows.stop)} or more")
            found[name] = numbers[rows] if isinstance(numbers, np.ndarray) else np.full(n, numbers)
        return Asked(found["target"], found["against"])

    def check_length(self, n_read: int) -> None:
        """Check that no label is left over when all documents are read."""
        for name, numbers in (("target", self.targets), ("against", self.rivals)):
            if isinstance(numbers, np.ndarray) and n_read < len(numbers):
                raise _wrong_length(name, numbers, counted(n_read))

    def labels(self, of: Target, logits: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the numbers of the explained labels, (D,): none is its own rival."""
        rivals = np.arange(logits.shape[1]) == np.reshape(self.rivals, (-1, 1))
        likeliest = of.likeliest(np.where(rivals, -np.inf, logits))
        return np.where(np.asarray(self.targets) >= 0, self.targets, likeliest)


@dataclass(frozen=True)
class LogOdds:
    """Log-odds of a label of each document, linearized at its logits, as the network sees them.

    With the logits ``z`` of the pool and one class ``t`` of several the log-odds are
    ``z_t - log(sum_{c != t} exp(z_c))``, and ``z_t - sum_{c != t} q_c z_c`` has the same gradient,
    with the softmax ``q`` over the other classes. For two classes, and against one class ``o``,
    both are ``z_t - z_o``.
    """

    pool: Pool
    added: NDArray[np.float64]  # (D, K), scaled logits of the parts beside the network
    asked: Asked  # of D documents

    @classmethod
    def of(cls, pool: Pool, documents: DocumentArray, asked: Asked) -> LogOdds:
        """Return the score of what is asked of documents."""
        return cls(pool, pool.others.logits(documents), asked)

    def __getitem__(self, rows: Any) -> LogOdds:
        return replace(self, added=self.added[rows], asked=self.asked[rows])

    def toward(self, targets: NDArray[np.int64]) -> LogOdds:
        """Return the score of these labels."""
        return replace(self, asked=replace(self.asked, targets=targets))

    def __call__(self, network_logits: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return the factors of the network's logits, shape (D, K)."""
        return self.pool.scales[NETWORK] * self.factors(self.logits(network_logits))

    def logits(self, network_logits: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return the logits of the pool, shape (D, K)."""
        return self.pool.scales[NETWORK] * network_logits.astype(np.float64) + self.added

    def targets_of(self, logits: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the numbers of the explained labels, shape (D,)."""
        return self.asked.labels(self.pool.target, logits)

    def factors(self, logits: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the factors of the pool's logits, shape (D, K)."""
        return self.pool.target.factors(logits, self.targets_of(logits), self.asked.rivals)

    def of_logits(self, logits: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the log-odds of the explained labels, shape (D,)."""
        return self.pool.target.log_odds(logits, self.targets_of(logits), self.asked.rivals)


def _class_numbers(
    argument: str, given: Any, classes: NDArray[Any], n_documents: int | None
) -> NDArray[np.int64] | int:
    if given is None:
        return -1
    number_of = {label: number for number, label in enumerate(classes.tolist())}
    if hasattr(given, "as_py"):  # one of Arrow, which NumPy takes for a sequence
        given = given.as_py()
    is_one = not isinstance(given, (list, tuple)) and np.ndim(given) == 0
    labels = label_list(given)
    numbers = np.empty(len(labels), dtype=np.int64)
    for i, label in enumerate(labels):
        number = _number(label, number_of)
        if number is None:
            name = argument if is_one else f"{argument}[{i}]"
            raise ValueError(
                f"{name} is {in_one_line(repr(label), 60)}; the classes are "
                f"{listed(classes.tolist(), 20)}. Give one of them for all documents, or a list "
                "of one for each."
            )
        numbers[i] = number
    if is_one:
        return int(numbers[0])
    if n_documents is not None and n_documents != len(numbers):
        raise _wrong_length(argument, numbers, counted(n_documents))
    return numbers


def _wrong_length(argument: str, numbers: Any, documents: str) -> ValueError:
    return ValueError(
        f"{argument} has {counted(len(numbers), 'label')} for {documents}; give one label for "
        "each, or one for all."
    )


def _number(label: Any, number_of: dict[Any, int]) -> int | None:
    try:
        return number_of.get(label)
    except TypeError:  # a list or a dict, which has no hash
        return None
