"""A number: a distribution over knots of its range, whose expected value is predicted."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sk_han._options import Choice, InstanceOf
from sk_han._storage.schema import Array, Field, Schema, Sizes
from sk_han._targets.one_of_classes import log_softmax, softmax
from sk_han._targets.target import Target
from sk_han._utils.containers import Floats, Integers
from sk_han._utils.messages import plural, warn_user
from sk_han._validation.labels import check_numbers, document_weights

# Number of knots up to so many documents, and beyond. A network did not learn 16 from 2,000
# generated reviews, and learnt 8; above 5,000 documents the number has not been tried.
_FEW_KNOTS, _MANY_KNOTS, _MANY_DOCUMENTS = 8, 16, 5_000
_LARGEST = 1e100  # whose squares are finite
_ROUNDING = 1e-12  # of probabilities


def _bind_problems(state: Any, where: str, sizes: Sizes) -> None:
    """Bind B, a problem for each edge, and check that there is an edge between two knots."""
    knots, edges = state["knots"], state["edges"]
    if len(edges) != len(knots) - 1 or np.any((edges < knots[:-1]) | (edges >= knots[1:])):
        raise ValueError(f"its {where} has no edge between each two of its knots")
    if state["scale"] == "log" and knots[0] <= 0:
        raise ValueError(f"its {where} has a logarithmic scale, and knots of 0 or less")
    sizes["B"] = len(edges)


def _check_scale(t: Floats, scale: str, name: str = "y") -> None:
    """Check that numbers on a logarithmic scale are above 0."""
    if scale == "log" and np.any(t <= 0):
        row = int(np.argmax(t <= 0))
        raise ValueError(
            f'{name}[{row}] is {t[row]:g}, and scale="log" needs numbers above 0. Leave such '
            'documents out, or use scale="linear".'
        )


@dataclass(frozen=True, eq=False)
class Number(Target):
    """The target of a regressor: a number for each document, predicted by a distribution.

    Encoded labels are the numbers themselves, float64 of shape (D,). The predicted distribution has
    K knots: quantiles of the training numbers from the smallest to the largest, or all numbers if
    there are few. A training number between two knots becomes a distribution over these two, with
    probabilities such that their mean is the number (Imani and White, 2018, and Farebrother et al.,
    2024, learn numbers by such distributions). With a logarithmic scale,
    distances and expected knots are those of the logarithms. The linear parts learn
    whether a number is above each of K - 1 edges between the knots; the sums of their scores are
    the scores of the knots, as in an ordinal regression.
    """

    names: Floats  # (K,), the knots, rising
    edges: Floats  # (K - 1,), one between two knots
    is_discrete: bool = False  # whether the knots are all the numbers there are
    offsets: Floats | float = 0.0
    scale: str = "linear"  # or "log"

    kind, labelling = "number", "a number for each document"
    is_number = True
    measure = "valid_r2"
    # What two parts know of a number adds up, and each alone has a wider distribution than both.
    freedom = 3.0
    SCHEMA = Schema(
        (
            Field("knots", Array("float64", "K", -_LARGEST, _LARGEST, rising=True)),
            Field("edges", Array("float64", "b", -_LARGEST, _LARGEST, rising=True)),
            Field("is_discrete", InstanceOf(bool)),
            Field("offsets", Array("float64", "K", -_LARGEST, _LARGEST)),
            Field("scale", Choice(("linear", "log"))),
        ),
        rules=(_bind_problems,),
    )

    @classmethod
    def accepts(cls, y: Any) -> bool:
        """Return False: the estimator chooses it, since labels may be numbers, too."""
        return False

    @classmethod
    def from_labels(cls, y: Any, n_documents: int, classes: Any = None) -> tuple[Target, Floats]:
        """Check numbers; `with_knots` finds their knots when their weights are known."""
        if classes is not None:
            cls.read_classes(classes)  # raises an error
        return cls(np.zeros(1), np.zeros(0)), check_numbers(y, n_documents)

    def with_knots(self, t: Floats, w: Floats, n_knots: int | str, scale: str) -> Number:
        """Return the target with knots and edges for training numbers of positive weight."""
        _check_scale(t, scale)
        t = t[w > 0]
        if n_knots == "auto":
            n_knots = _FEW_KNOTS if len(t) <= _MANY_DOCUMENTS else _MANY_KNOTS
        t = np.sort(t)
        knots = np.unique(t)
        is_discrete = len(knots) <= int(n_knots)
        if not is_discrete:
            knots = np.unique(np.quantile(t, np.linspace(0, 1, int(n_knots)), method="nearest"))
        if len(knots) == 1:
            warn_user(f"All numbers in y are {knots[0]:g}, which every document will get.")
        edges = [
            np.median(between) if len(between) else (low + high) / 2
            for low, high in pairwise(knots.tolist())
            for between in [t[np.searchsorted(t, low, "right") : np.searchsorted(t, high)]]
        ]
        return Number(knots, np.array(edges), is_discrete, scale=scale)

    @classmethod
    def from_values(cls, values: Floats) -> Number:
        """Return the target whose knots are the numbers that ordered classes stand for."""
        return cls(values, (values[:-1] + values[1:]) / 2, is_discrete=True)

    @classmethod
    def read_classes(cls, classes: Any) -> NDArray[Any]:
        """Raise a ValueError: numbers have no classes."""
        raise ValueError("A HANRegressor has no classes; leave them out.")

    def encode(self, y: Any, n_documents: int, name: str = "y") -> Floats:
        """Check numbers, (D,), and warn of training numbers outside the range of the first fit."""
        t = check_numbers(y, n_documents, name)
        _check_scale(t, self.scale, name)
        n_outside = int(((t < self.names[0]) | (t > self.names[-1])).sum())
        if n_outside and name == "y":
            warn_user(
                f"y has {plural(n_outside, 'number')} outside of the range of the first fit, "
                f"{self.names[0]:g} to {self.names[-1]:g}, and a later fit learns them as its "
                "ends. Fit anew with warm_start=False to extend the range."
            )
        return t

    def decide_by_proba(self, p: Floats) -> Floats:
        """Return the expected number, (D,)."""
        expected: Floats = p @ self._to_scale(self.names)
        return np.exp(expected) if self.scale == "log" else expected

    def _to_scale(self, numbers: Floats) -> Floats:
        """Return numbers, or their logarithms if the scale is logarithmic."""
        return np.log(numbers) if self.scale == "log" else numbers

    def decode(self, t: NDArray[Any]) -> NDArray[Any]:
        """Return the numbers themselves."""
        return t

    def encode_to_compare(self, y: Any) -> Floats:
        """Check numbers, of any size."""
        return check_numbers(y, None)

    def codes(self, t: NDArray[Any]) -> Integers:
        """Return the number of edges below each number."""
        return np.searchsorted(self.edges, t)

    def weigh(
        self, t: NDArray[Any], sample_weight: Any, class_weight: Any
    ) -> tuple[Target, Floats]:
        """Check the weights of documents, (D,)."""
        return self, document_weights(sample_weight, None, t, t[:1])

    def is_learnable(self, t: NDArray[Any]) -> bool:
        """Return whether there are numbers on both sides of each edge."""
        return self.n_scores > 1 and len(np.unique(self.codes(t))) == self.n_scores

    def criterion(self) -> type[Any]:
        """Return the cross-entropy, which takes distributions over the knots."""
        from torch.nn import CrossEntropyLoss

        return CrossEntropyLoss

    def network_targets(self, t: NDArray[Any]) -> NDArray[Any]:
        """Return the distribution over the knots of each number, (D, K)."""
        return self.soft(t)

    def soft(self, t: NDArray[Any]) -> NDArray[np.float32]:
        """Divide each number between the two nearest knots, (D, K); beyond the ends it is one."""
        knots = self._to_scale(self.names)
        place = np.interp(self._to_scale(t), knots, np.arange(self.n_scores))[:, np.newaxis]
        shares: Floats = (1 - np.abs(place - np.arange(self.n_scores))).clip(0)
        return shares.astype(np.float32)

    def loss(self, z: Floats, t: NDArray[Any], w: Floats) -> tuple[Floats, Floats]:
        """Return the cross-entropies with `soft`, and the gradient of their sum."""
        log_proba, shares = log_softmax(z), self.soft(t).astype(np.float64)
        return -w * (shares * log_proba).sum(axis=1), w[:, np.newaxis] * (
            np.exp(log_proba) - shares
        )

    def prior_loss(self, t: NDArray[Any], w: Floats) -> float:
        """Return the entropy of the mean distribution over the knots."""
        shares = np.average(self.soft(t), axis=0, weights=w)
        shares = shares[shares > 0]
        return -float(shares @ np.log(shares))

    def probabilities(self, z: Floats) -> Floats:
        """Return the probability of each knot, (D, K)."""
        return softmax(z)

    def log_probabilities(self, z: Floats) -> Floats:
        """Return the logarithm of the probability of each knot, (D, K)."""
        return log_softmax(z)

    def center_scores(self, z: Floats) -> Floats:
        """Return scores less their mean over the knots, (D, K)."""
        return z - z.mean(axis=1, keepdims=True)

    def offset_shapes(self) -> Floats:
        """Return a slope and a curvature over the knots, (2, K).

        Each part has the curvature of its own distribution, and the curvature of their sum would be
        too large where the parts know different things.
        """
        place = np.linspace(-1, 1, self.n_scores)
        return np.stack([place, place**2 - np.mean(place**2)])

    def accuracy(self, z: NDArray[Any], t: NDArray[Any]) -> float:
        """Return R2, the explained share of the variance, of numbers or of their `soft`."""
        true = self.decide_by_proba(t) if t.ndim == 2 else t
        errors = self.decide(z.astype(np.float64)) - true
        variance = np.var(true)
        return float(1 - np.mean(errors**2) / variance) if variance > 0 else 0.0

    def log_odds(self, z: Floats, of: Integers, against: Integers | int = -1) -> Floats:
        """Return the expected number, (D,), which is explained in place of log-odds."""
        return self.decide(z)

    def factors(self, z: Floats, of: Integers, against: Integers | int = -1) -> Floats:
        """Return the gradient of the expected number, (D, K)."""
        p, knots = self.probabilities(z), self._to_scale(self.names)
        slope = self.decide_by_proba(p) if self.scale == "log" else np.ones(len(p))
        return p * (knots - (p @ knots)[:, np.newaxis]) * slope[:, np.newaxis]

    @property
    def n_problems(self) -> int:
        """One for each edge."""
        return self.n_scores - 1

    def problems(self, t: NDArray[Any]) -> NDArray[np.float32]:
        """Return 1 where a number is above an edge, (D, B)."""
        return (t[:, np.newaxis] > self.edges).astype(np.float32)

    def expand(self, scores: NDArray[Any]) -> NDArray[Any]:
        """Add up the scores of the edges below each knot, (D, K).

        The factor makes the log-odds of the outermost knots those of a logistic ordinal regression.
        """
        sums = np.cumsum(scores, axis=1) * (2 / self.n_scores)
        return np.hstack([np.zeros_like(sums[:, :1]), sums])

    def restrict(self, factors: NDArray[Any]) -> NDArray[Any]:
        """Add up the factors of the knots above each edge, (D, B)."""
        sums = np.cumsum(factors[:, ::-1], axis=1)[:, ::-1]
        return sums[:, 1:] * (2 / self.n_scores)

    # The predicted distribution: the probability of a knot is spread evenly between its edges.

    def cumulative(self, p: Floats, t: Floats) -> tuple[Floats, Floats]:
        """Return the probabilities of numbers below `t` and of at most `t`, (D,) each."""
        sums = np.cumsum(p, axis=1)
        if self.is_discrete:
            below, most = (np.searchsorted(self.names, t, side) for side in ("left", "right"))
            padded = np.column_stack([np.zeros(len(p)), sums])
            rows = np.arange(len(p))
            return padded[rows, below], padded[rows, most]
        ends, knot = self._ends(), self.codes(t)
        rows, low, high = np.arange(len(p)), ends[knot], ends[knot + 1]
        share = ((self._to_scale(t) - low) / (high - low)).clip(0, 1)
        at_most = sums[rows, knot] - (1 - share) * p[rows, knot]
        return at_most, at_most

    def quantiles(self, p: Floats, levels: Floats | float) -> Floats:
        """Return the quantile of each distribution, (D,), at one level or one for each."""
        sums, rows = np.cumsum(p, axis=1), np.arange(len(p))
        levels = np.broadcast_to(levels, len(p))
        knot = (sums < levels[:, np.newaxis] - _ROUNDING).sum(axis=1).clip(0, self.n_scores - 1)
        if self.is_discrete:
            return self.names[knot]
        ends = self._ends()
        missing = (sums[rows, knot] - levels) / np.maximum(p[rows, knot], _ROUNDING)
        low, high = ends[knot], ends[knot + 1]
        between: Floats = high - (high - low) * missing.clip(0, 1)
        return np.exp(between) if self.scale == "log" else between

    def _ends(self) -> Floats:
        """Return the edges and the outermost knots on the scale, (K + 1,)."""
        return self._to_scale(np.concatenate([self.names[:1], self.edges, self.names[-1:]]))

    def interval_scores(self, p: Floats, t: Floats) -> Floats:
        """Return how far numbers are from the median of their distributions, by probability, (D,).

        They are from -.5 on, and .5 at most: the number is at an end of the distribution.
        """
        below, at_most = self.cumulative(p, t)
        scores: Floats = np.maximum(below - 0.5, 0.5 - at_most).clip(-0.5, 0.5)
        return scores

    def interval(self, p: Floats, score: float) -> Floats:
        """Return the ends of the numbers whose scores are at most `score`, (D, 2)."""
        return np.column_stack([self.quantiles(p, 0.5 - score), self.quantiles(p, 0.5 + score)])

    def to_state(self) -> dict[str, Any]:
        """Return knots, edges and offsets."""
        return {
            "kind": self.kind,
            "knots": self.names,
            "edges": self.edges,
            "is_discrete": self.is_discrete,
            "offsets": np.broadcast_to(self.offsets, self.names.shape).copy(),
            "scale": self.scale,
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Number:
        """Restore the target of these knots."""
        knots, edges, offsets = (state[name].copy() for name in ("knots", "edges", "offsets"))
        return cls(knots, edges, state["is_discrete"], offsets, state["scale"])
