"""Every private or version-dependent import of scikit-learn and skorch, in one place."""

from __future__ import annotations

from typing import Any

# scikit-learn 1.6 to 1.9: parameter validation is public in behaviour, private in name.
from sklearn.base import _fit_context as fit_context
from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    RealNotInt,
    StrOptions,
    validate_parameter_constraints,
)

# scikit-learn 1.6 to 1.9: third parties are told to use it, but it keeps its underscore.
from sklearn.utils.validation import _check_sample_weight as check_sample_weight

try:
    # scikit-learn 1.9: experimental, so it may change without a deprecation.
    from sklearn.callback import CallbackSupportMixin
except ImportError:

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stand in for scikit-learn's class where there are no callbacks to tell of a fit."""

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
    "check_sample_weight",
    "fit_context",
    "validate_parameter_constraints",
]
