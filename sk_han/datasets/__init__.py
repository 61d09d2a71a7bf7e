"""Generated reviews, and loading of the user's files."""

from sk_han.datasets.reviews import make_reviews
from sk_han.datasets.tables import load_csv

__all__ = ["load_csv", "make_reviews"]
