"""Attributes that are computed on first access."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

if sys.version_info >= (3, 12):
    from functools import cached_property
else:
    T = TypeVar("T")

    class cached_property(Generic[T]):
        """functools.cached_property without the lock that it has before Python 3.12, which all instances share and a
        forked child may inherit locked. Two threads may both compute the value; of the equal results, one stays."""

        def __init__(self, function: Callable[[Any], T]) -> None:
            self.function = function
            self.__doc__ = function.__doc__

        def __set_name__(self, owner: type, name: str) -> None:
            self.name = name

        @overload
        def __get__(self, instance: None, owner: type) -> cached_property[T]: ...
        @overload
        def __get__(self, instance: object, owner: type | None = None) -> T: ...
        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            if instance is None:
                return self
            value = self.function(instance)
            return instance.__dict__.setdefault(self.name, value)


__all__ = ["cached_property"]
