"""The value of the features of a selection, their steps for plots, and the features that could replace them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sparserank.data.dataset import RankingDataset
from sparserank.data.matrices import column
from sparserank.model.feature import Feature

BINS = 30


def drawn(feature: Feature, data: RankingDataset) -> dict[str, Any] | None:
    """The steps of a feature for plots; None if it has none.

    at, values   the corners of the steps, and what the feature adds to the score there
    edges        (BINS + 1,) from the first corner to the last
    counts       (BINS,) of the training values between the edges; values beyond are counted in the first and last bin
    """
    if feature.steps is None:
        return None
    x = column(data.X, feature.index).astype(np.float64)
    at, values = feature.steps.outline(float(x.min()), float(x.max()))
    edges = np.linspace(at[0], at[-1], BINS + 1)
    counts, _ = np.histogram(np.clip(x, edges[0], edges[-1]), edges)
    return {
        "at": at.tolist(),
        "values": (feature.coef * values).tolist(),
        "edges": edges.tolist(),
        "counts": counts.tolist(),
    }


@dataclass(frozen=True)
class Substitute:
    """A possible replacement of a selected feature: models without `feature` use `other`.

    difference   mean metric with `other` in its place minus that with `feature`, both refitted; low, high: its
                 interval, for this pair alone
    correlation  of the two within queries
    """

    feature: str
    other: str
    correlation: float
    difference: float
    low: float
    high: float


@dataclass(frozen=True)
class Worth:
    """The value of the features of a selection.

    features         a row for each selected feature, largest weight first
    feature_groups   a row for each group in use, the most expensive first
    substitutes      of selected features, within the margin

    A row contains, by metric, `cost` (mean loss without the feature, with the others refitted, out of fold, and its
    interval; None beyond the 60 largest weights) and `zeroed` (the same with the weight set to 0 and no refit).
    """

    features: list[dict[str, Any]]
    feature_groups: list[dict[str, Any]]
    substitutes: tuple[Substitute, ...]

    @property
    def costs(self) -> dict[str, Any]:
        """{selected feature: its ablation cost, by metric, or None}"""
        return {row["feature"]: row["cost"] for row in self.features}

    def substitute(self, feature: str) -> Substitute | None:
        return next((s for s in self.substitutes if s.feature == feature), None)
