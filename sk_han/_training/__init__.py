"""Training with skorch: the net and its batches, its construction, callbacks, and fitted state."""
