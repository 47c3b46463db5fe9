"""What a collection of Dask is; imports nothing."""

from __future__ import annotations

from typing import Any


def is_dask(source: Any) -> bool:
    """Whether it is a collection of Dask, whose values are somewhere else or not computed yet."""
    return hasattr(source, "__dask_graph__") and hasattr(source, "compute")
