"""One class of several in an order, such as stars: the median of the probabilities is predicted."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sk_han._storage.schema import Field, Schema, labels_in_order
from sk_han._targets.one_of_classes import OneOfClasses, bind_problems
from sk_han._utils.containers import Floats, Integers, listed
from sk_han._utils.metrics import median_class
from sk_han._validation.labels import as_number


class OrderedClasses(OneOfClasses):
    """The target of classes in an order: that of numbers, or of an ordered Categorical.

    Scores, losses and training are those of `OneOfClasses`; only decisions differ. The median has
    the lowest expected distance from the true class.
    """

    kind, labelling = "ordered_classes", "ordered classes, one a document"
    SCHEMA = Schema((Field("classes", labels_in_order),), rules=(bind_problems,))

    @classmethod
    def accepts(cls, y: Any) -> bool:
        """Return False: a parameter chooses it, since y may be the same."""
        return False

    @classmethod
    def in_order(cls, labels: NDArray[Any], y: Any) -> NDArray[Any]:
        """Return the distinct labels in the order of the categories of y, or of their numbers."""
        names = np.unique(labels)
        # A Categorical of pandas, an Enum of polars; their other categories have no order.
        dtype = getattr(y, "dtype", None)
        if getattr(dtype, "ordered", False) or type(dtype).__name__ == "Enum":
            place = {category: i for i, category in enumerate(dtype.categories)}  # type: ignore[union-attr]
            return names[np.argsort([place[name] for name in names.tolist()])]
        values = numbers_of(names)
        if values is None:
            raise ValueError(
                f"ordered=True needs an order of the classes, and {listed(names.tolist())} have "
                "none. Give numbers, or an ordered Categorical, such as pandas.Categorical(y, "
                "['low', 'mid', 'high'], ordered=True); at the command line, --order low mid high."
            )
        return names[np.argsort(values, kind="stable")]

    @property
    def values(self) -> Floats:
        """The numbers that the classes are, or else their ranks, (K,)."""
        values = numbers_of(self.names)
        return np.arange(self.n_scores, dtype=np.float64) if values is None else values

    def epoch_accuracy(self, z: NDArray[Any], t: NDArray[Any]) -> float:
        """Return that of the most probable class: the fit is the same as without an order."""
        return float((z.argmax(axis=1) == t).mean())

    def top_label(self, p: Floats) -> Integers:
        """Return the median class, (D,), which is predicted."""
        return median_class(p)


def numbers_of(names: NDArray[Any]) -> Floats | None:
    """Return the numbers that labels are, or that strings of them write, (K,); None if not all."""
    values = [as_number(x) if isinstance(x, str) else float(x) for x in names.tolist()]
    return None if None in values else np.array(values, dtype=np.float64)
