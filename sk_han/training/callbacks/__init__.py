"""Callbacks of a training: the best epoch, freezing, progress, stopping."""
