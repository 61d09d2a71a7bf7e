"""Training with skorch: the net, its batches, its builder and its callbacks."""
