"""Checks of the user's data: texts, documents, labels and weights."""
