"""Explanations as data: read-only arrays and texts, without a model."""
