"""The parameters of a classifier as plain values, which is all that a fit knows of it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from sk_han.options import NetworkOptions

AUTO = "auto"
_CHARACTERS = (1, 5)  # of an n-gram; 2 to 5 is a point worse with few Korean comments


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
        return _integers(self.linear_ngrams)

    @property
    def char_range(self) -> tuple[int, int] | None:
        """`linear_chars` as integers of Python, those that "auto" stands for too."""
        return _CHARACTERS if self.linear_chars == AUTO else _integers(self.linear_chars)

    @property
    def own_loss(self) -> bool:
        """Whether the user's loss is minimized, which may take no probabilities."""
        return "criterion" in (self.net_params or {})


def _integers(sizes: tuple[Any, Any] | None) -> tuple[int, int] | None:
    """Return sizes of n-grams, which may be NumPy's integers in a search."""
    return None if sizes is None else (int(sizes[0]), int(sizes[1]))
