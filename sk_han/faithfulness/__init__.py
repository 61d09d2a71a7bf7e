"""Whether the words that an explanation names are the words that the model decided by."""

from sk_han.faithfulness.measuring import faithfulness_report
from sk_han.faithfulness.report import FaithfulnessReport

__all__ = ["FaithfulnessReport", "faithfulness_report"]
