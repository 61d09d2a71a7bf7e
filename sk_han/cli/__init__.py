"""The command line: fit, predict, explain and evaluate for a table and no notebook."""

from sk_han.cli._program import main

__all__ = ["main"]
