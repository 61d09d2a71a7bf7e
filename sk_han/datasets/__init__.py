"""Generated reviews, and loading of the user's files."""

from sk_han.datasets._reviews import make_reviews
from sk_han.datasets._tables import load_csv

__all__ = ["load_csv", "make_reviews"]
