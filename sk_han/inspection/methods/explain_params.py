"""The parameters of `explain`: their names, defaults and checks, declared once."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

from sk_han.inspection.methods.by_name import METHODS
from sk_han.inspection.results.document import COMBINATIONS
from sk_han.utils.argument_checks import check_choice, check_count

_FunctionT = TypeVar("_FunctionT", bound=Callable[..., Any])


@dataclass(frozen=True, kw_only=True)
class How:
    """How contributions are found; `sk_han.explain` says what each parameter means."""

    method: str = "shapley"
    combine: str = "product"
    batch_size: int | None = None
    random_state: Any = None

    @classmethod
    def checked(cls, given: Mapping[str, Any]) -> How:
        """Check what a user has given."""
        names = [field.name for field in fields(cls)]
        for name in given:
            if name not in names:
                raise TypeError(
                    f"explain() got an unexpected keyword argument {name!r}; of how to explain it "
                    f"takes {', '.join(names)}."
                )
        how = cls(**given)
        check_choice("method", how.method, METHODS)
        check_choice("combine", how.combine, COMBINATIONS)
        if how.batch_size is not None:
            check_count("batch_size", how.batch_size)
            how = replace(how, batch_size=int(how.batch_size))
        return how


def takes_how(function: _FunctionT) -> _FunctionT:
    """Put the parameters of `How` into the signature of a function that takes ``**how``."""
    *own, _ = inspect.signature(function).parameters.values()
    how = inspect.signature(How).parameters.values()
    function.__signature__ = inspect.Signature([*own, *how])  # type: ignore[attr-defined]
    return function
