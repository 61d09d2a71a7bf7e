"""Kernels that Numba compiles. `sk_han.engines.engine_choice` alone imports them."""
