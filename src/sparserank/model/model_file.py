"""The model file: versioned JSON, written exactly and read strictly; nothing named in it is imported or run."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from sparserank.bins import StepFunction
from sparserank.data.derived import Derived
from sparserank.data.read_files import LIGHTGBM_FIRST_LINE
from sparserank.errors import ModelFormatError
from sparserank.files import StrPath, open_regular
from sparserank.model.content import (
    DERIVED,
    FORMAT,
    FORMAT_OF_SIZES,
    FORMAT_VERSION,
    INDEX_BASE,
    SINCE,
    SINCE_DERIVED,
    SINCE_INDEX_BASE,
    check_fill,
    check_names,
    check_numbers,
    check_scaling,
    check_steps,
    check_transform,
)
from sparserank.model.ranking_model import RankingModel
from sparserank.options import option
from sparserank.shards.scaling import FeatureScaling
from sparserank.strict_json import read_own_json
from sparserank.text import brief
from sparserank.transforms import NONE, Transform

# Types of values in a file, with the words for them in messages.
INTEGER, NUMBER, TEXT = ("an integer", (int,)), ("a number", (int, float)), ("a string", (str,))
LIST, OBJECT = ("a list", (list,)), ("an object", (dict,))


def read_model(path: StrPath, *, links: bool = True) -> RankingModel:
    """Read the model of a file; links: whether the path may be a link.

    Raises
        ModelFormatError   the file is not a model file, is damaged, or was written by a newer version
    """
    content = read_content(path, FORMAT, FORMAT_VERSION, "JSON that 'sparserank select' or 'fit' writes", links=links)
    try:
        return model_of_content(content)
    except ValueError as error:
        raise ModelFormatError(f"{path}: damaged model file: {error}; restore it or train again.") from error


def read_content(path: StrPath, form: str, newest: int, expected: str, *, links: bool) -> dict[str, Any]:
    """Read the JSON of a file of this format, from version 1 to the newest; links: whether the path may be a link.

    Raises
        ModelFormatError   the file does not have this format, or was written by a newer version
    """
    try:
        content = read_own_json(path, links=links)
    except OSError as error:
        raise ModelFormatError(f"{path}: not a readable model ({error.strerror or error}); check the path.") from error
    except ValueError as error:
        if _is_lightgbm(path):
            raise ModelFormatError(
                f"{path}: is a LightGBM model, not a sparserank model. Compare with its settings by "
                f"{option('rival', str(path))}, choose features for it by {option('for_model', str(path))}, measure "
                "it by 'sparserank evaluate', or give its scores as a file or a feature."
            ) from error
        raise ModelFormatError(f"{path}: not a readable model file ({error}); check the path.") from error
    held = content.get("format") if isinstance(content, dict) else None
    if held == FORMAT_OF_SIZES and form == FORMAT:
        raise ModelFormatError(
            f"{path}: contains models of every size of a selection; give the size ({option('k')}), or the directory of "
            "the run for the chosen model."
        )
    if not isinstance(content, dict) or held != form:
        raise ModelFormatError(f"{path}: not a {form} file; expected the {expected}.")
    version = content.get("version")
    if type(version) is not int or not 1 <= version <= newest:
        raise ModelFormatError(
            f"{path}: model format version must be an integer from 1 to {newest}; got {brief(version)}. "
            "If a newer sparserank wrote the file, upgrade sparserank."
        )
    return content


def model_of_content(content: dict[str, Any]) -> RankingModel:
    """The model that the JSON describes; a ValueError explains what is wrong with it."""
    names = _part(content, "feature_names_in", LIST)
    check_names(names)
    d = _part(content, "n_features_in", INTEGER)
    if d != len(names):  # before anything of that size is made
        raise ValueError(f"n_features_in is {brief(d)}, but there are {len(names)} names")
    method = _part(content, "scaling", TEXT)
    check_scaling(method)
    if "intercept" in content and _part(content, "intercept", NUMBER) != 0:
        raise ValueError(f"intercept must be 0; got {brief(content['intercept'])}")
    coef, center, scale, constants = np.zeros(d), np.zeros(d), np.ones(d), np.ones(d)
    kinds, fill, medians = [NONE] * d, np.full(d, np.nan), np.full(d, np.nan)
    steps: dict[int, StepFunction] = {}
    seen = set()
    for feature in _part(content, "features", LIST):
        if not isinstance(feature, dict):
            raise ValueError(f"each of the features must be an object; got {brief(feature)}")
        j, name = _part(feature, "index", INTEGER), _part(feature, "name", TEXT)
        if not 0 <= j < d:
            raise ValueError(f"feature index {brief(j)} is outside 0..{d - 1}")
        if name != names[j]:
            raise ValueError(f"feature index {j} belongs to feature {brief(names[j])}, not to {brief(name)}")
        if j in seen:
            raise ValueError(f"feature {brief(name)} is listed twice")
        seen.add(j)
        for key, since in SINCE.items():
            if key in feature and content["version"] < since:
                raise ValueError(
                    f"feature {brief(name)} has {key!r}, which version {content['version']} does not support"
                )
        coef[j], center[j], scale[j] = (float(_part(feature, key, NUMBER)) for key in ("coef", "mean", "scale"))
        check_numbers(name, float(coef[j]), float(center[j]), float(scale[j]))
        if "transform" in feature:
            kinds[j], constants[j] = _part(feature, "transform", TEXT), float(_part(feature, "constant", NUMBER))
            check_transform(name, kinds[j], float(constants[j]))
        if "curve" in feature:
            raise ValueError(
                f"feature {brief(name)} has a curve, and models of curves were removed (sparserank 0.3.0 is the last "
                "with them)"
            )
        if "steps" in feature:
            given = _part(feature, "steps", OBJECT)
            edges, values = _part(given, "edges", LIST), _part(given, "values", LIST)
            check_steps(name, edges, values)
            steps[j] = StepFunction(np.array(edges, dtype=np.float64), np.array(values, dtype=np.float64))
        if "missing" in feature:
            fill[j] = float(_part(feature, "missing", NUMBER))
            check_fill(name, float(fill[j]))
        if "median" in feature:
            medians[j] = float(_part(feature, "median", NUMBER))
            check_fill(name, float(medians[j]))
    transform = Transform(tuple(kinds), constants) if set(kinds) != {NONE} else None
    scaling = FeatureScaling(method, center, scale)
    return RankingModel(
        coef,
        tuple(names),
        scaling,
        _part(content, "parameters", OBJECT),
        _part(content, "metadata", OBJECT),
        transform,
        steps,
        None if np.isnan(fill).all() else fill,
        None if np.isnan(medians).all() else medians,
        _index_base(content),
        _derived(content, names),
    )


def _derived(content: dict[str, Any], names: Sequence[str]) -> dict[str, Derived]:
    """The features that are made from columns of tables."""
    if DERIVED in content and content["version"] < SINCE_DERIVED:
        raise ValueError(f"it has {DERIVED!r}, which version {content['version']} does not support")
    out, known = {}, set(names)
    for name, given in (_part(content, DERIVED, OBJECT) if DERIVED in content else {}).items():
        if name not in known or not isinstance(given, dict):
            raise ValueError(f"{DERIVED} must have an object for names of features; got {brief(name)}: {brief(given)}")
        level = None if given.get("level") is None else _part(given, "level", TEXT)
        out[name] = Derived(_part(given, "column", TEXT), level)
    return out


def _index_base(content: dict[str, Any]) -> int:
    """Number of the first feature in ranking text."""
    if INDEX_BASE not in content:
        return 1
    if content["version"] < SINCE_INDEX_BASE:
        raise ValueError(f"it has {INDEX_BASE!r}, which version {content['version']} does not support")
    base = int(_part(content, INDEX_BASE, INTEGER))
    if base not in (0, 1):
        raise ValueError(f"{INDEX_BASE} must be 0 or 1; got {brief(base)}")
    return base


def _part(content: dict[str, Any], key: str, kind: tuple[str, tuple[type, ...]]) -> Any:
    """content[key], which must exist and have exactly this type: true and false are not numbers."""
    what, types = kind
    if key not in content:
        raise ValueError(f"{key} is missing")
    if type(content[key]) not in types:
        raise ValueError(f"{key} must be {what}; got {brief(content[key])}")
    return content[key]


def _is_lightgbm(path: StrPath) -> bool:
    with suppress(OSError, ValueError), open_regular(path, links=True) as file:
        return file.readline(len(LIGHTGBM_FIRST_LINE) + 2).rstrip() == LIGHTGBM_FIRST_LINE.encode()
    return False
