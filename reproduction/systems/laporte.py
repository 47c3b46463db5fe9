"""The penalties of Laporte et al. (2014) with published settings, and their sensitivity to them.

These are paths, not the estimator Laporte2014. The estimator takes the papers' C, which cannot express a share of
alpha_max exactly, and it fixes the parameters that are varied here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from reproduction.systems.base import Candidate, Candidates, Fold, Grid
from sparserank.papers.rankers.laporte2014 import PENALTIES, FittedStrength, laporte2014_penalty, laporte_path


def _info(point: FittedStrength) -> dict[str, Any]:
    return {"alpha": point.alpha, "kkt_violation": point.kkt_violation, "loss": point.loss, "status": point.status}


def laporte(penalty: str) -> Candidates:
    def candidates(fold: Fold, grid: Grid) -> Iterator[Candidate]:
        for point in laporte_path(fold.objective, penalty, grid["alpha_ratio"]):
            yield Candidate({"alpha_ratio": point.alpha_ratio}, point.w, point.time_s, _info(point))

    return candidates


def sensitivity(penalty: str, parameter: str) -> Candidates:
    """Laporte's path for each value of a shape parameter that the paper fixes."""

    def candidates(fold: Fold, grid: Grid) -> Iterator[Candidate]:
        for value in grid[parameter]:
            shaped = replace(laporte2014_penalty(penalty), **{parameter: value})
            for point in laporte_path(fold.objective, penalty, grid["alpha_ratio"], penalty=shaped):
                yield Candidate(
                    {parameter: value, "alpha_ratio": point.alpha_ratio}, point.w, point.time_s, _info(point)
                )

    return candidates


def laporte_timing(fold: Fold, grid: Grid) -> Iterator[Candidate]:
    """Each penalty at one strength, with the published algorithms and with ours, to the same tolerance."""
    (ratio,), (tol,) = grid["alpha_ratio"], grid["tol"]
    for penalty in PENALTIES:
        for published in (False, True):
            (point,) = laporte_path(fold.objective, penalty, [ratio], published=published, tol=tol)
            params = {"penalty": penalty, "published": published, "alpha_ratio": ratio}
            yield Candidate(params, point.w, point.time_s, _info(point))
