"""Prediction where there is no PyTorch, scikit-learn or SciPy."""

from sk_han.serving.scorer import Scorer

__all__ = ["Scorer"]
