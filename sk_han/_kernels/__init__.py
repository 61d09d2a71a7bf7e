"""Kernels of Numba and Triton, the functions in front of them, and the network in NumPy alone.

`sk_han._kernels.engine` alone imports the modules that need Numba or Triton.
"""
