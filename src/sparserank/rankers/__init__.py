"""Rankers: thin scikit-learn estimators. They are imported on first use, because importing scikit-learn takes a second
and the jobs need only the options of this package."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sparserank.rankers.sparse_ranker import RankSVM, SparseRanker
    from sparserank.rankers.sparse_ranker_cv import SparseRankerCV

_HOME = {"RankSVM": "sparse_ranker", "SparseRanker": "sparse_ranker", "SparseRankerCV": "sparse_ranker_cv"}

__all__ = ["RankSVM", "SparseRanker", "SparseRankerCV"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
