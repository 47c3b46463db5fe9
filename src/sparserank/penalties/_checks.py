"""Checks of numbers in user input."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from sparserank.errors import ParameterError
from sparserank.number_checks import as_real
from sparserank.text import brief


def real_number(owner: str, name: str, value: Any) -> float:
    """`value` as a float, infinity included.

    Raises
        DataError   not a real number: strings, booleans, sequences, NaN, integers beyond the range of floats
    """
    number = as_real(value)
    if number == number:
        return number
    raise ParameterError(name, f"must be a number; got {brief(value)}.", owner=owner)


def plain_numbers(owner: str, name: str, values: Any) -> tuple[float, ...]:
    """A tuple of Python floats, infinity included; DataError for anything else."""
    values = sequence(owner, name, values)
    if set(map(type, values)) <= {float}:
        return values
    return tuple(real_number(owner, f"each of {name}", v) for v in values)


def sequence(owner: str, name: str, values: Any) -> tuple[Any, ...]:
    if isinstance(values, str | bytes) or not isinstance(values, Iterable) or np.ndim(values) == 0:  # type: ignore[arg-type]
        raise ParameterError(name, f"must be a tuple of numbers or feature names; got {brief(values)}.", owner=owner)
    return tuple(values)
