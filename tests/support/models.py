"""Models from arrays with a number for every feature, and such arrays of models."""

from typing import Any

import numpy as np

from sparserank.model.ranking_model import RankingModel
from sparserank.shards.scaling import FeatureScaling
from sparserank.transforms import Transform


def array_of(model: RankingModel, field: str, other: float = np.nan) -> np.ndarray:
    """(n_features,) a field of the selected features; `other` for features that are not selected."""
    out = np.full(model.n_features, other)
    for feature in model.features:
        value = getattr(feature, field)
        out[feature.index] = np.nan if value is None else value
    return out


def scaling_of(model: RankingModel) -> FeatureScaling:
    """The scaling of all features; those that are not selected are not scaled."""
    return FeatureScaling(model.scaling, array_of(model, "mean", 0.0), array_of(model, "scale", 1.0))


def steps_of(model: RankingModel) -> dict[int, Any]:
    """{number of a feature: its steps}"""
    return {f.index: f.steps for f in model.features if f.steps is not None}


def rebuilt(model: RankingModel, **changes: Any) -> RankingModel:
    """The model with other arrays, as `RankingModel.from_arrays` takes them."""
    kinds = {f.index: f.transform for f in model.features}
    transform = Transform(
        tuple(kinds.get(j, "none") for j in range(model.n_features)), array_of(model, "constant", 1.0)
    )
    arrays: dict[str, Any] = {
        "coef": model.coef,
        "feature_names": model.feature_names,
        "scaling": scaling_of(model),
        "parameters": model.parameters,
        "metadata": model.metadata,
        "transform": transform,
        "steps": steps_of(model),
        "fill_values": array_of(model, "missing"),
        "medians": array_of(model, "median"),
        "index_base": model.index_base,
        "derived": model.derived,
    }
    return RankingModel.from_arrays(**(arrays | changes))


def unscaled(coef: Any, names: Any, method: str = "none", **more: Any) -> RankingModel:
    """A model whose means are 0 and whose scales are 1."""
    n = len(names)
    scaling = FeatureScaling(method, np.zeros(n), np.ones(n))
    return RankingModel.from_arrays(np.asarray(coef, dtype=np.float64), tuple(names), scaling, **more)
