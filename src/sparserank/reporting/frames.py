"""Tables for users: pandas frames if pandas is installed, otherwise Arrow tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def frame_of(rows: Sequence[Mapping[str, Any]]) -> Any:
    """A table of rows with the same columns."""
    try:
        import pandas as pd
    except ImportError:
        from sparserank.arrow import pa

        return pa.Table.from_pylist(list(rows))
    return pd.DataFrame.from_records(list(rows))
