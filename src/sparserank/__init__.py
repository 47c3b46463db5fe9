"""Sparse learning-to-rank: the smallest ranking model that ranks as well as the full one.

Names are imported on first use, so that `import sparserank` takes milliseconds.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.2.0"

_HOME = {
    "RankingDataset": "sparserank.data.dataset",
    "concatenate": "sparserank.data.joining",
    "read_data": "sparserank.data.read",
    "Reading": "sparserank.data.reading",
    "open_store": "sparserank.data.store.opening",
    "convert": "sparserank.data.store.convert",
    "read_letor": "sparserank.data.letor.reader",
    "write_letor": "sparserank.data.letor.writer",
    "write_run": "sparserank.data.trec",
    "write_qrels": "sparserank.data.trec",
    "read_run": "sparserank.data.trec",
    "read_qrels": "sparserank.data.trec",
    "query_folds": "sparserank.data.folds",
    "fit_scaling": "sparserank.shards.scaling",
    "FeatureScaling": "sparserank.shards.scaling",
    "make_ranking": "sparserank.data.synthetic",
    "make_curved_ranking": "sparserank.data.synthetic",
    "SquaredHinge": "sparserank.losses",
    "select": "sparserank.jobs.select",
    "SelectionResult": "sparserank.selection.result",
    "PairwiseObjective": "sparserank.objective",
    "L1": "sparserank.penalties",
    "ElasticNet": "sparserank.penalties",
    "Ridge": "sparserank.penalties",
    "Lp": "sparserank.penalties",
    "Log": "sparserank.penalties",
    "MCP": "sparserank.penalties",
    "SCAD": "sparserank.penalties",
    "parse_penalty": "sparserank.penalties",
    "ProxNewton": "sparserank.solvers",
    "Fista": "sparserank.solvers",
    "Reweighted": "sparserank.solvers",
    "Stop": "sparserank.solvers",
    "solve": "sparserank.solvers",
    "alpha_max": "sparserank.paths",
    "fit_path": "sparserank.paths",
    "refit_on_support": "sparserank.paths",
    "PathResult": "sparserank.paths",
    "SparseRanker": "sparserank.rankers",
    "SparseRankerCV": "sparserank.rankers",
    "RankSVM": "sparserank.rankers",
    "RankRLS": "sparserank.papers.rankers",
    "GreedyRankRLS": "sparserank.papers.rankers",
    "FenchelRank": "sparserank.papers.rankers",
    "FSMRank": "sparserank.papers.rankers",
    "Laporte2014": "sparserank.papers.rankers",
    "TGRank": "sparserank.papers.rankers",
    "RSRank": "sparserank.papers.rankers",
    "FSRank": "sparserank.papers.rankers",
    "GasRanker": "sparserank.papers.rankers",
    "FSMSVM": "sparserank.papers.rankers",
    "RandomRanker": "sparserank.papers.rankers",
    "leave_query_out": "sparserank.papers.rls",
    "feature_importance": "sparserank.papers.measures",
    "feature_similarity": "sparserank.papers.measures",
    "select_for_trees": "sparserank.jobs.trees.select_for_trees",
    "compare_with_trees": "sparserank.jobs.trees.compare",
    "explain_query": "sparserank.export.explanation",
    "evaluate": "sparserank.evaluation",
    "parse_metric": "sparserank.metrics",
    "RankingModel": "sparserank.model.ranking_model",
    "load_model": "sparserank.model.model_file",
}

__all__ = ["__version__", *_HOME]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'sparserank' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
