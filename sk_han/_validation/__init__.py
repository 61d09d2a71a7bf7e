"""Checks and conversions of the user's data: texts, documents, cells of tables, labels, weights."""
