"""Callbacks of a training: the best epoch, progress, stopping."""
