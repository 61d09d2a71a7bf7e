"""Import of optional packages, with an error that names the command to install them."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def import_optional(name: str, extra: str | None, caller: str) -> Any:
    """Import a package of an extra of sk-han, or name the command that installs it."""
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
