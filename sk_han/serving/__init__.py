"""Prediction where there is no PyTorch, scikit-learn or SciPy."""
