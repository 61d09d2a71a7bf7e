"""Shared helpers: compatibility, optional packages, stored state, warnings."""
