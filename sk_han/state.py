"""What a stored estimator must hold: the check of a pickle's state, and the error for bad files."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from sklearn.base import BaseEstimator

__all__ = ["ModelFormatError", "checked_state"]


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
        none such, get its defaults.
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
    state = type(estimator)().get_params(deep=False) | state
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
