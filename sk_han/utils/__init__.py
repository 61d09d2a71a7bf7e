"""Shared helpers: compatibility, optional packages, stored state, softmax, warnings."""
