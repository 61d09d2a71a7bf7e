"""Every private or version-dependent import of scikit-learn and skorch, in one place."""

from __future__ import annotations

from typing import Any

# scikit-learn 1.6 to 1.9: parameter validation and rows of any table, public in behaviour, private
# in name.
from sklearn.base import _fit_context as fit_context
from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    RealNotInt,
    StrOptions,
    validate_parameter_constraints,
)

# scikit-learn 1.6 to 1.9: recommended to third parties, but still with an underscore.
from sklearn.utils.validation import _check_sample_weight as check_sample_weight

from sk_han.options import Choice, Range

try:
    from sklearn.utils._repr_html.estimator import _VisualBlock as VisualBlock
except ImportError:  # scikit-learn 1.6
    from sklearn.utils._estimator_html_repr import _VisualBlock as VisualBlock

try:
    # scikit-learn 1.9: experimental, so it may change without a deprecation.
    from sklearn.callback import CallbackSupportMixin
except ImportError:

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Replacement for scikit-learn's class in releases without callbacks."""

        def _init_callback_context(self, **kwargs: Any) -> _NoTask:
            return _NoTask()

    class _NoTask:
        def subcontext(self, **kwargs: Any) -> _NoTask:
            return self

        def call_on_fit_task_begin(self, **kwargs: Any) -> _NoTask:
            return self

        def call_on_fit_task_end(self, **kwargs: Any) -> bool:
            return False


__all__ = [
    "CallbackSupportMixin",
    "HasMethods",
    "Interval",
    "RealNotInt",
    "StrOptions",
    "VisualBlock",
    "check_sample_weight",
    "fit_context",
    "of_option",
    "validate_parameter_constraints",
]


def of_option(constraint: Choice | Range) -> list[Any]:
    """Return scikit-learn's constraints that are equal to that of an option."""
    if isinstance(constraint, Range):
        closed = "left" if constraint.includes_low else "neither"
        high = None if constraint.high == float("inf") else constraint.high
        return [Interval(constraint.kind, constraint.low, high, closed=closed)]
    return [StrOptions(set(constraint.values)), *constraint.classes]
