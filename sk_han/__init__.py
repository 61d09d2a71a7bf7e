"""Hierarchical attention networks for document classification, behind scikit-learn's API.

The public names load on first use, so that ``import sk_han`` is quick and
``from sk_han import HierarchicalTokenizer`` never imports PyTorch.
"""

from sk_han._lazy import attach

__version__ = "0.1.0"

# The public names are those in __init__.pyi, and those exported by the modules it lists.
__getattr__, __dir__, __all__ = attach(__name__, __file__)
