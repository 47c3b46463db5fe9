"""Kinds of option values: messages for invalid ones, and the type that a command reads."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Integral
from operator import attrgetter, ge, gt, le, lt
from typing import Any

from sparserank.errors import DataError, ParameterError
from sparserank.number_checks import LARGEST, SMALLEST, as_real
from sparserank.text import brief

LARGEST_COUNT = 10**9


class Kind:
    """Values that an option may have."""

    @property
    def command(self) -> str:
        """The type of a value on the command line."""
        return ""

    def problem(self, value: Any) -> str:
        """The problem with a value, as the text after the option's name: 'must be ...; got 0.'; "" if there is none."""
        raise NotImplementedError

    def plain(self, value: Any) -> Any:
        """A valid value as a plain number or flag."""
        return value


@dataclass(frozen=True)
class Count(Kind):
    """Whole numbers in a range."""

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


@dataclass(frozen=True)
class Number(Kind):
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
        limits = {">": (self.above, gt), ">=": (self.least, ge), "<": (self.below, lt), "<=": (self.most, le)}
        set_limits = {sign: (limit, holds) for sign, (limit, holds) in limits.items() if limit is not None}
        if not math.isfinite(number) or not all(holds(number, limit) for limit, holds in set_limits.values()):
            texts = [f"{sign} {limit:g}" for sign, (limit, _) in set_limits.items()]
            if len(texts) == 1:
                texts.insert(">" not in set_limits, "finite")
            return f"must be {' and '.join(texts)}; got {brief(value)}."
        if number != 0 and not SMALLEST <= abs(number) <= LARGEST:
            return f"must lie within {SMALLEST:g} ... {LARGEST:g}; got {number:g}."
        return ""


@dataclass(frozen=True)
class Choice(Kind):
    """One of several words."""

    words: Sequence[str]
    command = "str"

    def plain(self, value: Any) -> Any:
        return str(value)

    def problem(self, value: Any) -> str:
        known = isinstance(value, str) and value in self.words
        return "" if known else f"must be one of {', '.join(self.words)}; got {brief(value)}."


@dataclass(frozen=True)
class Flag(Kind):
    """Yes or no."""

    command = "bool"

    def plain(self, value: Any) -> Any:
        return bool(value)

    def problem(self, value: Any) -> str:
        # NumPy is not imported for this check of its flags
        return "" if type(value).__name__ in ("bool", "bool_") else f"must be True or False; got {brief(value)}."


@dataclass(frozen=True)
class Or(Kind):
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
            requirement = self.kind.problem(float("nan")).partition("; got")[0].removeprefix("must be ")
            return f"must be {self.word!r} or {requirement}; got {brief(value)}."
        return problem


@dataclass(frozen=True)
class Parsed(Kind):
    """A name that is parsed, or the object that it names; with `several`, one of these or a sequence.

    parse   the function, or 'module:function' of one whose module is imported when a value is checked
    """

    parse: str | Callable[[Any], Any]
    several: bool = False

    @property
    def command(self) -> str:
        return "list[str]" if self.several else "str"

    def problem(self, value: Any) -> str:
        parse: Any = self.parse
        if isinstance(parse, str):
            module, _, name = parse.partition(":")
            parse = attrgetter(name)(importlib.import_module(f"sparserank.{module}"))
        for one in value if self.several and not isinstance(value, str) and isinstance(value, Sequence) else (value,):
            try:
                parse(one)
            except DataError as error:
                if isinstance(error, ParameterError) and not (error.owner or error.message.startswith("unknown ")):
                    return error.message
                return f"cannot be parsed: {error}"
        return ""


@dataclass(frozen=True)
class CheckedLater(Kind):
    """Values that are checked where they are used: files, arrays, mappings, functions. path: whether a string is a
    path."""

    command: str = ""
    path: bool = False

    def problem(self, value: Any) -> str:
        if self.path and isinstance(value, str) and (not value or "\0" in value):
            return f"cannot be {brief(value)}: no file has this name."
        return ""


# Kinds of many options.
COUNT_OR_NONE = Or(None, Count())
TEXT = CheckedLater("str | None")
TEXTS = CheckedLater("list[str] | None")
FILE = CheckedLater("Path | None", path=True)
