"""Checkpoints: a fit of hours survives the end of its process."""

from sk_han.fitting.checkpoints.checkpoint import Checkpoint

__all__ = ["Checkpoint"]
