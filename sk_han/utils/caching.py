"""Attributes that are computed when they are first read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

_Value = TypeVar("_Value")


class cached_property(Generic[_Value]):  # noqa: N801  (a decorator, as functools.cached_property)
    """Compute an attribute when it is first read, and keep it, without a lock.

    Before Python 3.12 that of `functools` has a lock that all instances share: threads wait for
    each other, and a process that is forked while another thread holds it waits for ever. Without
    it two threads may compute the value at the same time; both get the same object.
    """

    def __init__(self, function: Callable[[Any], _Value]) -> None:
        self.function = function
        self.__doc__ = function.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> cached_property[_Value]: ...

    @overload
    def __get__(self, instance: object, owner: type) -> _Value: ...

    def __get__(self, instance: object | None, owner: type) -> cached_property[_Value] | _Value:
        if instance is None:
            return self
        value: _Value = vars(instance).setdefault(self.name, self.function(instance))
        return value
