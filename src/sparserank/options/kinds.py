"""Kinds of option values: messages for invalid ones, the type that a command reads, and examples that are refused."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Integral
from operator import attrgetter
from typing import Any, Protocol

from sparserank.errors import DataError, ParameterError
from sparserank.number_checks import LARGEST, SMALLEST, as_real
from sparserank.text import brief

LARGEST_COUNT = 10**9


class Kind(Protocol):
    """Values that an option may have.

    command   the type that a command reads
    """

    @property
    def command(self) -> str: ...

    def problem(self, value: Any) -> str:
        """The problem with a value, as the text after the option's name: 'must be ...; got 0.'; "" if there is none."""
        ...

    def plain(self, value: Any) -> Any:
        """A valid value as a plain number or flag."""
        ...

    @property
    def refused(self) -> tuple[Any, ...]:
        """Examples of values that are refused; tests try them on every option."""
        ...


@dataclass(frozen=True)
class Count:
    """Whole numbers."""

    least: int = 1
    most: int = LARGEST_COUNT
    command = "int"

    def plain(self, value: Any) -> Any:
        return int(value)

    def problem(self, value: Any) -> str:
        whole = isinstance(value, Integral) and not isinstance(value, bool)
        if whole and self.least <= int(value) <= self.most:
            return ""
        if self.most == self.least + 1:
            return f"must be {self.least} or {self.most}; got {brief(value)}."
        upper = f" and <= {self.most}" if whole and int(value) > self.most else ""
        return f"must be an integer >= {self.least}{upper}; got {brief(value)}."

    @property
    def refused(self) -> tuple[Any, ...]:
        return (self.least - 1, self.most + 1, 10**30, 2.5, "three", True, float("nan"), (1,))


@dataclass(frozen=True)
class Number:
    """Real numbers: 0, or between 1e-100 and 1e100 in size, so that squares and products stay in floating point."""

    above: float | None = None
    least: float | None = None
    below: float | None = None
    most: float | None = None
    command = "float"

    def plain(self, value: Any) -> Any:
        return float(value)

    def problem(self, value: Any) -> str:
        number = as_real(value)
        inside = math.isfinite(number) and not (
            (self.above is not None and number <= self.above)
            or (self.least is not None and number < self.least)
            or (self.below is not None and number >= self.below)
            or (self.most is not None and number > self.most)
        )
        if not inside:
            return f"must be {self._range}; got {brief(value)}."
        if number != 0 and not SMALLEST <= abs(number) <= LARGEST:
            return f"must lie within {SMALLEST:g} ... {LARGEST:g}; got {number:g}."
        return ""

    @property
    def _range(self) -> str:
        lower = (
            f"> {self.above:g}" if self.above is not None else f">= {self.least:g}" if self.least is not None else ""
        )
        upper = f"< {self.below:g}" if self.below is not None else f"<= {self.most:g}" if self.most is not None else ""
        if upper:
            return f"{lower} and {upper}"
        return f"finite and {lower}" if self.above is not None else f"{lower} and finite"

    @property
    def refused(self) -> tuple[Any, ...]:
        edges = [v for v in (self.above, self.below) if v is not None]
        beyond = [v for v in (self.least and self.least - 1, self.most and 2 * self.most) if v]
        return (*edges, *beyond, -1.0, 1e-200, 1e200, float("nan"), float("inf"), 10**400, "many", True, (1.0,))


@dataclass(frozen=True)
class Choice:
    """One of several words."""

    words: Sequence[str]
    command = "str"

    def plain(self, value: Any) -> Any:
        return str(value)

    def problem(self, value: Any) -> str:
        known = isinstance(value, str) and value in self.words
        return "" if known else f"must be one of {', '.join(self.words)}; got {brief(value)}."

    @property
    def refused(self) -> tuple[Any, ...]:
        return ("", "nothing", self.words[0].upper() + "x", 3, True, None, (self.words[0],))


@dataclass(frozen=True)
class Flag:
    """Yes or no."""

    command = "bool"

    def plain(self, value: Any) -> Any:
        return bool(value)

    def problem(self, value: Any) -> str:
        return "" if is_flag(value) else f"must be True or False; got {brief(value)}."

    @property
    def refused(self) -> tuple[Any, ...]:
        return (2, "yes", None, (True,))


@dataclass(frozen=True)
class Or:
    """A fixed word (or None), or a value of another kind."""

    word: str | None
    kind: Kind

    @property
    def command(self) -> str:
        return "str" if self.word is not None else f"{self.kind.command} | None"

    def plain(self, value: Any) -> Any:
        return value if value is None or (isinstance(value, str) and value == self.word) else self.kind.plain(value)

    def problem(self, value: Any) -> str:
        if (value is None or isinstance(value, str)) and value == self.word:
            return ""
        problem = self.kind.problem(value)
        if problem and self.word is None:
            return problem.replace("; got", " or None; got", 1)
        if problem:
            told = self.kind.problem(float("nan")).partition("; got")[0].removeprefix("must be ")
            return f"must be {self.word!r} or {told}; got {brief(value)}."
        return problem

    @property
    def refused(self) -> tuple[Any, ...]:
        return tuple(v for v in self.kind.refused if v != self.word)


@dataclass(frozen=True)
class Parsed:
    """A name that is parsed, or the object that it names; with `several`, one of these or a sequence.

    parse   the function, or 'module:function' of one whose module is imported when a value is checked
    """

    parse: str | Callable[[Any], Any]
    several: bool = False
    refused: tuple[Any, ...] = ("nothing", "nothing(3)", 3.5, float("nan"), b"l1")

    @property
    def command(self) -> str:
        return "list[str]" if self.several else "str"

    def plain(self, value: Any) -> Any:
        return value

    def problem(self, value: Any) -> str:
        parse = _function(self.parse)
        for one in value if self.several and not isinstance(value, str) and isinstance(value, Sequence) else (value,):
            try:
                parse(one)
            except DataError as error:
                if isinstance(error, ParameterError) and not (error.owner or error.message.startswith("unknown ")):
                    return error.message
                return f"cannot be parsed: {error}"
        return ""


@dataclass(frozen=True)
class Given:
    """Values that are checked when they are used: files, arrays, mappings, functions. path: a string is a path."""

    command: str = ""
    path: bool = False
    refused = ()

    def plain(self, value: Any) -> Any:
        return value

    def problem(self, value: Any) -> str:
        if self.path and isinstance(value, str) and (not value or "\0" in value):
            return f"cannot be {brief(value)}: no file has this name."
        return ""


def is_flag(value: Any) -> bool:
    """Whether a value is True or False, of Python or of NumPy, which is not imported for this."""
    return type(value).__name__ in ("bool", "bool_")


def _function(named: str | Callable[[Any], Any]) -> Callable[[Any], Any]:
    if not isinstance(named, str):
        return named
    module, _, name = named.partition(":")
    parse: Callable[[Any], Any] = attrgetter(name)(importlib.import_module(f"sparserank.{module}"))
    return parse
