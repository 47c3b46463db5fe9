"""Which variants of a test are slow: `make test` leaves them to `make test-slow`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def slow_but(quick: str, names: Iterable[str]) -> list[Any]:
    """Names as parameters, of which all but one are slow, because each compiles kernels of its own."""
    return [name if name == quick else pytest.param(name, marks=pytest.mark.slow) for name in names]
