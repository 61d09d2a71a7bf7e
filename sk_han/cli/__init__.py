"""The command line: fit, predict, explain and evaluate on tables, without writing Python."""

from sk_han.cli._program import main

__all__ = ["main"]
