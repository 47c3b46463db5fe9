"""What exports to engines with one weight per feature share: weights in single precision, definitions of features."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from sparserank.errors import DataError
from sparserank.export.terms import Sum
from sparserank.quoting import brief


def definition_of(features: Mapping[str, Any], name: str, needed: str) -> Mapping[str, Any]:
    given = features.get(name)
    if not isinstance(given, Mapping) or needed not in given:
        what = "is missing" if name not in features else f"has no {needed!r}"
        raise DataError(
            f"features: the definition of {brief(name)} {what}; give an object with {needed!r} for every selected "
            "feature."
        )
    if needed == "class" and not isinstance(given[needed], str):
        raise DataError(f"features: the class of {brief(name)} must be a text; got {brief(str(given[needed]))}.")
    return given


def single_precision(of: Sum, normalizers: bool) -> dict[str, float]:
    """Weights that single precision holds: all of them times a power of two, which changes no order, where they do not
    fit as they are.

    Raises
        DataError   they do not fit together
    """
    weights = {t.name: t.coef if normalizers else t.slope for t in of.terms}
    sizes = np.abs(np.array(list(weights.values())))
    factor = 1.0 if _fits(sizes) else 2.0 ** -float(np.frexp(sizes.max())[1])
    norms = [abs(v) for t in of.terms for v in (t.center, t.scale) if v] if normalizers else []
    if not _fits(sizes * factor) or not _fits(np.array(norms)):
        raise DataError(
            "the weights of this model do not fit together into the single precision of the engine; scale the "
            "features, or export to python, sql or onnx."
        )
    return {name: w * factor for name, w in weights.items()}


def _fits(sizes: np.ndarray) -> bool:
    """Whether positive numbers are normal ones of single precision."""
    limits = np.finfo(np.float32)
    return bool(((sizes >= limits.tiny) & (sizes <= limits.max)).all())


def json_text(content: Any) -> str:
    return json.dumps(content, indent=1, allow_nan=False, ensure_ascii=True) + "\n"
