"""The ranking model as users keep it: selected features, weights, scaling; versioned JSON, saved and loaded exactly."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparserank.curves import Curve, Curves, Knots, curves_of
from sparserank.data.dataset import RankingDataset, as_csr, numbered
from sparserank.data.grouping import as_query_ids, group_rows
from sparserank.data.scaling import SCALINGS, FeatureScaling
from sparserank.data.stored import StoredFeatures
from sparserank.data.transforms import KINDS, NONE, Transform
from sparserank.errors import DataError, ModelFormatError
from sparserank.files import atomic_write
from sparserank.quoting import brief
from sparserank.strict_json import MAX_DEPTH, check_text, plain, read_json

FORMAT = "sparserank-model"
FORMAT_VERSION = 3  # with curves; with transforms alone 2, without either 1: readers of then read them still


@dataclass(frozen=True, eq=False, repr=False)
class RankingModel:
    """score = sum over selected features of coef * (c(t(x)) - center) / scale; the larger, the higher the rank.

    coef (n_features,) zero for features that are not selected; center and scale come from `scaling`, t from `transform` (None: the
    features as they are) or the scaling, c from `curves`, piecewise linear functions of some features.

    Raises
        DataError   weights, names, centers and scales are not one each per feature
    """

    coef: np.ndarray
    feature_names: tuple[str, ...]
    scaling: FeatureScaling
    parameters: Mapping[str, Any] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    transform: Transform | None = None
    curves: Curves = field(default_factory=dict)

    def __post_init__(self) -> None:
        numbers = (self.coef, self.scaling.center, self.scaling.scale)
        if any(a.shape != (len(self.feature_names),) for a in numbers):
            shapes = ", ".join(str(a.shape) for a in numbers)
            raise DataError(
                f"a model needs one weight, center and scale for each of its {len(self.feature_names)} feature names; "
                f"got arrays of shapes {shapes}."
            )

    @property
    def n_features(self) -> int:
        return len(self.coef)

    @property
    def support(self) -> np.ndarray:
        return np.flatnonzero(self.coef)

    def predict(self, X: Any, qid: Any = None) -> np.ndarray:
        """Scores (n_docs,) in row order, all finite; only the selected columns are read.

        Parameters
            X     (n_docs, n_features) numbers; an array, a data frame or a SciPy sparse matrix
            qid   (n_docs,) query of each row, in any order; only for scaling within queries
        Raises
            DataError   another number of features than the model was trained on, a selected value that is not finite, or one
                        so large that the score is not, a missing qid; rows are counted from 0
        """
        columns = self._selected(X)
        if not self.scaling.per_query:
            return self._score(columns)
        if qid is None:
            raise DataError("this model scales features within each query; pass qid.")
        order, query_ptr, _ = group_rows(as_query_ids(qid, len(columns)))
        if order is None:
            return self._score(columns, query_ptr)
        out = np.empty(len(order))
        out[order] = self._score(columns[order], query_ptr, order)
        return out

    def score_dataset(self, data: RankingDataset) -> np.ndarray:
        """Scores in the stored row order of `data`, whose features are found by name where it has names; messages name the rows that its constructor was given."""
        return self._score(self._of_dataset(data), data.query_ptr, data.row_index)

    def _of_dataset(self, data: RankingDataset) -> np.ndarray:
        """The selected columns: by name, or by position where data or model have no names of their own and share none."""
        held = tuple(data.feature_names or ())
        at = {name: j for j, name in enumerate(held)}
        nameless = numbered(held) or numbered(self.feature_names)
        if held == self.feature_names or (numbered(held) and numbered(self.feature_names)):
            return self._selected(data.X)
        if nameless and at.keys().isdisjoint(self.feature_names):
            return self._selected(data.X)
        missing = next((self.feature_names[j] for j in self.support if self.feature_names[j] not in at), None)
        if missing is not None:
            raise DataError(f"the data have no feature {brief(missing)}, which the model uses.")
        columns = data.X[:, [at[self.feature_names[j]] for j in self.support]]
        return _array(columns.toarray() if data.is_sparse else columns, dtype=np.float64, order="C")

    def _selected(self, X: Any) -> np.ndarray:
        """(n_docs, nnz) float64, the columns of the selected features."""
        if hasattr(X, "columns"):
            return self._named(X)
        if not isinstance(X, StoredFeatures):
            X = as_csr(X) if sp.issparse(X) else _array(X)
        if len(X.shape) != 2:
            raise DataError(NO_MATRIX)
        if X.shape[1] != self.n_features:
            raise DataError(f"the model was trained on {self.n_features} features; the data have {X.shape[1]}.")
        columns = X[:, self.support]
        return _array(columns.toarray() if sp.issparse(columns) else columns, dtype=np.float64, order="C")

    def _named(self, frame: Any) -> np.ndarray:
        """The selected columns of a data frame, by name whatever their order; by position where no name is known to it."""
        known = set(map(str, frame.columns))
        if known.isdisjoint(self.feature_names):
            return self._selected(frame.to_numpy())
        wanted = [self.feature_names[j] for j in self.support]
        missing = next((name for name in wanted if name not in known), None)
        if missing is not None:
            raise DataError(f"the data frame has no column {brief(missing)}, which the model uses.")
        column = {str(c): c for c in frame.columns}
        columns = [_array(frame[column[name]].to_numpy(), dtype=np.float64) for name in wanted]
        return np.column_stack(columns) if columns else np.zeros((len(frame), 0))

    def __repr__(self) -> str:
        return f"RankingModel({len(self.support)} of {self.n_features} features, scaling {self.scaling.method})"

    def _score(
        self, columns: np.ndarray, query_ptr: np.ndarray | None = None, row_index: np.ndarray | None = None
    ) -> np.ndarray:
        """Scores of the selected columns; `row_index` (n_docs,) holds the user's number of each row, default their order."""
        S = self.support
        known = np.isfinite(columns)
        if not known.all():
            row, k = (int(i) for i in np.argwhere(~known)[0])
            raise DataError(
                f"row {_number_of(row, row_index)}: feature {brief(self.feature_names[S[k]])} holds {columns[row, k]}; "
                "replace missing and infinite values by finite numbers."
            )
        scaling = FeatureScaling(self.scaling.method, self.scaling.center[S], self.scaling.scale[S])
        with np.errstate(all="ignore"):
            shaped = columns if self.transform is None else self.transform.take(S)(columns)
            shaped = self._bent(shaped)
            scaled = scaling.transform(shaped, query_ptr)
            scores = np.asarray(scaled @ self.coef[S])
            finite = np.isfinite(scores)
            if not finite.all():
                row = int(np.argmin(finite))
                to_blame = np.flatnonzero(~np.isfinite(scaled[row] * self.coef[S]))
                why = "; the values are too large for the weights"
                if len(to_blame) == 1:
                    k = int(to_blame[0])
                    why = f" because feature {brief(self.feature_names[S[k]])} is {columns[row, k]:g}"
                raise DataError(
                    f"row {_number_of(row, row_index)}: the score is not finite{why}; clip or correct them."
                )
        return scores

    def _bent(self, columns: np.ndarray) -> np.ndarray:
        """The selected columns, each through its curve."""
        if not self.curves:
            return columns
        out = columns.copy()
        for k, j in enumerate(self.support.tolist()):
            if j in self.curves:
                out[:, k] = self.curves[j](columns[:, k])
        return out

    def transform_of(self, j: int) -> str:
        """What feature j is turned into first: 'none', 'log' or 'asinh'."""
        return NONE if self.transform is None else self.transform.kinds[j]

    def shape_of(self, j: int) -> str:
        """How feature j, transformed, enters: 'linear', 'clipped' (straight between two knots, flat outside) or 'curve'."""
        if j not in self.curves:
            return "linear"
        return "clipped" if self.curves[j].is_linear else "curve"

    def to_json(self) -> dict[str, Any]:
        """The content of the model file; of parameters and metadata what JSON can hold, see `strict_json.plain`.

        Raises
            DataError   weights, centers or scales that are not finite, names that are not text or not unique, an unknown scaling
        """
        S = self.support
        try:
            _check_names(self.feature_names)
            _check_scaling(self.scaling.method)
            features = [
                {"index": j, "name": str(self.feature_names[j]), "coef": w, "mean": center, "scale": scale}
                for j, w, center, scale in zip(
                    *(a.tolist() for a in (S, self.coef[S], self.scaling.center[S], self.scaling.scale[S])), strict=True
                )
            ]
            for f in features:
                _check_numbers(f["name"], f["coef"], f["mean"], f["scale"])
                if self.transform is not None and self.transform.kinds[f["index"]] != NONE:
                    f |= {
                        "transform": self.transform.kinds[f["index"]],
                        "constant": float(self.transform.constants[f["index"]]),
                    }
                    _check_transform(f["name"], f["transform"], f["constant"])
                if f["index"] in self.curves:
                    curve = self.curves[f["index"]]
                    f["curve"] = {"knots": curve.knots.tolist(), "values": curve.values.tolist()}
                    _check_curve(f["name"], f["curve"]["knots"], f["curve"]["values"])
        except ValueError as error:
            raise DataError(f"the model cannot be saved: {error}.") from error
        return {
            "format": FORMAT,
            "version": 3
            if any("curve" in f for f in features)
            else 2
            if any("transform" in f for f in features)
            else 1,
            "n_features_in": self.n_features,
            "scaling": self.scaling.method,
            "intercept": 0.0,
            "features": features,
            "feature_names_in": [str(n) for n in self.feature_names],
            "parameters": plain(self.parameters, MAX_DEPTH - 1),
            "metadata": plain(self.metadata, MAX_DEPTH - 1),
        }

    def save(self, path: str | os.PathLike) -> None:
        """Write the JSON file; nothing half-written is left behind.

        Raises
            DataError           what `to_json` refuses
            RunDirectoryError   the place cannot be written
        """
        text = json.dumps(self.to_json(), indent=1, allow_nan=False)
        with atomic_write(path) as out:
            out.write(text + "\n")


