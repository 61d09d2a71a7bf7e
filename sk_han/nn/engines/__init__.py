"""Engines: bodies of recurrence and attention with a backward written by hand."""
