"""The interface of targets, by which a fit, predictions and explanations interpret scores."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sk_han._storage.schema import Schema, Sizes
from sk_han._utils.containers import Floats, Integers

_SMALLEST = 1e-12


def one_problem_each(state: Any, where: str, sizes: Sizes) -> None:
    """Rule of a schema: B is K, since each label is a binary problem."""
    sizes["B"] = sizes["K"]


def most_frequent(counts: Integers, most: int) -> Integers:
    """Return the numbers of the labels with the highest counts, (K,), in ascending order."""
    return np.sort(np.argsort(-counts, kind="stable")[:most])


class Target(ABC):
    """The meaning of K scores. The parts of a model know classes and labels only through it.

    Letters: D documents, K scores of each, B binary problems. Encoded labels `t` have D rows; only
    the target knows their shape. Importing a target imports neither PyTorch nor scikit-learn nor
    SciPy.
    """

    kind: ClassVar[str]  # the name in files
    labelling: ClassVar[str] = "labels of its own kind"  # the user's labels, in messages
    # Whether classes exclude each other; with two, evidence for one is evidence against the other.
    has_one_label: ClassVar[bool] = True
    is_number: ClassVar[bool] = False
    # The priors of scales were estimated for classes; other targets may widen them by this factor.
    freedom: ClassVar[float] = 1.0
    measure: ClassVar[str] = "valid_accuracy"  # the name of `accuracy` in the history
    SCHEMA: ClassVar[Schema]  # binds the letters K of scores and B of problems
    names: NDArray[Any]  # (K,), as spelled by the user, in the order of the scores
    offsets: Floats | float = 0.0  # added to the scores of all documents, (K,)

    @property
    def n_scores(self) -> int:
        """Number of scores of a document, K."""
        return len(self.names)

    # Labels.

    @classmethod
    @abstractmethod
    def accepts(cls, y: Any) -> bool:
        """Return whether this target can learn the labels."""

    @classmethod
    @abstractmethod
    def from_labels(cls, y: Any, n_documents: int, classes: Any) -> tuple[Target, NDArray[Any]]:
        """Check labels, create their target, and encode them; see `fit_target`."""

    @abstractmethod
    def encode(self, y: Any, n_documents: int, name: str = "y") -> NDArray[Any]:
        """Check and encode labels; errors call the argument `name`."""

    @abstractmethod
    def decide_by_proba(self, p: Floats) -> NDArray[Any]:
        """Decide by the probabilities of each document, (D, K); return encoded labels."""

    def decide(self, z: Floats) -> NDArray[Any]:
        """Decide by the scores of each document, (D, K); return encoded labels."""
        return self.decide_by_proba(self.probabilities(z))

    @abstractmethod
    def decode(self, t: NDArray[Any]) -> NDArray[Any]:
        """Convert encoded labels to the user's labels."""

    def encode_to_compare(self, y: Any) -> NDArray[Any]:
        """Encode labels to compare them with decisions, and warn of unknown labels.

        An unknown label gets a code that no decision has or, with several labels per document, a
        further column.
        """
        return self.encode(y, y.shape[0] if hasattr(y, "shape") else len(y))

    @abstractmethod
    def codes(self, t: NDArray[Any]) -> Integers:
        """Return an integer for each document, (D,), which is equal for equal labels."""

    def strata(self, t: NDArray[Any]) -> NDArray[Any]:
        """Return the strata of splits: classes, (D,), or labels, (D, L)."""
        return self.codes(t)

    @abstractmethod
    def weigh(
        self, t: NDArray[Any], sample_weight: Any, class_weight: Any
    ) -> tuple[Target, Floats]:
        """Check weights; return the target with class weights, and the document weights, (D,)."""

    def weights_of_others(self, others: NDArray[Any], t: NDArray[Any], class_weight: Any) -> Floats:
        """Return the weights of validation documents from the class weights of a fit to `t`."""
        return np.ones(len(others))

    def problem_weights(self, t: NDArray[Any], w: Floats) -> Floats:
        """Return the weight of each document in each binary problem, (D, B)."""
        return np.broadcast_to(w[:, np.newaxis], (len(w), self.n_problems))

    def mean_of(self, values: NDArray[Any], t: NDArray[Any], w: Floats) -> Floats:
        """Average values, (D, K), over documents with the weights of the loss, (K,)."""
        mean: Floats = np.average(values, axis=0, weights=w)
        return mean

    @abstractmethod
    def is_learnable(self, t: NDArray[Any]) -> bool:
        """Return whether each binary problem has documents of both sides for linear models."""

    def warn_of_rare(  # noqa: B027  (only some targets warn)
        self, t: NDArray[Any], *, has_validation: bool, holds_out: bool
    ) -> None:
        """Warn of labels with very few documents; `has_validation` is whether `X_val` was passed.

        With `holds_out`, raise a ValueError for labels that look like texts or ids.
        """

    def restrict_to_top(self, t: NDArray[Any], most: int) -> tuple[Target, Integers, NDArray[Any]]:
        """Return the target of the most frequent labels, its rows, and its encoded labels."""
        return self, np.arange(len(t)), t

    @classmethod
    @abstractmethod
    def read_classes(cls, classes: Any) -> NDArray[Any]:
        """Convert the argument `classes` of `partial_fit` to `names`, (K,)."""

    # Scores.

    @abstractmethod
    def criterion(self) -> type[Any]:
        """Return the class of the loss in PyTorch, which is created with ``reduction="none"``."""

    @abstractmethod
    def loss(self, z: Floats, t: NDArray[Any], w: Floats) -> tuple[Floats, Floats]:
        """Compute the weighted negative log-likelihoods, (D,), and the gradient of their sum."""

    @abstractmethod
    def prior_loss(self, t: NDArray[Any], w: Floats) -> float:
        """Compute the mean loss of always predicting the frequencies of the labels."""

    @abstractmethod
    def probabilities(self, z: Floats) -> Floats:
        """Compute the probability of each label, (D, K)."""

    @abstractmethod
    def log_probabilities(self, z: Floats) -> Floats:
        """Compute the logarithms of `probabilities`, which stay finite where these underflow."""

    def scores_of_shares(self, shares: Floats) -> Floats:
        """Return the scores, (K,), whose probabilities are the shares of the labels."""
        return np.log(shares) if self.has_one_label else log_odds(shares)

    def offset_shapes(self) -> Floats:
        """Return the vectors, (Q, K), of which `offsets` is a sum, weighted in the calibration."""
        return np.empty((0, self.n_scores))

    def decision_function(self, z: Floats) -> Floats:
        """Return the scores in the form of scikit-learn's `decision_function`."""
        return z

    def center_scores(self, z: Floats) -> Floats:
        """Remove from scores, (D, K), what all labels share and no decision depends on."""
        return z

    @abstractmethod
    def soft(self, t: NDArray[Any]) -> NDArray[np.float32]:
        """Convert encoded labels to probabilities, (D, K), such as one-hot vectors."""

    def network_targets(self, t: NDArray[Any]) -> NDArray[Any]:
        """Return encoded labels in the form that the loss of the network takes."""
        return t

    def accuracy(self, z: NDArray[Any], t: NDArray[Any]) -> float:
        """Return the accuracy of decisions; with several labels, the subset accuracy."""
        is_right = self.decide(z.astype(np.float64)) == t
        return float((is_right.all(axis=1) if is_right.ndim > 1 else is_right).mean())

    def epoch_accuracy(self, z: NDArray[Any], t: NDArray[Any]) -> float:
        """Return the accuracy by which the epoch is chosen, on held-out documents."""
        return self.accuracy(z, t)

    def reliance(self, t: NDArray[Any]) -> Floats | None:
        """Return how far to rely on the network for each label, from 0 to 1, (K,).

        `t` are the training targets. None means 1 for all labels.
        """
        return None

    @property
    def attends_per_label(self) -> bool:
        """Whether each label gets its own attention to words by default."""
        return False

    def check_threshold(self, threshold: Any) -> None:
        """Check the parameter `threshold`; by default decisions depend on none."""
        if not (isinstance(threshold, float) and threshold == 0.5):
            raise ValueError(
                f"threshold={threshold!r} applies only to several labels per document, and y has "
                "one: the most probable class is predicted. Leave the default of 0.5; for two "
                "classes, sklearn.model_selection.FixedThresholdClassifier has a threshold."
            )

    def with_decisions(
        self,
        threshold: Any,
        labelled: tuple[NDArray[Any], NDArray[Any]],
        unseen: tuple[NDArray[Any], NDArray[Any], NDArray[Any]] | None,
    ) -> Target:
        """Return the target of the fitted model, whose decisions follow `threshold`.

        `labelled` holds the labels and weights of the training documents, and `unseen` the scores,
        (H, K), labels and weights, (H,), of held-out documents, if there are any.
        """
        return self

    # Explanations: the log-odds of one label of each document, by its number.

    def top_label(self, p: Floats) -> Integers:
        """Return the label that is explained by default, the most probable one, (D,)."""
        return p.argmax(axis=1)

    @abstractmethod
    def log_odds(self, z: Floats, of: Integers, against: Integers | int = -1) -> Floats:
        """Compute the log-odds of a label of each document, (D,), against a class or all (-1)."""

    @abstractmethod
    def factors(self, z: Floats, of: Integers, against: Integers | int = -1) -> Floats:
        """Compute the gradient of `log_odds` with respect to the scores, (D, K)."""

    # Linear parts: each binary problem has one score. By default each label is a problem.

    @property
    def n_problems(self) -> int:
        """Number of binary problems, B."""
        return self.n_scores

    def problems(self, t: NDArray[Any]) -> NDArray[np.float32]:
        """Return 1 where a document is a positive example of a problem, else 0, (D, B)."""
        return self.soft(t)

    def expand(self, scores: NDArray[Any]) -> NDArray[Any]:
        """Convert scores of the problems, (D, B), to scores of the labels, (D, K)."""
        return scores

    def restrict(self, factors: NDArray[Any]) -> NDArray[Any]:
        """Convert factors of label scores, (D, K), to factors of problem scores, (D, B)."""
        return factors

    # Storage.

    @abstractmethod
    def to_state(self) -> dict[str, Any]:
        """Return the kind and the fitted state, in arrays and plain values."""

    @classmethod
    @abstractmethod
    def from_state(cls, state: dict[str, Any]) -> Target:
        """Restore a target from a state that was checked by `SCHEMA`."""


def log_sigmoid(logits: Floats) -> Floats:
    """Compute the logarithm of the sigmoid of each logit."""
    with np.errstate(under="ignore"):
        result: Floats = -np.logaddexp(0, -logits)
    return result


def log_odds(probabilities: ArrayLike) -> Floats:
    """Compute the log-odds of probabilities, clipped so that 0 and 1 give finite values."""
    p = np.clip(probabilities, _SMALLEST, 1 - _SMALLEST)
    return np.log(p) - np.log1p(-p)
