"""The model file: versioned JSON, written exactly and read strictly; nothing named in it is imported or run."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

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
    check_names,
    check_scaling,
)
from sparserank.model.feature import read
from sparserank.model.ranking_model import RankingModel
from sparserank.options import option
from sparserank.strict_json import INTEGER, LIST, NUMBER, OBJECT, TEXT, part, read_own_json
from sparserank.text import brief


def read_model(path: StrPath, *, links: bool = True) -> RankingModel:
    """Read the model of a file; links: whether the path may be a link.

    Raises
        ModelFormatError   the file is not a model file, is damaged, or was written by a newer version
    """
    content = read_content(path, FORMAT, FORMAT_VERSION, "JSON that 'sparserank select' or 'fit' writes", links=links)
    try:
        return model_of_content(content)
    except ValueError as error:
        why = str(error).rstrip(".")
        raise ModelFormatError(f"{path}: damaged model file: {why}; restore it or train again.") from error


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
    names = part(content, "feature_names_in", LIST)
    check_names(names)
    d = part(content, "n_features_in", INTEGER)
    if d != len(names):  # before anything of that size is made
        raise ValueError(f"n_features_in is {brief(d)}, but there are {len(names)} names")
    method = part(content, "scaling", TEXT)
    check_scaling(method)
    if "intercept" in content and part(content, "intercept", NUMBER) != 0:
        raise ValueError(f"intercept must be 0; got {brief(content['intercept'])}")
    version = content["version"]
    early = next((key for key in SINCE if key in content and version < SINCE[key]), None)
    if early is not None:
        raise ValueError(f"it has {early!r}, which version {version} does not support")
    features = [read(given, version) for given in part(content, "features", LIST)]
    return RankingModel(
        tuple(features),
        tuple(names),
        method,
        part(content, "parameters", OBJECT),
        part(content, "metadata", OBJECT),
        _index_base(content),
        _derived(content, names),
    )


def _derived(content: dict[str, Any], names: Sequence[str]) -> dict[str, Derived]:
    """The features that are made from columns of tables."""
    out = {}
    known = set(names)
    for name, given in (part(content, DERIVED, OBJECT) if DERIVED in content else {}).items():
        if name not in known or not isinstance(given, dict):
            raise ValueError(f"{DERIVED} must have an object for names of features; got {brief(name)}: {brief(given)}")
        level = None if given.get("level") is None else part(given, "level", TEXT)
        out[name] = Derived(part(given, "column", TEXT), level)
    return out


def _index_base(content: dict[str, Any]) -> int:
    """Number of the first feature in ranking text."""
    if INDEX_BASE not in content:
        return 1
    base = int(part(content, INDEX_BASE, INTEGER))
    if base not in (0, 1):
        raise ValueError(f"{INDEX_BASE} must be 0 or 1; got {brief(base)}")
    return base


def _is_lightgbm(path: StrPath) -> bool:
    with suppress(OSError, ValueError), open_regular(path, links=True) as file:
        return file.readline(len(LIGHTGBM_FIRST_LINE) + 2).rstrip() == LIGHTGBM_FIRST_LINE.encode()
    return False
