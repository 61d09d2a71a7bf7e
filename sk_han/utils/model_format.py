"""Stored state: the error for models that cannot be loaded, and the check of a pickle."""

from __future__ import annotations

from typing import Any

# Far beyond what training finds. Products of two such weights or numbers of vectors, and sums of
# these, stay within single precision, so that no finite weights in a file predict NaN.
LARGEST_NUMBER = 1e12


class ModelFormatError(ValueError):
    """Raised for a stored model that is damaged, of a newer format, or no model at all."""


def checked_state(state: Any, estimator: Any, *, newest: int) -> dict[str, Any]:
    """Check the state of a pickle; return it without its format, and with defaults it lacks."""
    # scikit-learn compares versions for its own estimators only.
    name = type(estimator).__name__
    if not isinstance(state, dict) or type(state.get("_state_format")) is not int:
        raise ModelFormatError(
            f"The state of this {name} does not say its format: it is damaged, or was not "
            "made by sk_han; save it again with the installed sk_han."
        )
    state = type(estimator)().get_params(deep=False) | state
    found = state.pop("_state_format")
    if found > newest:
        raise ModelFormatError(
            f"This {name} was pickled in state format {found}; this release of sk_han "
            f"reads format {newest}. Install a newer sk_han to load it."
        )
    if found < newest:
        raise ModelFormatError(
            f"This {name} was pickled in state format {found}, and this release of sk_han reads "
            f"format {newest}. Load it with the release that pickled it, write a file with "
            "sk_han.save, and read that with sk_han.load, which takes files of all releases."
        )
    return state
