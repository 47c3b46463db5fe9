"""Code shared by exports with one weight per feature: weights in single precision, definitions of features."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from sparserank.errors import DataError, ParameterError
from sparserank.model.feature import Feature
from sparserank.text import brief
from sparserank.transforms import LOG

FIELD = "field"  # key of a definition; its value is the field of the engine that contains the column


def definition_of(
    features: Mapping[str, Any], term: Feature, needed: str, default: Callable[[str, str | None], Mapping[str, Any]]
) -> Mapping[str, Any]:
    """The definition of a feature. A feature that is made from a column needs none: by default, it is made from the
    field and the level."""
    definition = features.get(term.name)
    if term.derived is not None and definition is None:
        return default(_field(features, term), term.derived.level)
    if not isinstance(definition, Mapping) or needed not in definition:
        raise ParameterError("features", f"The definition of {brief(term.name)} must be an object with {needed!r}.")
    if needed == "class" and not isinstance(definition[needed], str):
        raise ParameterError(
            "features", f"The class of {brief(term.name)} must be a string; got {brief(str(definition[needed]))}."
        )
    return {key: value for key, value in definition.items() if key != FIELD}


def _field(features: Mapping[str, Any], term: Feature) -> str:
    """The field in the engine of the column that a feature is made from: the value of "field" in the definition of the
    column or in its params; by default, the name of the column.

    Raises
        ParameterError   the column is defined, but not by a field
    """
    field = features.get(term.source, term.source)
    if isinstance(field, Mapping):
        params = field.get("params")
        field = field.get(FIELD) or (params.get(FIELD) if isinstance(params, Mapping) else None)
    if not isinstance(field, str):
        raise ParameterError(
            "features",
            f'Feature {brief(term.name)} needs the field of {brief(term.source)}: add "{FIELD}" to its definition, or '
            f"define {brief(term.name)}.",
        )
    return field


def single_precision(weights: Mapping[str, float], normalised: Iterable[Feature]) -> dict[str, float]:
    """Weights in the range of single precision: if they do not fit, all are multiplied by a power of two, which changes
    no order. normalised: the terms with a normaliser, whose numbers must fit unchanged.

    Raises
        DataError   they do not fit together
    """
    sizes = np.abs(np.array(list(weights.values())))
    factor = 1.0 if _fits(sizes) else 2.0 ** -float(np.frexp(sizes.max())[1])
    norms = np.array([abs(v) for t in normalised for v in (t.mean, t.scale) if v])
    if not _fits(sizes * factor) or not _fits(norms):
        raise DataError(
            "the engine uses single precision, which cannot represent all weights of this model. Scale the features, "
            "or export to python, sql or onnx."
        )
    return {name: w * factor for name, w in weights.items()}


class Names:
    """Names in a feature store: those of the features, and new ones for derived features."""

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken = {*taken}

    def fresh(self, name: str) -> str:
        """This name, or a similar one that is not taken yet."""
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        return name

    def derived(self, term: Feature, of: str) -> str:
        """Name for the transform of a feature."""
        kind = "log1p" if term.kind == LOG else term.kind
        return self.fresh(f"{kind}_{of}")


def _fits(sizes: np.ndarray) -> bool:
    """Whether all of these positive numbers are normal numbers in single precision."""
    limits = np.finfo(np.float32)
    return bool(((sizes >= limits.tiny) & (sizes <= limits.max)).all())


def json_text(content: Any) -> str:
    return json.dumps(content, indent=1, allow_nan=False, ensure_ascii=True) + "\n"
