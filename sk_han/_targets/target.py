"""The protocol of a target: what labels and scores mean to a fit, a prediction, an explanation."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sk_han._storage.schema import Schema, Sizes
from sk_han._utils.containers import Floats, Integers

_SMALLEST = 1e-12


def one_problem_each(state: Any, where: str, sizes: Sizes) -> None:
    """Bind B: each label is a problem, the default of targets."""
    sizes["B"] = sizes["K"]


def most_frequent(counts: Integers, most: int) -> Integers:
    """Return the numbers of the labels of the highest counts (K,), in their order."""
    return np.sort(np.argsort(-counts, kind="stable")[:most])


class Target(ABC):
    """The meaning of K scores; the parts of a model know nothing else about classes or labels.

    Letters: D documents, K scores of each, B binary problems. Encoded labels `t` have D rows, of a
    shape that the target alone knows. Loading one loads neither PyTorch nor scikit-learn nor SciPy.
    """

    kind: ClassVar[str]  # its name in files
    labelling: ClassVar[str] = "labels of its own kind"  # what users give
    # Whether classes exclude each other; with two, evidence for one is evidence against the other.
    has_one_label: ClassVar[bool] = True
    is_number: ClassVar[bool] = False  # and not a class or labels
    # Factor of the spread of the priors of scales, which are estimated for classes.
    freedom: ClassVar[float] = 1.0
    measure: ClassVar[str] = "valid_accuracy"  # name of `accuracy` in the history
    SCHEMA: ClassVar[Schema]  # of its state; it binds the letters K, scores, and B, problems
    names: NDArray[Any]  # (K,), as the user wrote them, in the order of the scores
    offsets: Floats | float = 0.0  # added to the scores of all documents, (K,)

    @property
    def n_scores(self) -> int:
        """Number of scores of a document, K."""
        return len(self.names)

    # Labels.

    @classmethod
    @abstractmethod
    def accepts(cls, y: Any) -> bool:
        """Return whether labels are of this kind."""

    @classmethod
    @abstractmethod
    def from_labels(cls, y: Any, n_documents: int, classes: Any) -> tuple[Target, NDArray[Any]]:
        """Return the target of checked labels, and the encoded labels; see `fit_target`."""

    @abstractmethod
    def encode(self, y: Any, n_documents: int, name: str = "y") -> NDArray[Any]:
        """Check labels and encode them; raise a TypeError or ValueError that names the argument."""

    @abstractmethod
    def decide_by_proba(self, p: Floats) -> NDArray[Any]:
        """Return the decision on each document by its probabilities (D, K), as encoded labels."""

    def decide(self, z: Floats) -> NDArray[Any]:
        """Return the decision on each document by its scores (D, K), as encoded labels."""
        return self.decide_by_proba(self.probabilities(z))

    @abstractmethod
    def decode(self, t: NDArray[Any]) -> NDArray[Any]:
        """Return encoded labels as the user's."""

    def encode_to_compare(self, y: Any) -> NDArray[Any]:
        """Encode labels to compare them with decisions, and warn of unknown ones, which equal none.

        Several labels a document may have further columns.
        """
        return self.encode(y, y.shape[0] if hasattr(y, "shape") else len(y))

    @abstractmethod
    def codes(self, t: NDArray[Any]) -> Integers:
        """Return a number for each document, (D,), the same where the labels are the same."""

    def strata(self, t: NDArray[Any]) -> NDArray[Any]:
        """Return by what splits are stratified: classes (D,), or labels (D, L)."""
        return self.codes(t)

    @abstractmethod
    def weigh(
        self, t: NDArray[Any], sample_weight: Any, class_weight: Any
    ) -> tuple[Target, Floats]:
        """Check weights; return the target with class weights, and those of documents, (D,)."""

    def weights_of_others(self, others: NDArray[Any], t: NDArray[Any], class_weight: Any) -> Floats:
        """Return weights of validation documents by the class weights of a fit to `t`."""
        return np.ones(len(others))

    def problem_weights(self, t: NDArray[Any], w: Floats) -> Floats:
        """Return the weight of each document in each binary problem, (D, B)."""
        return np.broadcast_to(w[:, np.newaxis], (len(w), self.n_problems))

    def mean_of(self, values: NDArray[Any], t: NDArray[Any], w: Floats) -> Floats:
        """Return the mean of a value of each label (D, K), weighted as losses are, (K,)."""
        mean: Floats = np.average(values, axis=0, weights=w)
        return mean

    @abstractmethod
    def is_learnable(self, t: NDArray[Any]) -> bool:
        """Return whether linear models can learn: each problem has documents of both sides."""

    def warn_of_rare(  # noqa: B027  (not all do)
        self, t: NDArray[Any], *, given: bool, holds_out: bool
    ) -> None:
        """Warn of labels with very few documents; `given` is whether `X_val` was passed.

        With `holds_out`, raise a ValueError for labels that look like texts or ids.
        """

    def restrict_to_top(self, t: NDArray[Any], most: int) -> tuple[Target, Integers, NDArray[Any]]:
        """Return the target of at most `most` labels, the most frequent ones.

        Also return the rows of its documents, and their encoded labels.
        """
        return self, np.arange(len(t)), t

    @classmethod
    @abstractmethod
    def read_classes(cls, classes: Any) -> NDArray[Any]:
        """Return the argument `classes` of `partial_fit` as `names`, (K,)."""

    # Scores.

    @abstractmethod
    def criterion(self) -> type[Any]:
        """Return the class of the PyTorch module of the loss, made with ``reduction="none"``."""

    @abstractmethod
    def loss(self, z: Floats, t: NDArray[Any], w: Floats) -> tuple[Floats, Floats]:
        """Return the weighted negative log-likelihoods (D,), and the gradient of their sum."""

    @abstractmethod
    def prior_loss(self, t: NDArray[Any], w: Floats) -> float:
        """Return the mean loss of a model that knows the frequencies of labels, and no text."""

    @abstractmethod
    def probabilities(self, z: Floats) -> Floats:
        """Return the probability of each label, (D, K)."""

    @abstractmethod
    def log_probabilities(self, z: Floats) -> Floats:
        """Return the logarithms of `probabilities`, finite also where these round to 0."""

    def scores_of_shares(self, shares: Floats) -> Floats:
        """Return scores whose probabilities are the shares of the labels, (K,)."""
        return np.log(shares) if self.has_one_label else log_odds(shares)

    def offset_shapes(self) -> Floats:
        """Return the shapes (Q, K) whose sum, calibrated next to the scales, is `offsets`."""
        return np.empty((0, self.n_scores))

    def decision_function(self, z: Floats) -> Floats:
        """Return the scores as scikit-learn's `decision_function` does."""
        return z

    def center_scores(self, z: Floats) -> Floats:
        """Return scores (D, K) without what changes no decision."""
        return z

    @abstractmethod
    def soft(self, t: NDArray[Any]) -> NDArray[np.float32]:
        """Return encoded labels as probabilities, (D, K)."""

    def network_targets(self, t: NDArray[Any]) -> NDArray[Any]:
        """Return encoded labels as the loss of the network takes them."""
        return t

    def accuracy(self, z: NDArray[Any], t: NDArray[Any]) -> float:
        """Return the share of documents whose decision is right, in all of several labels."""
        is_right = self.decide(z.astype(np.float64)) == t
        return float((is_right.all(axis=1) if is_right.ndim > 1 else is_right).mean())

    def epoch_accuracy(self, z: NDArray[Any], t: NDArray[Any]) -> float:
        """Return the accuracy of the network on held-out documents, which chooses the epoch."""
        return self.accuracy(z, t)

    def reliance(self, t: NDArray[Any]) -> Floats | None:
        """Return the weight of a network next to linear models for each label, (K,), from 0 to 1.

        `t` are its training targets. None means 1 for all labels.
        """
        return None

    @property
    def attends_per_label(self) -> bool:
        """Whether each label gets its own attention to words by default."""
        return False

    def check_threshold(self, threshold: Any) -> None:
        """Check the parameter `threshold`; raise a ValueError if decisions have none."""
        if not (isinstance(threshold, float) and threshold == 0.5):
            raise ValueError(
                f"threshold={threshold!r} is for several labels a document, and y has one: the "
                "most probable class is predicted. For another rule, use "
                "sklearn.model_selection.FixedThresholdClassifier, or leave the default of 0.5."
            )

    def with_decisions(
        self,
        threshold: Any,
        labelled: tuple[NDArray[Any], NDArray[Any]],
        unseen: tuple[NDArray[Any], NDArray[Any], NDArray[Any]] | None,
    ) -> Target:
        """Return the target of the fitted model, whose decisions follow `threshold`.

        `labelled` are labels and weights of the documents of the fit; `unseen` are scores (H, K),
        labels and weights (H,) of held-out documents, if there are any.
        """
        return self

    # Explanations: the log-odds of one label of each document, by its number.

    def top_label(self, p: Floats) -> Integers:
        """Return the number of the label that is explained by default, (D,): the most probable."""
        return p.argmax(axis=1)

    @abstractmethod
    def log_odds(self, z: Floats, of: Integers, against: Integers | int = -1) -> Floats:
        """Return the log-odds of a label of each document, (D,), against a class; -1 for all."""

    @abstractmethod
    def factors(self, z: Floats, of: Integers, against: Integers | int = -1) -> Floats:
        """Return the gradient of `log_odds` with respect to the scores, (D, K)."""

    # Linear parts: each binary problem has one score. By default each label is a problem.

    @property
    def n_problems(self) -> int:
        """Number of binary problems, B."""
        return self.n_scores

    def problems(self, t: NDArray[Any]) -> NDArray[np.float32]:
        """Return 1 where a document is on the positive side of a problem, else 0, (D, B)."""
        return self.soft(t)

    def expand(self, scores: NDArray[Any]) -> NDArray[Any]:
        """Turn scores of the problems (D, B) into scores of the labels (D, K)."""
        return scores

    def restrict(self, factors: NDArray[Any]) -> NDArray[Any]:
        """Turn factors of label scores (D, K) into factors of problem scores (D, B)."""
        return factors

    # Storage.

    @abstractmethod
    def to_state(self) -> dict[str, Any]:
        """Return the kind and the fitted state as arrays and plain values."""

    @classmethod
    @abstractmethod
    def from_state(cls, state: dict[str, Any]) -> Target:
        """Restore a target from a state that `SCHEMA` has checked."""


def log_sigmoid(logits: Floats) -> Floats:
    """Compute the logarithm of the sigmoid of each logit."""
    with np.errstate(under="ignore"):
        found: Floats = -np.logaddexp(0, -logits)
    return found


def log_odds(probabilities: ArrayLike) -> Floats:
    """Compute the log-odds of probabilities, finite also of 0 and 1."""
    p = np.clip(probabilities, _SMALLEST, 1 - _SMALLEST)
    return np.log(p) - np.log1p(-p)
