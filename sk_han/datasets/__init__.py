"""Real and generated texts, and loading of the user's files."""

from sk_han.datasets.docstrings import load_docstrings
from sk_han.datasets.reviews import make_reviews
from sk_han.datasets.tables import load_csv

__all__ = ["load_csv", "load_docstrings", "make_reviews"]
