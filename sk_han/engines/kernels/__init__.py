"""Kernels that Numba compiles. `sk_han.engines.loading` alone imports them."""
