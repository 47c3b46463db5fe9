"""pyarrow, an optional dependency that only tables need, imported on first use; and tables returned to users."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from sparserank.errors import DataError

NEEDS_ARROW = (
    "tables and data frames (Parquet, CSV, Arrow, pandas) need pyarrow; install it with: "
    "pip install 'sparserank[tables]'"
)


def has_arrow() -> bool:
    """Whether pyarrow is installed."""
    try:
        import_module("pyarrow")
    except ImportError:
        return False
    return True


def require_arrow() -> None:
    """Raise DataError if pyarrow is not installed."""
    if not has_arrow():
        raise DataError(NEEDS_ARROW)


def frame_of(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Rows with the same columns as a table for users: a pandas frame, or an Arrow table if pandas is missing."""
    try:
        import pandas as pd
    except ImportError:
        return pa.Table.from_pylist(list(rows))
    return pd.DataFrame.from_records(list(rows))


class _Module:
    """A module that is imported at the first use of one of its names."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__"):  # asked by inspect and doctest
            raise AttributeError(attribute)
        try:
            value = getattr(import_module(self._name), attribute)
        except ImportError as error:
            raise DataError(NEEDS_ARROW) from error
        setattr(self, attribute, value)
        return value


if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import csv, types
    from pyarrow import dataset as ds
    from pyarrow import parquet as pq
else:
    pa = _Module("pyarrow")
    pc = _Module("pyarrow.compute")
    pq = _Module("pyarrow.parquet")
    csv = _Module("pyarrow.csv")
    ds = _Module("pyarrow.dataset")
    types = _Module("pyarrow.types")

__all__ = ["csv", "ds", "frame_of", "has_arrow", "pa", "pc", "pq", "require_arrow", "types"]
