"""Content of a model file, and the valid range of its values."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from sparserank.errors import DataError
from sparserank.number_checks import as_real
from sparserank.options.paths import SCALINGS
from sparserank.strict_json import MAX_DEPTH, check_text, plain
from sparserank.text import brief
from sparserank.transforms import KINDS, NONE, REMOVED, removed

if TYPE_CHECKING:
    from sparserank.model.ranking_model import RankingModel


FORMAT, FORMAT_OF_SIZES = "sparserank-model", "sparserank-models"
SINCE = {"transform": 2, "missing": 4, "median": 5, "steps": 8}
INDEX_BASE, SINCE_INDEX_BASE = "index_base", 7  # present only if it is 0
DERIVED, SINCE_DERIVED = "derived", 9  # present only if features are made from columns of tables
FORMAT_VERSION = SINCE_DERIVED


def content_of(model: RankingModel) -> dict[str, Any]:
    """Content of the model file; parameters and metadata are reduced to JSON values, see `strict_json.plain`.

    Raises
        DataError   weights, centers or scales are not finite, names are not strings or not unique, or the scaling is
                    unknown
    """
    S = model.support
    try:
        check_names(model.feature_names)
        check_scaling(model.scaling.method)
        features = [
            {"index": j, "name": str(model.feature_names[j]), "coef": w, "mean": center, "scale": scale}
            for j, w, center, scale in zip(
                *(a.tolist() for a in (S, model.coef[S], model.scaling.center[S], model.scaling.scale[S])), strict=True
            )
        ]
        for f in features:
            check_numbers(f["name"], f["coef"], f["mean"], f["scale"])
            if model.transform is not None and model.transform.kinds[f["index"]] != NONE:
                f |= {
                    "transform": model.transform.kinds[f["index"]],
                    "constant": float(model.transform.constants[f["index"]]),
                }
                check_transform(f["name"], f["transform"], f["constant"])
            if f["index"] in model.steps:
                steps = model.steps[f["index"]]
                f["steps"] = {"edges": steps.edges.tolist(), "values": steps.values.tolist()}
                check_steps(f["name"], **f["steps"])
            if model.fill_values is not None and not np.isnan(model.fill_values[f["index"]]):
                f["missing"] = float(model.fill_values[f["index"]])
                check_fill(f["name"], f["missing"])
            elif model.medians is not None and not np.isnan(model.medians[f["index"]]):
                f["median"] = float(model.medians[f["index"]])
                check_fill(f["name"], f["median"])
    except ValueError as error:
        raise DataError(f"the model cannot be saved: {error}.") from error
    numbers = {} if model.index_base == 1 else {INDEX_BASE: model.index_base}
    derived = {name: {"column": d.source, "level": d.level} for name, d in model.derived.items()}
    since = [*([SINCE_INDEX_BASE] if numbers else []), *([SINCE_DERIVED] if derived else [])]
    return {
        "format": FORMAT,
        "version": max([1, *map(_version_of, features), *since]),
        "n_features_in": model.n_features,
        "scaling": model.scaling.method,
        "intercept": 0.0,
        **numbers,
        **({DERIVED: derived} if derived else {}),
        "features": features,
        "feature_names_in": [str(n) for n in model.feature_names],
        "parameters": plain(model.parameters, MAX_DEPTH - 1),
        "metadata": plain(model.metadata, MAX_DEPTH - 1),
    }


def _version_of(feature: Mapping[str, Any]) -> int:
    """The first version that supports everything the feature has."""
    return max((version for key, version in SINCE.items() if key in feature), default=1)


def check_names(names: Sequence[Any]) -> None:
    seen = set()
    for name in names:
        if not isinstance(name, str):
            raise ValueError(f"feature names must be strings; got {brief(name)}")
        check_text(name)
        if name in seen:
            raise ValueError(f"two features have the name {brief(name)}")
        seen.add(name)


def check_scaling(method: Any) -> None:
    if method not in SCALINGS:
        raise ValueError(f"scaling must be one of {', '.join(SCALINGS)}; got {brief(method)}")


def check_numbers(name: str, coef: float, center: float, scale: float) -> None:
    """Refuse values that no fit produces: a weight, mean or scale that is not finite, a scale <= 0,
    an infinite weight on raw values."""
    if not all(map(math.isfinite, (coef, center, scale))):
        raise ValueError(
            f"feature {brief(name)}: weight, mean and scale must be finite; got {coef}, {center} and {scale}"
        )
    if scale <= 0:
        raise ValueError(f"feature {brief(name)}: scale must be above 0; got {scale}")
    if not math.isfinite(coef / scale):
        raise ValueError(f"feature {brief(name)}: the weight {coef} is too large for its scale {scale}")


def check_transform(name: str, kind: Any, constant: float) -> None:
    if kind in REMOVED:
        raise ValueError(removed(kind).rstrip("."))
    if kind not in KINDS:
        raise ValueError(f"feature {brief(name)}: transform must be one of {', '.join(KINDS)}; got {brief(kind)}")
    if not (math.isfinite(constant) and constant > 0):
        raise ValueError(f"feature {brief(name)}: constant must be a finite number > 0; got {constant}")


def check_fill(name: str, value: float) -> None:
    if not math.isfinite(value):
        raise ValueError(f"feature {brief(name)}: the fill value for missing values must be finite; got {value}")


def check_steps(name: str, edges: Any, values: Any) -> None:
    """Refuse steps that no fit produces: no edge, edges that do not rise, numbers that are not finite, or not one value
    more than edges."""
    for numbers in (edges, values):
        if not all(type(v) in (int, float) and math.isfinite(as_real(v)) for v in numbers):
            raise ValueError(f"the steps of feature {brief(name)} must contain only finite numbers")
    if len(edges) < 1 or len(values) != len(edges) + 1:
        raise ValueError(
            f"the steps of feature {brief(name)} need at least one edge and one value more than edges; got "
            f"{len(edges)} edges and {len(values)} values"
        )
    if not all(float(a) < float(b) for a, b in pairwise(edges)) or not math.isfinite(edges[-1] - edges[0]):
        raise ValueError(f"the edges of feature {brief(name)} must increase by finite steps")
    if not math.isfinite(float(max(values)) - float(min(values))):
        raise ValueError(f"the values of the steps of feature {brief(name)} are too far apart")
