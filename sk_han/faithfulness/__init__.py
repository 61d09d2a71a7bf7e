"""Faithfulness: whether the words that an explanation names decided the prediction."""

from sk_han.faithfulness.measuring import faithfulness_report
from sk_han.faithfulness.report import FaithfulnessReport

__all__ = ["FaithfulnessReport", "faithfulness_report"]
