"""Print what became of each of scikit-learn's estimator checks: `make checks`."""

from __future__ import annotations

import os
import sys
import warnings
from collections import Counter

import sklearn
from sklearn.utils.estimator_checks import check_estimator

from tests.row_documents import explained_failures, row_estimators

# What scikit-learn calls the outcome of a check, and what the table does.
STATUS = {"passed": "passed", "xfail": "explained", "skipped": "skipped", "failed": "FAILED"}


def results_of(estimator):
    """Run all checks."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The labels hold a single class")
        return check_estimator(
            estimator,
            expected_failed_checks=explained_failures(estimator),
            on_skip=None,
            on_fail=None,
        )


def table(results):
    """Give a line for each check, with what went wrong or why that is right, and a sum."""
    lines = []
    for result in results:
        is_right = result["status"] == "xfail"
        note = result["expected_to_fail_reason"] if is_right else str(result["exception"] or "")
        first = note.strip().partition("\n")[0]
        lines.append(f"  {STATUS[result['status']]:9}  {result['check_name']}  {first}".rstrip())
    counts = Counter(STATUS[result["status"]] for result in results)
    total = ", ".join(f"{counts[status]} {status}" for status in STATUS.values())
    return "\n".join([*lines, f"{len(results)} checks: {total}"])


def main():
    """Print the table of each estimator; the exit status says whether all checks hold."""
    os.environ["SCIPY_ARRAY_API"] = "1"  # else a check skips itself
    all_hold = True
    for estimator in row_estimators():
        of = type(estimator).__mro__[1].__name__
        print(f"\n{of} on rows of numbers, scikit-learn {sklearn.__version__}")
        results = results_of(estimator)
        print(table(results))
        all_hold &= all(result["status"] in ("passed", "xfail") for result in results)
    return 0 if all_hold else 1


if __name__ == "__main__":
    sys.exit(main())
