"""What a stored estimator must hold: the check of a pickle's state, and the error for bad files."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

__all__ = ["ModelFormatError", "checked_state"]


class ModelFormatError(ValueError):
    """A stored model is damaged, of a newer format, or no model at all."""


def checked_state(
    state: Any, estimator: str, *, newest: int, params: Iterable[str], fitted: Iterable[str]
) -> dict[str, Any]:
    """Check the state that a pickle hands to an estimator.

    scikit-learn compares versions for its own estimators only, so each of ours writes the format
    of its state under ``"_state_format"``.

    Parameters
    ----------
    state : dict
    estimator : str
        Name of the class, for messages.
    newest : int
        Newest format that this release reads.
    params, fitted : iterable of str
        Names of the parameters, which must be there, and of what `fit` adds, of which all or
        nothing must be there.

    Returns
    -------
    dict of str to object
        A copy without the format.

    Raises
    ------
    ModelFormatError
        If the format is newer or missing, or something else is missing.

    Examples
    --------
    >>> from sk_han.state import checked_state
    >>> checked_state({"_state_format": 1, "lr": 0.1}, "Model", newest=1, params=["lr"], fitted=[])
    {'lr': 0.1}
    >>> checked_state({"_state_format": 1}, "Model", newest=1, params=["lr"], fitted=[])
    Traceback (most recent call last):
    sk_han.state.ModelFormatError: The state of this Model lacks ['lr']: it is damaged, or ...
    """
    repair = "save it again with the installed sk_han."
    if not isinstance(state, dict) or type(state.get("_state_format")) is not int:
        raise ModelFormatError(
            f"The state of this {estimator} does not say its format: it is damaged, or was not "
            f"made by sk_han; {repair}"
        )
    state = dict(state)
    found = state.pop("_state_format")
    if found > newest:
        raise ModelFormatError(
            f"This {estimator} was pickled in state format {found}; this release of sk_han "
            f"reads formats up to {newest}. Install a newer sk_han to load it."
        )
    missing = [name for name in params if name not in state]
    missing_fitted = [name for name in fitted if name not in state]
    if len(missing_fitted) < len(list(fitted)):
        missing += missing_fitted
    if missing:
        raise ModelFormatError(
            f"The state of this {estimator} lacks {missing}: it is damaged, or of another release "
            f"of sk_han; {repair}"
        )
    return state
