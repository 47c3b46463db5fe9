"""The ranking model as users keep it: selected features, weights, scaling; versioned JSON, saved and loaded exactly."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparserank.data.dataset import RankingDataset
from sparserank.data.grouping import group_rows
from sparserank.data.scaling import SCALINGS, FeatureScaling
from sparserank.errors import DataError, ModelFormatError
from sparserank.files import atomic_write

FORMAT = "sparserank-model"
FORMAT_VERSION = 1


@dataclass(frozen=True, eq=False)
class RankingModel:
    """score = sum over selected features of coef * (t(x) - center) / scale; the larger, the higher the rank.

    coef (n_features,) zero for features that are not selected; center, scale and t come from `scaling`.
    """

    coef: np.ndarray
    feature_names: tuple[str, ...]
    scaling: FeatureScaling
    parameters: Mapping[str, Any] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    def n_features(self) -> int:
        return len(self.coef)

    @property
    def support(self) -> np.ndarray:
        return np.flatnonzero(self.coef)

    def predict(self, X: Any, qid: np.ndarray | None = None) -> np.ndarray:
        """Scores (n_docs,) in row order; only the selected columns are read. `qid` only for per-query scaling.

        Raises
            DataError   another number of features than the model was trained on
        """
        if X.shape[1] != self.n_features:
            raise DataError(f"the model was trained on {self.n_features} features; the data have {X.shape[1]}.")
        S = self.support
        columns = X[:, S].toarray() if sp.issparse(X) else np.asarray(X)[:, S]
        scaling = FeatureScaling(self.scaling.method, self.scaling.center[S], self.scaling.scale[S])
        if scaling.per_query:
            if qid is None:
                raise DataError("this model scales features within each query; pass qid.")
            order, query_ptr, _ = group_rows(np.asarray(qid))
            if order is not None:
                out = np.empty(len(order))
                out[order] = scaling.transform(columns[order].astype(np.float64), query_ptr) @ self.coef[S]
                return out
            return np.asarray(scaling.transform(columns.astype(np.float64), query_ptr) @ self.coef[S])
        return np.asarray(scaling.transform(columns.astype(np.float64)) @ self.coef[S])

    def score_dataset(self, data: RankingDataset) -> np.ndarray:
        """Scores in the stored row order of `data`."""
        return self.predict(data.X, data.qid)

    def to_json(self) -> dict[str, Any]:
        features = [
            {
                "index": int(j),
                "name": self.feature_names[j],
                "coef": float(self.coef[j]),
                "mean": float(self.scaling.center[j]),
                "scale": float(self.scaling.scale[j]),
            }
            for j in self.support
        ]
        return {
            "format": FORMAT,
            "version": FORMAT_VERSION,
            "n_features_in": self.n_features,
            "scaling": self.scaling.method,
            "intercept": 0.0,
            "features": features,
            "feature_names_in": list(self.feature_names),
            "parameters": dict(self.parameters),
            "metadata": dict(self.metadata),
        }

    def save(self, path: str | os.PathLike) -> None:
        """Write the JSON file; nothing half-written is left behind."""
        text = json.dumps(self.to_json(), indent=1, allow_nan=False)
        with atomic_write(path) as out:
            out.write(text + "\n")


def load_model(path: str | os.PathLike) -> RankingModel:
    """Read a model file; nothing named in it is imported or run.

    Raises
        ModelFormatError   not a model file, damaged, or written by a newer version
    """
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"), parse_constant=_refuse_constant)
    except (OSError, UnicodeDecodeError, json.JSONDecodeError, ValueError) as error:
        raise ModelFormatError(f"{path}: not a readable model file ({error}).") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ModelFormatError(
            f"{path}: not a {FORMAT} file; expected the JSON that 'sparserank select' or 'fit' writes."
        )
    version = content.get("version")
    if not isinstance(version, int) or version > FORMAT_VERSION:
        raise ModelFormatError(
            f"{path}: model format version {version}, this sparserank reads up to {FORMAT_VERSION}; upgrade sparserank."
        )
    try:
        d = int(content["n_features_in"])
        coef, center, scale = np.zeros(d), np.zeros(d), np.ones(d)
        for feature in content["features"]:
            j = int(feature["index"])
            if not 0 <= j < d:
                raise ValueError(f"feature index {j} outside 0..{d - 1}")
            coef[j], center[j], scale[j] = float(feature["coef"]), float(feature["mean"]), float(feature["scale"])
        if not (
            np.isfinite(coef).all() and np.isfinite(center).all() and np.isfinite(scale).all() and (scale > 0).all()
        ):
            raise ValueError("weights must be finite and scales > 0")
        names = tuple(str(n) for n in content["feature_names_in"])
        if len(names) != d or content["scaling"] not in SCALINGS:
            raise ValueError("feature names or scaling do not fit")
        return RankingModel(
            coef, names, FeatureScaling(content["scaling"], center, scale), content["parameters"], content["metadata"]
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ModelFormatError(f"{path}: damaged model file ({error}).") from error


def _refuse_constant(text: str) -> float:
    raise ValueError(f"{text} is not allowed")
