"""Content of a model file, and the valid range of its values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sparserank.errors import DataError
from sparserank.model.feature import version_of, written
from sparserank.options.paths import SCALINGS
from sparserank.strict_json import MAX_DEPTH, check_text, plain
from sparserank.text import brief

if TYPE_CHECKING:
    from sparserank.model.ranking_model import RankingModel


FORMAT = "sparserank-model"
FORMAT_OF_SIZES = "sparserank-models"
INDEX_BASE = "index_base"
DERIVED = "derived"
SINCE = {INDEX_BASE: 7, DERIVED: 9}  # present only if it is 0, and if features are made from columns of tables
FORMAT_VERSION = 9


def content_of(model: RankingModel) -> dict[str, Any]:
    """Content of the model file; parameters and metadata are reduced to JSON values, see `strict_json.plain`.

    Raises
        DataError   weights, means or scales are not finite, names are not strings or not unique, or the scaling is
                    unknown
    """
    try:
        check_names(model.feature_names)
        check_scaling(model.scaling)
        features = list(map(written, model.features))
    except ValueError as error:
        raise DataError(f"the model cannot be saved: {error}.") from error
    more: dict[str, Any] = {} if model.index_base == 1 else {INDEX_BASE: model.index_base}
    if model.derived:
        more[DERIVED] = {name: {"column": d.source, "level": d.level} for name, d in model.derived.items()}
    return {
        "format": FORMAT,
        "version": max([1, *map(version_of, features), *map(SINCE.__getitem__, more)]),
        "n_features_in": model.n_features,
        "scaling": model.scaling,
        "intercept": 0.0,
        **more,
        "features": features,
        "feature_names_in": [str(n) for n in model.feature_names],
        "parameters": plain(model.parameters, MAX_DEPTH - 1),
        "metadata": plain(model.metadata, MAX_DEPTH - 1),
    }


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
