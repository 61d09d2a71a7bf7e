"""Faithfulness: whether the words that an explanation names decided the prediction."""

from sk_han.inspection.faithfulness.measuring import faithfulness_report

__all__ = ["faithfulness_report"]
