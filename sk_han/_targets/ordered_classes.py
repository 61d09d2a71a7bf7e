"""The target of one ordered class per document, such as stars: the median class is predicted."""

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
    """The target of classes that are ordered as numbers, or by an ordered Categorical.

    Scores, losses and training are those of `OneOfClasses`; only decisions differ. The median class
    has the smallest expected distance, in ranks, from the true class.
    """

    kind, labelling = "ordered_classes", "ordered classes, one a document"
    SCHEMA = Schema((Field("classes", labels_in_order),), rules=(bind_problems,))

    @classmethod
    def accepts(cls, y: Any) -> bool:
        """Return False: labels do not tell it from `OneOfClasses`, the parameter `ordered` does."""
        return False

    @classmethod
    def in_order(cls, labels: NDArray[Any], y: Any) -> NDArray[Any]:
        """Return the distinct labels in the order of the categories of y, or of their numbers."""
        names = np.unique(labels)
        # An ordered Categorical of pandas, or an Enum of polars. Unordered ones give no order.
        dtype = getattr(y, "dtype", None)
        if getattr(dtype, "ordered", False) or type(dtype).__name__ == "Enum":
            place = {category: i for i, category in enumerate(dtype.categories)}  # type: ignore[union-attr]
            return names[np.argsort([place[name] for name in names.tolist()])]
        values = class_values(names)
        if values is None:
            raise ValueError(
                f"ordered=True needs an order of the classes, and {listed(names.tolist())} have "
                "none. Give numbers, or an ordered Categorical, such as pandas.Categorical(y, "
                "['low', 'mid', 'high'], ordered=True); at the command line, --order low mid high."
            )
        return names[np.argsort(values, kind="stable")]

    @property
    def values(self) -> Floats:
        """The numbers that the classes stand for, or else their ranks, (K,)."""
        values = class_values(self.names)
        return np.arange(self.n_scores, dtype=np.float64) if values is None else values

    def epoch_accuracy(self, z: NDArray[Any], t: NDArray[Any]) -> float:
        """Return the accuracy of the most probable class, so that the fit ignores the order."""
        return float((z.argmax(axis=1) == t).mean())

    def top_label(self, p: Floats) -> Integers:
        """Return the median class, (D,), which is predicted and explained."""
        return median_class(p)


def class_values(names: NDArray[Any]) -> Floats | None:
    """Convert class names that are or spell numbers to floats, (K,); None if some do not."""
    values = [as_number(x) if isinstance(x, str) else float(x) for x in names.tolist()]
    return None if None in values else np.array(values, dtype=np.float64)
