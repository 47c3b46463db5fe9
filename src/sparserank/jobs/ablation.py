"""What each selected feature, and each group in use, is worth: the loss when its weights are set to 0, without a refit,
on queries that the models have not seen."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparserank.crossval.candidates import Pool
from sparserank.crossval.choice import Candidate
from sparserank.crossval.engine import CrossValidation
from sparserank.evaluation.statistics import mean_interval
from sparserank.model import RankingModel
from sparserank.selection.drawing import drawn


def dropped_features(
    cv: CrossValidation, pool: Pool, chosen: Candidate, model: RankingModel, confidence: float
) -> list[dict[str, Any]]:
    """For each selected feature, the largest weight first: its weight, transform, shape and curve, and by metric the
    cost of dropping it."""
    features = model.support[np.argsort(-np.abs(model.coef[model.support]), kind="stable")]
    costs = _costs(cv, pool, chosen, [np.array([j]) for j in features], confidence)
    return [
        {
            "feature": model.feature_names[j],
            "coef": float(model.coef[j]),
            "transform": model.transform_of(j),
            "shape": model.shape_of(j),
            "curve": drawn(model, cv.data, int(j)),
            **cost,
        }
        for j, cost in zip(features, costs, strict=True)
    ]


def dropped_groups(
    cv: CrossValidation, pool: Pool, chosen: Candidate, model: RankingModel, confidence: float
) -> list[dict[str, Any]]:
    """For each group in use, the dearest first, the same of all its features at once."""
    groups = cv.groups
    used = sorted(groups.used(model.support), key=lambda g: -groups.costs[g])
    members = [np.flatnonzero(np.array(groups.of_feature) == g) for g in used]
    return [
        {
            "group": groups.names[g],
            "group_cost": groups.costs[g],
            "features": [model.feature_names[j] for j in np.intersect1d(own, model.support)],
            **cost,
        }
        for g, own, cost in zip(used, members, _costs(cv, pool, chosen, members, confidence), strict=True)
    ]


def _costs(
    cv: CrossValidation, pool: Pool, chosen: Candidate, sets: list[np.ndarray], confidence: float
) -> list[dict[str, Any]]:
    """For each set of features {metric: mean loss and its interval when their weights are set to 0}."""
    without = cv.without(pool, chosen, sets)
    full = [pool.values(chosen, m) for m in range(len(cv.metrics))]
    return [
        {
            repr(metric): dict(
                zip(("cost", "low", "high"), mean_interval(full[m] - without[m, k], confidence), strict=True)
            )
            for m, metric in enumerate(cv.metrics)
        }
        for k in range(len(sets))
    ]
