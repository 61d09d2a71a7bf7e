"""Compiled kernels of the inner loops, and the engine that loads and runs them.

Kernels are functions on flat NumPy arrays, compiled by Numba. Each module has one subject:
`network` (projection, GRU, attention, AdamW on rows of a table), `ngrams` (scores of n-gram
models), `text` (words and sentences), `sparse` (a sparse matrix times a dense one) and `logistic`
(one-vs-rest logistic regression). `vectors` has what they share: decorators with Numba's options,
the counter of tasks, and vectors of 16 numbers. `gpu` has the GRU in Triton, for CUDA.

Of these modules `engine` imports each on demand, so nothing else needs Numba or Triton:
``kernels("text")`` returns the module, or None if Numba is missing, cannot compile it or is
switched off by ``engine="torch"``. The caller then computes by PyTorch or NumPy. Kernels declare
the types of their arguments, so importing a module compiles it, or loads it from Numba's cache on
the disk.

``run_tasks(kernel, n_tasks, ...)`` runs a kernel on several threads without Python's lock. Each
thread draws the number of the next task from a shared counter until none is left, so a slow core
does not hold up the others. Kernels check no index and no length: the functions of `engine` that
call those of `network` check lengths and ids first.

`numpy_network` is the default network in NumPy, for a `Scorer` without Numba, and has the gradients
that explanations need. The GRU exists in `network`, `gpu` and `numpy_network`, so a change of it
must be made in all three; tests compare their results with those of PyTorch.
"""
