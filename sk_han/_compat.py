"""Every private or version-dependent import of scikit-learn and skorch, in one place."""

# scikit-learn 1.6 to 1.9: parameter validation is public in behaviour, private in name.
from sklearn.base import _fit_context as fit_context
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

# scikit-learn 1.6 to 1.9: third parties are told to use it, but it keeps its underscore.
from sklearn.utils.validation import _check_sample_weight as check_sample_weight

__all__ = ["HasMethods", "Interval", "StrOptions", "check_sample_weight", "fit_context"]
