"""Lazy loading of public names (PEP 562), as declared in the stub that type checkers read."""

from __future__ import annotations

import ast
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from sys import modules
from typing import Any


def attach(
    package: str, file: str
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Create `__getattr__`, `__dir__` and `__all__` for a package, from the exports of its stub.

    The stub is next to `file` and consists of imports such as ``from a import B as B``. Imports
    from the package itself are its modules, which `__all__` leaves out.
    """
    tree = ast.parse(Path(file).with_suffix(".pyi").read_text("utf-8"))
    home = {
        alias.name: node.module
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }

    def getattribute(name: str) -> Any:
        if name not in home:
            # With name and obj, Python appends "Did you mean".
            message = f"module {package!r} has no attribute {name!r}"
            raise AttributeError(message, name=name, obj=modules[package])
        if home[name] == package:
            return import_module(f"{package}.{name}")
        value = getattr(import_module(str(home[name])), name)
        setattr(modules[package], name, value)
        return value

    def directory() -> list[str]:
        special = (name for name in vars(modules[package]) if name.startswith("__"))
        return sorted({*special, *home})

    return getattribute, directory, sorted(name for name in home if home[name] != package)
