"""Sparse learning-to-rank: the smallest ranking model that ranks as well as the full one.

Names, and the modules `penalties`, `losses`, `solvers`, `papers`, `datasets` and `errors`, are imported on
first use, so that `import sparserank` takes milliseconds.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.4.0"

_HOME = {
    "RankingDataset": "sparserank.data.dataset",
    "concatenate": "sparserank.data.combine",
    "read": "sparserank.data.read",
    "convert": "sparserank.data.store.convert",
    "write_letor": "sparserank.data.letor.writer",
    "write_run": "sparserank.data.runs",
    "write_qrels": "sparserank.data.runs",
    "read_run": "sparserank.data.run_reader",
    "read_qrels": "sparserank.data.run_reader",
    "query_folds": "sparserank.data.folds",
    "fit_scaling": "sparserank.shards.scaling",
    "FeatureScaling": "sparserank.shards.scaling",
    "select": "sparserank.selection.select",
    "SelectionResult": "sparserank.selection.result",
    "diff": "sparserank.selection.diff",
    "fuse": "sparserank.selection.fuse",
    "FusionResult": "sparserank.selection.fusion",
    "FusionFormula": "sparserank.model.fusion",
    "alpha_max": "sparserank.paths",
    "fit_path": "sparserank.paths",
    "refit_on_support": "sparserank.paths",
    "PathResult": "sparserank.paths",
    "SparseRanker": "sparserank.rankers",
    "SparseRankerCV": "sparserank.rankers",
    "explain_query": "sparserank.export.explanation",
    "in_words": "sparserank.model.in_words",
    "drift": "sparserank.model.drift",
    "evaluate": "sparserank.evaluation",
    "Evaluation": "sparserank.evaluation",
    "compare_systems": "sparserank.evaluation",
    "Comparison": "sparserank.evaluation",
    "parse_metric": "sparserank.metrics",
    "RankingModel": "sparserank.model.ranking_model",
    "load_model": "sparserank.model.size_models",
}

_FORMER = {
    "trees": "sparserank.select(..., for_model='lightgbm')",
    **dict.fromkeys(("read_data", "read_letor", "open_store"), "sparserank.read(source, ...)"),
    "Reading": "the options of sparserank.read; convert takes them as a mapping",
}

_MODULES = ("datasets", "errors", "losses", "papers", "penalties", "solvers")

__all__ = ["__version__", *_HOME, *_MODULES]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"sparserank.{name}")
    if name not in _HOME:
        parts = {m: importlib.import_module(f"sparserank.{m}") for m in _MODULES if not name.startswith("_")}
        home = next((m for m, part in parts.items() if name in getattr(part, "__all__", ())), None)
        moved = "" if home is None else f"; it is sparserank.{home}.{name}"
        if name in _FORMER:
            removed = importlib.import_module("sparserank.options.option").REMOVED
            raise AttributeError(f"sparserank.{name} {removed}; use {_FORMER[name]}.")
        raise AttributeError(f"module 'sparserank' has no attribute {name!r}{moved}")
    value = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
