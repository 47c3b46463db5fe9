"""The model file: versioned JSON, written exactly and read strictly; nothing named in it is imported or run."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from sparserank.curves import Curve
from sparserank.data.transforms import KINDS, NONE, Transform
from sparserank.errors import DataError, ModelFormatError
from sparserank.model.ranking_model import RankingModel
from sparserank.quoting import brief
from sparserank.shards.scaling import SCALINGS, FeatureScaling
from sparserank.strict_json import MAX_DEPTH, check_text, plain, read_json

FORMAT = "sparserank-model"
# What a feature may have, and since which version: a file without it is of the version that older readers know.
SINCE = {"transform": 2, "curve": 3, "missing": 4, "median": 5}
FORMAT_VERSION = max(SINCE.values())


def content_of(model: RankingModel) -> dict[str, Any]:
    """The content of the model file; of parameters and metadata what JSON can hold, see `strict_json.plain`.

    Raises
        DataError   weights, centers or scales that are not finite, names that are not text or not unique, an unknown
                    scaling
    """
    S = model.support
    try:
        _check_names(model.feature_names)
        _check_scaling(model.scaling.method)
        features = [
            {"index": j, "name": str(model.feature_names[j]), "coef": w, "mean": center, "scale": scale}
            for j, w, center, scale in zip(
                *(a.tolist() for a in (S, model.coef[S], model.scaling.center[S], model.scaling.scale[S])), strict=True
            )
        ]
        for f in features:
            _check_numbers(f["name"], f["coef"], f["mean"], f["scale"])
            if model.transform is not None and model.transform.kinds[f["index"]] != NONE:
                f |= {
                    "transform": model.transform.kinds[f["index"]],
                    "constant": float(model.transform.constants[f["index"]]),
                }
                _check_transform(f["name"], f["transform"], f["constant"])
            if f["index"] in model.curves:
                curve = model.curves[f["index"]]
                f["curve"] = {"knots": curve.knots.tolist(), "values": curve.values.tolist()}
                _check_curve(f["name"], f["curve"]["knots"], f["curve"]["values"])
            if model.fill_values is not None and not np.isnan(model.fill_values[f["index"]]):
                f["missing"] = float(model.fill_values[f["index"]])
                _check_fill(f["name"], f["missing"])
            elif model.medians is not None and not np.isnan(model.medians[f["index"]]):
                f["median"] = float(model.medians[f["index"]])
                _check_fill(f["name"], f["median"])
    except ValueError as error:
        raise DataError(f"the model cannot be saved: {error}.") from error
    return {
        "format": FORMAT,
        "version": max((version for key, version in SINCE.items() if any(key in f for f in features)), default=1),
        "n_features_in": model.n_features,
        "scaling": model.scaling.method,
        "intercept": 0.0,
        "features": features,
        "feature_names_in": [str(n) for n in model.feature_names],
        "parameters": plain(model.parameters, MAX_DEPTH - 1),
        "metadata": plain(model.metadata, MAX_DEPTH - 1),
    }


def load_model(path: str | os.PathLike) -> RankingModel:
    """Read a model file; nothing named in it is imported or run, and whatever does not belong there is refused.

    Raises
        ModelFormatError   not a model file, damaged, or written by a newer version
    """
    try:
        content = read_json(path)
    except OSError as error:
        raise ModelFormatError(f"{path}: not a readable model file ({error.strerror or error}).") from error
    except ValueError as error:
        raise ModelFormatError(f"{path}: not a readable model file ({error}).") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ModelFormatError(
            f"{path}: not a {FORMAT} file; expected the JSON that 'sparserank select' or 'fit' writes."
        )
    version = content.get("version")
    if type(version) is not int or not 1 <= version <= FORMAT_VERSION:
        raise ModelFormatError(
            f"{path}: model format version must be an integer from 1 to {FORMAT_VERSION}; got {brief(version)}. "
            "If a newer sparserank wrote the file, upgrade sparserank."
        )
    try:
        return _model_of(content)
    except ValueError as error:
        raise ModelFormatError(f"{path}: damaged model file: {error}; restore it or save the model again.") from error


def _model_of(content: dict[str, Any]) -> RankingModel:
    """The model that the JSON describes; a ValueError says what is wrong with it."""
    names = _part(content, "feature_names_in", LIST)
    _check_names(names)
    d = _part(content, "n_features_in", INTEGER)
    if d != len(names):  # before anything of that size is made
        raise ValueError(f"n_features_in is {brief(d)}, but {len(names)} names are given")
    method = _part(content, "scaling", TEXT)
    _check_scaling(method)
    if "intercept" in content and _part(content, "intercept", NUMBER) != 0:
        raise ValueError(f"intercept must be 0; got {brief(content['intercept'])}")
    coef, center, scale, constants = np.zeros(d), np.zeros(d), np.ones(d), np.ones(d)
    kinds, fill, medians = [NONE] * d, np.full(d, np.nan), np.full(d, np.nan)
    curves = {}
    seen = set()
    for feature in _part(content, "features", LIST):
        if not isinstance(feature, dict):
            raise ValueError(f"each of the features must be an object; got {brief(feature)}")
        j, name = _part(feature, "index", INTEGER), _part(feature, "name", TEXT)
        if not 0 <= j < d:
            raise ValueError(f"feature index {brief(j)} is outside 0..{d - 1}")
        if name != names[j]:
            raise ValueError(f"feature index {j} is feature {brief(names[j])}, not {brief(name)}")
        if j in seen:
            raise ValueError(f"feature {brief(name)} is listed twice")
        seen.add(j)
        for key, since in SINCE.items():
            if key in feature and content["version"] < since:
                raise ValueError(f"feature {brief(name)} has {key!r}, which version {content['version']} does not know")
        coef[j], center[j], scale[j] = (float(_part(feature, key, NUMBER)) for key in ("coef", "mean", "scale"))
        _check_numbers(name, float(coef[j]), float(center[j]), float(scale[j]))
        if "transform" in feature:
            kinds[j], constants[j] = _part(feature, "transform", TEXT), float(_part(feature, "constant", NUMBER))
            _check_transform(name, kinds[j], float(constants[j]))
        if "curve" in feature:
            curve = _part(feature, "curve", OBJECT)
            knots, values = _part(curve, "knots", LIST), _part(curve, "values", LIST)
            _check_curve(name, knots, values)
            curves[j] = Curve(np.array(knots, dtype=np.float64), np.array(values, dtype=np.float64))
        if "missing" in feature:
            fill[j] = float(_part(feature, "missing", NUMBER))
            _check_fill(name, float(fill[j]))
        if "median" in feature:
            medians[j] = float(_part(feature, "median", NUMBER))
            _check_fill(name, float(medians[j]))
    transform = Transform(tuple(kinds), constants) if set(kinds) != {NONE} else None
    scaling = FeatureScaling(method, center, scale)
    return RankingModel(
        coef,
        tuple(names),
        scaling,
        _part(content, "parameters", OBJECT),
        _part(content, "metadata", OBJECT),
        transform,
        curves,
        None if np.isnan(fill).all() else fill,
        None if np.isnan(medians).all() else medians,
    )


INTEGER, NUMBER, TEXT = ("an integer", (int,)), ("a number", (int, float)), ("text", (str,))
LIST, OBJECT = ("a list", (list,)), ("an object", (dict,))


def _part(content: dict[str, Any], key: str, kind: tuple[str, tuple[type, ...]]) -> Any:
    """content[key], which must be there and of exactly this kind: true and false are no numbers."""
    what, types = kind
    if key not in content:
        raise ValueError(f"{key} is missing")
    if type(content[key]) not in types:
        raise ValueError(f"{key} must be {what}; got {brief(content[key])}")
    return content[key]


def _check_names(names: Sequence[Any]) -> None:
    seen = set()
    for name in names:
        if not isinstance(name, str):
            raise ValueError(f"feature names must be text; got {brief(name)}")
        check_text(name)
        if name in seen:
            raise ValueError(f"the name {brief(name)} is given to two features")
        seen.add(name)


def _check_scaling(method: Any) -> None:
    if method not in SCALINGS:
        raise ValueError(f"scaling must be one of {', '.join(SCALINGS)}; got {brief(method)}")


def _check_numbers(name: str, coef: float, center: float, scale: float) -> None:
    """Refuse what no fit gives: a weight, mean or scale that is not finite, a scale <= 0,
    an infinite weight on raw values."""
    if not all(map(math.isfinite, (coef, center, scale))):
        raise ValueError(
            f"feature {brief(name)}: weight, mean and scale must be finite; got {coef}, {center} and {scale}"
        )
    if scale <= 0:
        raise ValueError(f"feature {brief(name)}: scale must be above 0; got {scale}")
    if not math.isfinite(coef / scale):
        raise ValueError(f"feature {brief(name)}: the weight {coef} is too large for its scale {scale}")


def _check_transform(name: str, kind: Any, constant: float) -> None:
    if kind not in KINDS:
        raise ValueError(f"feature {brief(name)}: transform must be one of {', '.join(KINDS)}; got {brief(kind)}")
    if not (math.isfinite(constant) and constant > 0):
        raise ValueError(f"feature {brief(name)}: constant must be a finite number > 0; got {constant}")


def _check_fill(name: str, value: float) -> None:
    if not math.isfinite(value):
        raise ValueError(f"feature {brief(name)}: what a missing value becomes must be finite; got {value}")


def _is_finite(value: float) -> bool:
    """Also for integers beyond the range of floats."""
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _check_curve(name: str, knots: Any, values: Any) -> None:
    """Refuse what no fit gives: fewer than two knots, knots that do not rise, numbers that are not finite,
    another number of values."""
    for numbers in (knots, values):
        if not all(type(v) in (int, float) and _is_finite(v) for v in numbers):
            raise ValueError(f"the curve of feature {brief(name)} must hold finite numbers")
    if len(knots) < 2 or len(values) != len(knots):
        raise ValueError(
            f"the curve of feature {brief(name)} needs at least two knots and one value each; got {len(knots)} and "
            f"{len(values)}"
        )
    if not all(float(a) < float(b) for a, b in pairwise(knots)) or not math.isfinite(knots[-1] - knots[0]):
        raise ValueError(f"the knots of feature {brief(name)} must rise, by finite steps")
    if not math.isfinite(float(max(values)) - float(min(values))):
        raise ValueError(f"the values of the curve of feature {brief(name)} are too far apart")
