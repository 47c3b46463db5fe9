"""Code shared by languages that write a model as an expression: transforms, conditionals, missing values."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass

from sparserank.export.expression import number
from sparserank.export.terms import MISSING_FROM

IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")


SMALL, LARGE = 1e-4, 1e8  # where log(1 + x) would lose digits, and x * x + 1 its 1


def between(x: str, t: str, ends: tuple[str, str], values: tuple[str, str]) -> str:
    return f"max(min({t}, {values[1]}), {values[0]})"


@dataclass(frozen=True)
class Words:
    """Syntax of a language for transforms; signed: (x, f(|x|)) as sign(x) f(|x|); number: a constant."""

    ln: str
    size: str
    one: str
    choice: Callable[[str, str, str], str]
    signed: Callable[[str, str], str]
    number: Callable[[float], str] = number

    def log(self, x: str, fine: bool) -> str:
        size = f"{self.size}({x})"
        whole = self.signed(x, f"{self.ln}({self.one} + {size})")
        series = f"{x} * ({self.one} - {size} * (3 - 2 * {size}) / 6)"
        return self.choice(f"{size} < {SMALL}", series, whole) if fine else whole

    def asinh(self, x: str, c: float, fine: bool) -> str:
        # z = x / c is computed only where |x| is small enough; far from 0, asinh(z) is log(2 z), of x and c apart.
        z, size = f"({x} / {self.number(c)})", f"{self.size}({x})"
        small, large = (self.number(min(c * bound, sys.float_info.max)) for bound in (SMALL, LARGE))
        near = f"{self.ln}({self.size}{z} + sqrt({z} * {z} + {self.one}))"
        far = f"({self.ln}({size}) + {self.number(math.log(2.0) - math.log(c))})"
        whole = self.signed(x, self.choice(f"{size} < {large}", near, far))
        return self.choice(f"{size} < {small}", f"{z} - {z} * {z} * {z} / 6", whole) if fine else whole


def by_choice(choice: Callable[[str, str, str], str]) -> Callable[[str, str], str]:
    return lambda x, of_size: choice(f"{x} < 0", f"-({of_size})", of_size)


def given_or_nan(choice: Callable[[str, str, str], str], size: str) -> Callable[[str, str, str | None], str]:
    """NaN as the score of a missing value without a fill value: for every x, the square root of a number below 0."""

    def given(x: str, value: str, other: str | None) -> str:
        nothing = f"sqrt(-1 - {size}({x}))"
        return choice(f"{size}({x}) < {MISSING_FROM}", value, nothing if other is None else other)

    return given
