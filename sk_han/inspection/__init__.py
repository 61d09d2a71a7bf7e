"""How predictions come about: explanations, summaries, reports and measures of them, as data.

The classes load on first use, since a `Scorer` predicts without them.
"""

from sk_han._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
