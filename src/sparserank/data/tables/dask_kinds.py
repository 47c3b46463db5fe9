"""Recognise Dask collections without importing Dask."""

from __future__ import annotations

from typing import Any


def is_dask(source: Any) -> bool:
    """Whether the source is a Dask collection, whose values are elsewhere or not yet computed."""
    return hasattr(source, "__dask_graph__") and hasattr(source, "compute")
