"""Checks of what users hand over: texts, documents, labels and weights."""
