"""Import of optional packages, with an error that names the command to install them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["import_optional"]


def import_optional(name: str, extra: str | None, caller: str) -> Any:
    """Import an optional package, or raise an error with the command to install it.

    Parameters
    ----------
    name : str
        Module to import; may be dotted.
    extra : str or None
        Extra of sk-han that installs it; None for a package of no extra.
    caller : str
        Public name of the function that needs it, for the message.

    Returns
    -------
    module

    Raises
    ------
    ModuleNotFoundError
        If the package is missing. A broken package raises its own error.

    Examples
    --------
    >>> from sk_han.utils.optional import import_optional
    >>> import_optional("json", "plot", "this example").dumps([1])
    '[1]'
    >>> import_optional("no_such_package", "plot", "DocumentExplanation.plot")
    Traceback (most recent call last):
    ModuleNotFoundError: DocumentExplanation.plot needs no_such_package: pip install "sk-han[plot]"
    """
    package = name.partition(".")[0]
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name != package:
            raise
        install = f'"sk-han[{extra}]"' if extra else package
        raise ModuleNotFoundError(
            f"{caller} needs {package}: pip install {install}", name=package
        ) from error
