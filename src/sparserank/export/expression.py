"""A model as an arithmetic expression, in whatever words a language has for variables, logarithms and clipping."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sparserank.data.transforms import ASINH, LOG
from sparserank.errors import DataError
from sparserank.export.terms import Sum, Term
from sparserank.quoting import brief

SIMPLE = re.compile(r"[\w.$]+|[\w.$]+\([^()]*\)")  # needs no brackets


@dataclass(frozen=True)
class Dialect:
    """The words of a language; each takes and gives text.

    variable   of our name of a feature; raises DataError where the language has no such variables
    log        sign(x) log(1 + |x|)
    asinh      of x over a constant > 0
    clip       x between two numbers
    exp        e^x
    """

    engine: str
    variable: Callable[[str], str]
    log: Callable[[str], str]
    asinh: Callable[[str, str], str]
    clip: Callable[[str, str, str], str]
    exp: Callable[[str], str] = lambda x: f"exp({x})"


def number(value: float) -> str:
    """The shortest text that is read as this number; in brackets if negative."""
    text = repr(float(value))
    return f"({text})" if value < 0 else text


def expression(
    of: Sum, dialect: Dialect, features: Mapping[str, Any] | None = None, offset: float = 0.0, sigmoid: bool = False
) -> str:
    """The constant + offset + a line for each term, the whole in brackets; through 1 / (1 + e^-x) with `sigmoid`.

    Parameters
        features   {our name: expression of the engine} for some features; the others have the variables of their names
    """
    constant = of.constant + offset
    lines = [number(constant)] if constant else []
    lines += [line for term in of.terms for line in _lines(term, dialect, _value(term, dialect, features or {}))]
    inner = "\n  + ".join(lines)
    if sigmoid:
        return f"1.0 / (1.0 + {dialect.exp(f'-({inner})')})\n"
    return f"(\n    {inner}\n)\n"


def _lines(term: Term, dialect: Dialect, x: str) -> list[str]:
    t = dialect.log(x) if term.kind == LOG else dialect.asinh(x, number(term.constant)) if term.kind == ASINH else x
    if term.curve is None:
        return [f"{number(term.slope)} * {t}"]
    return [
        f"{number(slope)} * ({dialect.clip(t, number(low), number(high))} - {number(low)})"
        for low, high, slope in term.pieces()
    ]


def _value(term: Term, dialect: Dialect, features: Mapping[str, Any]) -> str:
    if term.name not in features:
        return dialect.variable(term.name)
    given = features[term.name]
    if not isinstance(given, str) or not given.strip():
        raise DataError(
            f"features: {brief(term.name)} must be an expression of {dialect.engine} as text; got {brief(str(given))}."
        )
    return given if SIMPLE.fullmatch(given.strip()) else f"({given})"


def check_offset(offset: float) -> None:
    """Raises DataError unless it is a finite number."""
    if isinstance(offset, bool) or not isinstance(offset, int | float) or not math.isfinite(offset):
        raise DataError(f"offset must be a finite number; got {brief(str(offset))}.")
