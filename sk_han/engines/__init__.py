"""Engines: which one computes, kernels that Numba compiles, bodies by NumPy."""
