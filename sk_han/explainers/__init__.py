"""How the numbers of an explanation are found: from an estimator and documents."""

from sk_han.explainers.classes import explain_classes
from sk_han.explainers.describing import describe
from sk_han.explainers.explaining import explain, explain_iter
from sk_han.explainers.reporting import report
from sk_han.explainers.summarizing import summarize

__all__ = ["describe", "explain", "explain_classes", "explain_iter", "report", "summarize"]
