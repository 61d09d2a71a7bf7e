"""What a stored estimator must hold: the check of a pickle's state, and the error for bad files."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from sklearn.base import BaseEstimator

__all__ = ["ModelFormatError", "checked_state", "params_of_earlier_releases"]

# What a parameter was before there was one, where that is not its default.
_BEFORE_THERE_WAS_ONE = {"HANClassifier": {"adversarial_noise": 0.0}}


class ModelFormatError(ValueError):
    """A stored model is damaged, of a newer format, or no model at all."""


def checked_state(
    state: Any, estimator: BaseEstimator, *, newest: int, fitted: Collection[str]
) -> dict[str, Any]:
    """Check the state that a pickle hands to an estimator.

    scikit-learn compares versions for its own estimators only, so each of ours writes the format
    of its state under ``"_state_format"``.

    Parameters
    ----------
    state : dict
    estimator : HANClassifier or HierarchicalTokenizer
        The one that is restored. Parameters that the state lacks, since an earlier release had
        none such, get what they were then.
    newest : int
        Newest format that this release reads.
    fitted : collection of str
        Names of what `fit` adds, of which all or nothing must be there.

    Returns
    -------
    dict of str to object
        A copy without the format.

    Raises
    ------
    ModelFormatError
        If the format is newer or missing, or a part of what `fit` adds is missing.
    """
    name = type(estimator).__name__
    repair = "save it again with the installed sk_han."
    if not isinstance(state, dict) or type(state.get("_state_format")) is not int:
        raise ModelFormatError(
            f"The state of this {name} does not say its format: it is damaged, or was not "
            f"made by sk_han; {repair}"
        )
    state = params_of_earlier_releases(type(estimator)) | state
    found = state.pop("_state_format")
    if found > newest:
        raise ModelFormatError(
            f"This {name} was pickled in state format {found}; this release of sk_han "
            f"reads formats up to {newest}. Install a newer sk_han to load it."
        )
    missing = [part for part in fitted if part not in state]
    if 0 < len(missing) < len(fitted):
        raise ModelFormatError(
            f"The state of this {name} lacks {missing}: it is damaged, or of another release "
            f"of sk_han; {repair}"
        )
    return state


def params_of_earlier_releases(cls: type[BaseEstimator]) -> dict[str, Any]:
    """Give what the parameters of an estimator are where a stored one does not say."""
    params: dict[str, Any] = cls().get_params(deep=False)
    return params | _BEFORE_THERE_WAS_ONE.get(cls.__name__, {})