def curve_model(
    knots: Knots, blocks: np.ndarray, coef: np.ndarray, names: tuple[str, ...], transform: Transform | None, **more: Any
) -> RankingModel:
    """The model of coefficients (n_features * width,) of curves with these knots, of the features so transformed; blocks as of `curve_blocks`.

    The weight of a feature is the norm of its coefficients (about its share in a preferred pair's margin), negative where the curve is lower at its end than at its beginning.
    """
    of_feature = coef.reshape(len(names), -1)
    size = np.linalg.norm(of_feature, axis=1)
    increments = np.matmul(blocks, of_feature[:, :, None])[:, :, 0]
    falls = increments.sum(axis=1) < 0
    weights = np.where(falls, -size, size)
    used = np.where(size > 0, weights, 1.0)
    curves = curves_of(knots, increments, used)
    for j in np.flatnonzero(size > 0).tolist():
        if j not in curves:  # it differs within no pair
            weights[j] = 0.0
    none = FeatureScaling("none", np.zeros(len(names)), np.ones(len(names)))
    return RankingModel(weights, names, none, transform=transform, curves=curves, **more)


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
    kinds = [NONE] * d
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
        coef[j], center[j], scale[j] = (float(_part(feature, key, NUMBER)) for key in ("coef", "mean", "scale"))
        _check_numbers(name, float(coef[j]), float(center[j]), float(scale[j]))
        if "transform" in feature:
            kinds[j], constants[j] = _part(feature, "transform", TEXT), float(_part(feature, "constant", NUMBER))
            _check_transform(name, kinds[j], float(constants[j]))
        if "curve" in feature:
            curve = _part(feature, "curve", OBJECT)
            knots, values = _part(curve, "knots", LIST), _part(curve, "values", LIST)
            if content["version"] < 3:
                raise ValueError(f"feature {brief(name)} has a curve, which version {content['version']} does not know")
            _check_curve(name, knots, values)
            curves[j] = Curve(np.array(knots, dtype=np.float64), np.array(values, dtype=np.float64))
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
    """Refuse what no fit gives: a weight, mean or scale that is not finite, a scale <= 0, an infinite weight on raw values."""
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


