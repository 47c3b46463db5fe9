"""Paths: solutions for decreasing regularisation strengths, or for increasing sizes."""

from typing import Any

from sparserank.options.option import REMOVED
from sparserank.paths.best_k import BestK
from sparserank.paths.boosting import BoostedSteps
from sparserank.paths.certificate import Certificate
from sparserank.paths.fit import alpha_max, feature_scale, fit_path, fit_path_on, maker_of, parse_maker
from sparserank.paths.follow import (
    DEFAULT_TOL,
    PathPlan,
    following,
    on_groups,
    path_start,
    refit_on_support,
    refitting,
    resolved,
    warn_of_missed,
)
from sparserank.paths.makers import OnColumns, PathMaker, PenaltyPath, RuledMaker, SizedMaker
from sparserank.paths.refits import RefitPath
from sparserank.paths.result import PathCertificate, PathResult, Point
from sparserank.paths.starts import PathStarts

__all__ = [
    "DEFAULT_TOL",
    "BestK",
    "BoostedSteps",
    "Certificate",
    "OnColumns",
    "PathCertificate",
    "PathMaker",
    "PathPlan",
    "PathResult",
    "PathStarts",
    "PenaltyPath",
    "Point",
    "RefitPath",
    "RuledMaker",
    "SizedMaker",
    "alpha_max",
    "feature_scale",
    "fit_path",
    "fit_path_on",
    "following",
    "maker_of",
    "on_groups",
    "parse_maker",
    "path_start",
    "refit_on_support",
    "refitting",
    "resolved",
    "warn_of_missed",
]


def __getattr__(name: str) -> Any:
    if name in ("BestKBounds", "MetricRefitPath", "best_k_bounds", "lower_bound"):
        raise AttributeError(f"{name} {REMOVED}.")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
