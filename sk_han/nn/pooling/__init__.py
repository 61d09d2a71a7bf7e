"""Poolings: how the states of a sequence become one vector."""
