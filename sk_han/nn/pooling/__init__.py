"""Poolings: one vector from the states of a sequence."""
