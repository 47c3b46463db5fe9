"""This package: its paths, its selection, and the baseline of random weights."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from reproduction.systems.base import Candidate, Fold, Grid, fitted, points_of
from sparserank.crossval import choice
from sparserank.crossval.cross_validation import CrossValidation
from sparserank.crossval.feature_transforms import RAW
from sparserank.crossval.tasks import FINAL, PathTask
from sparserank.data.combine import concatenate
from sparserank.data.folds import query_folds
from sparserank.options.selection import SELECT
from sparserank.papers.rankers.random_ranker import RandomRanker
from sparserank.paths import PathPlan, PathResult, fit_path_on, maker_of, parse_maker

N_FOLDS = SELECT["cv"].default


def sparserank(fold: Fold, grid: Grid) -> Iterator[Candidate]:
    """The path of each penalty; the estimator SparseRanker fits one point of it."""
    for label in grid["penalty"]:
        path = fit_path_on(fold.objective, parse_maker(label), n_alphas=grid["n_alphas"][0], alpha_min_ratio=1e-2)
        yield from _points(path, label)


def _points(path: PathResult, label: str) -> Iterator[Candidate]:
    return points_of(path, ({"penalty": label, "alpha_ratio": alpha / path.alpha_max} for alpha in path.alphas))


def select(fold: Fold, grid: Grid) -> Iterator[Candidate]:
    """The choice of `sr.select`: within-query scaling, paths on train and validation, out-of-fold choice, but without
    transforms, refits and half-samples. It uses the engine directly, because the estimator SparseRankerCV chooses among
    one penalty's models by one metric.

    For each metric, it chooses the smallest model whose estimated loss against the best is within the default margin.
    """
    everything = concatenate([fold.data.train, fold.data.valid], join_queries=False)
    metrics = list(fold.metrics.values())
    of_query = query_folds(everything.n_queries, N_FOLDS, fold.seed)
    paths = PathPlan(grid["n_alphas"][0], 1e-2, 1e-6)
    cv = CrossValidation(everything, of_query, [RAW], paths, metrics, n_threads=1)
    candidate_set = cv.fit([PathTask(label, maker_of(parse_maker(label))) for label in grid["penalty"]])
    models: list[Candidate] = []
    index: dict[tuple[str, int], int] = {}
    for label in candidate_set.tasks:
        final = candidate_set.paths[label, FINAL]
        assert final.scaling is not None
        seconds = sum(float(candidate_set.paths[label, f].times_s.sum()) for f in cv.folds) / len(final.alphas)
        for i, c in enumerate(_points(final, label)):
            index[label, i] = len(models)
            models.append(replace(c, coef=c.coef / final.scaling.scale, time_s=c.time_s + seconds))
    sizes = [c for label in candidate_set.tasks for c in candidate_set.of_maker(label)]
    preferred: dict[int, list[str]] = {}
    for m, name in enumerate(fold.metrics):
        by_metric = {replace(c, values=candidate_set.values(c, m)): index[c.penalty, c.index] for c in sizes}
        chosen = choice.choose(list(by_metric), seed=fold.seed).chosen
        preferred.setdefault(by_metric[chosen], []).append(name)
        for size, i in by_metric.items():
            models[i] = replace(models[i], valid={**(models[i].valid or {}), name: size.mean})
    yield from (replace(c, preferred_for=tuple(preferred.get(i, ()))) for i, c in enumerate(models) if c.valid)


def random(fold: Fold, grid: Grid) -> Iterator[Candidate]:
    """Random weights: the requested number of draws from one generator."""
    rng: Any = np.random.default_rng(fold.seed)
    for draw in range(grid["draws"][0]):
        yield fitted(fold, RandomRanker(random_state=rng), {"draw": draw}, ())
