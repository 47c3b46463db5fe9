"""Code shared by languages that write a model as an expression: transforms, conditionals, missing values."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass

from sparserank.export.terms import MISSING_FROM

IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")


SMALL, LARGE, LOG2 = "0.0001", "1e8", repr(math.log(2.0))  # where log(1 + x) would lose digits, and x * x + 1 its 1


def between(x: str, t: str, ends: tuple[str, str], values: tuple[str, str]) -> str:
    return f"max(min({t}, {values[1]}), {values[0]})"


@dataclass(frozen=True)
class Words:
    """Syntax of a language for transforms; signed: (x, f(|x|)) as sign(x) f(|x|)."""

    ln: str
    size: str
    one: str
    choice: Callable[[str, str, str], str]
    signed: Callable[[str, str], str]

    def log(self, x: str, fine: bool) -> str:
        size = f"{self.size}({x})"
        whole = self.signed(x, f"{self.ln}({self.one} + {size})")
        series = f"{x} * ({self.one} - {size} * (3 - 2 * {size}) / 6)"
        return self.choice(f"{size} < {SMALL}", series, whole) if fine else whole

    def asinh(self, x: str, c: str, fine: bool) -> str:
        z = f"({x} / {c})"
        size = f"{self.size}{z}"
        near = f"{self.ln}({size} + sqrt({z} * {z} + {self.one}))"
        whole = self.signed(z, self.choice(f"{size} < {LARGE}", near, f"({self.ln}({size}) + {LOG2})"))
        return self.choice(f"{size} < {SMALL}", f"{z} - {z} * {z} * {z} / 6", whole) if fine else whole


def by_choice(choice: Callable[[str, str, str], str]) -> Callable[[str, str], str]:
    return lambda x, of_size: choice(f"{x} < 0", f"-({of_size})", of_size)


def given_or_nan(choice: Callable[[str, str, str], str], size: str) -> Callable[[str, str, str | None], str]:
    """NaN as the score of a missing value without a fill value: for every x, the square root of a number below 0."""

    def given(x: str, value: str, other: str | None) -> str:
        nothing = f"sqrt(-1 - {size}({x}))"
        return choice(f"{size}({x}) < {MISSING_FROM}", value, nothing if other is None else other)

    return given
