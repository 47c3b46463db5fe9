"""What parameters may be: each check raises one sentence that names parameter, range and value."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Integral
from typing import Any

from sparserank.errors import ParameterError
from sparserank.quoting import brief


def check_choice(name: str, value: Any, choices: Sequence[str]) -> None:
    if value not in choices:
        raise ParameterError(name, f"must be one of {', '.join(choices)}; got {brief(value)}.")


def check_count(name: str, value: Any, least: int, most: int = 2**63 - 1) -> None:
    if isinstance(value, bool) or not isinstance(value, Integral) or not least <= int(value) <= most:
        upper = "" if isinstance(value, Integral) and int(value) < least else f" and <= {most}"
        raise ParameterError(name, f"must be an integer >= {least}{upper}; got {brief(value)}.")


def check_real(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ParameterError(name, f"must be a number; got {brief(value)}.")
    return float(value)


def check_number(name: str, value: Any, above: float, below: float) -> None:
    if not above < check_real(name, value) < below:
        upper = " and finite" if math.isinf(below) else f" and < {below:g}"
        raise ParameterError(name, f"must be > {above:g}{upper}; got {brief(value)}.")
