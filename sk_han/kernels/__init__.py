"""Kernels that Numba compiles, their loading, and the threads that run them."""
