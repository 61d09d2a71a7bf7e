"""The parameters of a classifier as plain values, which is all that a fit knows of it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from sk_han.options import NetworkOptions


class Settings(SimpleNamespace):
    """Parameters by name, those of nested objects as ``tokenizer__lowercase`` too.

    They are declared and documented by the constructor of the estimator alone.
    """

    @property
    def network_options(self) -> NetworkOptions:
        """The options of the network that are parameters."""
        names = NetworkOptions.constraints().keys() & vars(self).keys()
        return NetworkOptions(**{name: getattr(self, name) for name in names}).copy()

    @property
    def ngram_range(self) -> tuple[int, int] | None:
        """`linear_ngrams` as integers of Python."""
        if self.linear_ngrams is None:
            return None
        smallest, largest = self.linear_ngrams
        return int(smallest), int(largest)  # a search passes NumPy integers

    @property
    def own_loss(self) -> bool:
        """Whether the user's loss is minimized, which may take no probabilities."""
        return "criterion" in (self.net_params or {})

    def as_dict(self) -> dict[str, Any]:
        """Return all by name."""
        return dict(vars(self))
