"""Synthetic reviews, and loading of users' tables."""

from sk_han.datasets._reviews import make_reviews
from sk_han.datasets._tables import load_csv

__all__ = ["load_csv", "make_reviews"]