NO_MATRIX = "X must be a matrix of numbers (n_docs, n_features)."


def _array(values: Any, **options: Any) -> np.ndarray:
    try:
        return np.asarray(values, **options)
    except (TypeError, ValueError, OverflowError) as error:  # ragged lists, text, integers beyond the range of floats
        raise DataError(NO_MATRIX) from error


def _number_of(row: int, row_index: np.ndarray | None) -> int:
    return row if row_index is None else int(row_index[row])


def _is_finite(value: float) -> bool:
    """Also for integers beyond the range of floats."""
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _check_curve(name: str, knots: Any, values: Any) -> None:
    """Refuse what no fit gives: fewer than two knots, knots that do not rise, numbers that are not finite, another number of values."""
    for numbers in (knots, values):
        if not all(type(v) in (int, float) and _is_finite(v) for v in numbers):
            raise ValueError(f"the curve of feature {brief(name)} must hold finite numbers")
    if len(knots) < 2 or len(values) != len(knots):
        raise ValueError(
            f"the curve of feature {brief(name)} needs at least two knots and one value each; got {len(knots)} and {len(values)}"
        )
    if not all(float(a) < float(b) for a, b in pairwise(knots)) or not math.isfinite(knots[-1] - knots[0]):
        raise ValueError(f"the knots of feature {brief(name)} must rise, by finite steps")
