"""Shared helpers: containers, files, messages, metrics, progress, scikit-learn's private API."""
