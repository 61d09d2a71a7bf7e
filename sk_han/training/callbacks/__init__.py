"""Callbacks of a training: the best epoch, freezing, averaging, progress, stopping."""
