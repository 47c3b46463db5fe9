"""What is drawn of a feature's curve: what it adds to the score, over the training values."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparserank.data.dataset import RankingDataset
from sparserank.data.matrices import column
from sparserank.model.ranking_model import RankingModel

BINS = 30


def drawn(model: RankingModel, data: RankingDataset, j: int) -> dict[str, Any] | None:
    """knots and values (what the curve adds to the score there), counts (BINS,) of the training values between edges
    (BINS + 1,), from the first knot to the last, values beyond counted at the ends; all on the scale of the transformed
    feature. None for a feature without a curve.
    """
    if j not in model.curves:
        return None
    curve = model.curves[j]
    x = column(data.X, j).astype(np.float64)
    if model.transform is not None:
        x = model.transform.take(np.array([j]))(x[:, None])[:, 0]
    edges = np.linspace(curve.knots[0], curve.knots[-1], BINS + 1)
    counts, _ = np.histogram(np.clip(x, edges[0], edges[-1]), edges)
    return {
        "knots": curve.knots.tolist(),
        "values": (model.coef[j] * curve.values).tolist(),
        "edges": edges.tolist(),
        "counts": counts.tolist(),
    }
