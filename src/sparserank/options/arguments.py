"""Check the arguments of public functions: types from their annotations, ranges from kinds.

`check_arguments(function, locals())` is the first line of a public function, so that the code after it never gets a
value of another type.
"""

from __future__ import annotations

import functools
import os
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np

from sparserank.errors import ParameterError
from sparserank.number_checks import finite_numbers
from sparserank.options.kinds import Kind
from sparserank.text import brief

_WORDS: dict[Any, str] = {
    bool: "True or False",
    int: "an integer",
    float: "a number",
    str: "a string",
    os.PathLike: "a path",
}
_WORDS |= {Mapping: "a mapping", dict: "a mapping", Callable: "a function", np.ndarray: "an array", type(None): "None"}
_MANY = {str: "strings", os.PathLike: "paths", int: "integers", float: "numbers"}


def check_arguments(function: Any, arguments: Mapping[str, Any], **ranges: Kind) -> None:
    """Raise ParameterError for the first argument that is not of the type that its annotation names.

    Parameters
        function   a function, or a class whose fields are annotated
        arguments  {name: value}: the function's `locals()`, or the fields to check
        ranges     kinds of values that replace the annotations of some arguments
    """
    for name, kind in (_typed(function) | ranges).items():
        if name in arguments:
            problem = kind.problem(arguments[name])
            if problem:
                raise ParameterError(name, problem)


@dataclass(frozen=True)
class Typed(Kind):
    """Values of the type that an annotation names."""

    annotation: Any

    def problem(self, value: Any) -> str:
        if _fits(self.annotation, value):
            return ""
        many, wrong = _wrong_item(self.annotation, value)
        return f"must be {many or _described(self.annotation)}; got {brief(wrong if many else value)}."


LATER = Typed(Any)  # for an argument that the function itself checks, with a better message


@dataclass(frozen=True)
class Numbers(Kind):
    """One finite number for each of n things."""

    n: int
    of: str

    def problem(self, value: Any) -> str:
        if finite_numbers(value, self.n) is not None:
            return ""
        return f"must contain one finite number per {self.of} ({self.n}); got {brief(value)}."


@dataclass(frozen=True)
class Position(Kind):
    """A position among n things; negative ones count from the end."""

    n: int
    of: str

    def problem(self, value: Any) -> str:
        whole = isinstance(value, Integral) and not isinstance(value, bool)
        if whole and -self.n <= value < self.n:
            return ""
        return f"must be the number of a {self.of}, from 0 to {self.n - 1}; got {brief(value)}."


@dataclass(frozen=True)
class Positions(Kind):
    """Positions, from 0, among n things; with `masks`, also one bool for each of these."""

    n: int
    of: str
    masks: bool = False

    def problem(self, value: Any) -> str:
        try:
            at = np.asarray(value)
        except (TypeError, ValueError):
            at = np.asarray(None)
        whole = at.ndim == 1 and (at.dtype.kind in "iu" or at.size == 0)
        if whole and (at.size == 0 or (-self.n <= at.min() and at.max() < self.n)):
            return ""
        if self.masks and at.dtype == bool and at.shape == (self.n,):
            return ""
        mask = f", or one bool per {self.of}" if self.masks else ""
        return f"must be a list of {self.of} numbers, from 0 to {self.n - 1}{mask}; got {brief(value)}."


@functools.cache
def _typed(function: Any) -> dict[str, Kind]:
    if isinstance(function, type):
        return {name: Typed(hint) for name, hint in typing.get_type_hints(function).items()}
    annotations = {name: hint for name, hint in function.__annotations__.items() if name != "return"}
    annotated = types.SimpleNamespace(__annotations__=annotations)
    return {name: Typed(hint) for name, hint in typing.get_type_hints(annotated, function.__globals__).items()}


def _fits(hint: Any, value: Any) -> bool:
    origin = typing.get_origin(hint)
    inner = typing.get_args(hint)
    if hint is Any or origin in (typing.Unpack, typing.ClassVar):
        return True
    if origin in (typing.Union, types.UnionType):
        if os.PathLike in inner and isinstance(value, str) and (not value or "\0" in value):
            return False
        return any(_fits(one, value) for one in inner)
    if hint is bool:
        return isinstance(value, bool | np.bool_)
    if hint in (int, float):
        return isinstance(value, Integral if hint is int else Real) and not isinstance(value, bool) and _in_range(value)
    if (origin or hint) is Callable:
        return callable(value)
    if np.ndarray in (origin, hint):
        return is_array_like(value)
    if origin in (Sequence, list, tuple):
        every = inner[0] if inner else Any
        exact = None if every is int else every  # values of type int need the check of their range
        return is_array_like(value) and all(type(one) is exact or _fits(every, one) for one in value)
    if origin in (Mapping, dict):
        keys, values = inner or (Any, Any)
        return isinstance(value, Mapping) and all(_fits(keys, k) and _fits(values, v) for k, v in value.items())
    if origin is type:
        return isinstance(value, type) and issubclass(value, inner[0])
    kind = origin or hint
    if getattr(kind, "_is_protocol", False):
        return all(hasattr(value, name) for name in vars(kind) if not name.startswith("_"))
    return isinstance(value, kind)


def _wrong_item(hint: Any, value: Any) -> tuple[str, Any]:
    """(the required type of items, the first item of another type) of a list; ("", None) if the type requires no list,
    or the value is none."""
    for one in (hint, *typing.get_args(hint)):
        inner = typing.get_args(one)
        if typing.get_origin(one) in (Sequence, list, tuple) and inner and _fits(Sequence[Any], value):
            wrong = next((item for item in value if not _fits(inner[0], item)), None)
            return _many(inner[0]), wrong
    return "", None


def is_array_like(value: Any) -> bool:
    """Whether a value is a sequence or an array, but not a string or a NumPy scalar."""
    if isinstance(value, str | bytes) or getattr(value, "ndim", 1) == 0:
        return False
    return isinstance(value, Sequence) or hasattr(value, "__array__")


def _in_range(number: Any) -> bool:
    """Whether a number fits into 64 bits."""
    try:
        return -(2**63) <= int(number) < 2**63 if isinstance(number, Integral) else float(number) is not None
    except OverflowError:
        return False


def _described(hint: Any) -> str:
    origin = typing.get_origin(hint)
    inner = typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        words = list(dict.fromkeys(_described(one) for one in inner if one is not str or os.PathLike not in inner))
        return f"{', '.join(words[:-1])} or {words[-1]}" if len(words) > 1 else words[0]
    if origin in (Sequence, list, tuple):  # 'a list of paths' for Sequence[str | os.PathLike]
        many = _many(inner[0] if inner else Any)
        return f"a list of {many}" if many else "a list"
    kind = origin or hint
    for known, word in _WORDS.items():
        if known is kind:
            return word
    return f"{'an' if kind.__name__[0] in 'AEIOU' else 'a'} {kind.__name__}"


def _many(every: Any) -> str:
    """The plural for a type in messages, such as 'paths' for str | os.PathLike; "" if there is none."""
    parts = typing.get_args(every) or (every,)
    named = os.PathLike if os.PathLike in parts else every
    return _MANY.get(named) or (f"{named.__name__} objects" if isinstance(named, type) else "")
