"""Generated reviews, and loading of the user's files."""

from sk_han.datasets.files import load_csv
from sk_han.datasets.reviews import make_reviews

__all__ = ["load_csv", "make_reviews"]
