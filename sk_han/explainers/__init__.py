"""How the numbers of an explanation are found: from an estimator and documents."""

from sk_han.explainers.explaining import explain, explain_iter
from sk_han.explainers.reporting import report

__all__ = ["explain", "explain_iter", "report"]
