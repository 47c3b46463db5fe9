"""Convert a fitted scikit-learn pipeline of imputers, encoders, logarithms, scalers, selectors and a ranker to one
model of the pipeline's input."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sparserank.data.categories import Derived
from sparserank.data.tables.frames import QID
from sparserank.errors import DataError
from sparserank.model.feature import Feature
from sparserank.model.ranking_model import RankingModel
from sparserank.options import option
from sparserank.text import brief
from sparserank.transforms import LOG, NONE

KNOWN = (
    "ColumnTransformer, OneHotEncoder, SimpleImputer, FunctionTransformer(np.log1p), StandardScaler, MinMaxScaler and "
    "MaxAbsScaler (without clip), RobustScaler and feature selectors"
)


@dataclass(frozen=True)
class _Column:
    """A column after the steps so far: (sum of sign * t(x) - center) / scale over features x of the input, where t is
    the logarithm or the identity. Only an encoder makes columns of several features, or of signs other than 1."""

    features: tuple[int, ...]
    signs: tuple[float, ...] = (1.0,)
    center: float = 0.0
    scale: float = 1.0
    is_log: bool = False

    def then(self, center: float, scale: float) -> _Column:
        """This column followed by y -> (y - center) / scale."""
        return replace(self, center=self.center + self.scale * float(center), scale=self.scale * float(scale))

    @property
    def is_plain(self) -> bool:
        """Whether it is the feature itself."""
        return self == _Column(self.features[:1])


_Columns = list[_Column]


class _Input:
    """The features of the pipeline's input: its columns, and features that are made from a column. fill: the
    replacement for a missing value of each feature."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names, self.derived = list(names), dict[str, Derived]()
        self.fill = [float("nan")] * len(names)

    def made(self, j: int, level: str | None) -> int:
        """The number of the feature that says where column j has this level, or where it is missing."""
        if self.names[j] in self.derived or self.fill[j] == self.fill[j]:
            raise DataError(f"{brief(self.names[j])} is encoded or imputed twice, which a model cannot express.")
        d = Derived(self.names[j], level)
        if d.name in self.names and self.derived.get(d.name) != d:
            raise DataError(f"a column of the pipeline's input is called {brief(d.name)}; rename it.")
        if d.name not in self.derived:
            self.derived[d.name] = d
            self.names.append(d.name)
            self.fill.append(float("nan"))
        return self.names.index(d.name)


def model_of_pipeline(pipeline: Any) -> RankingModel:
    """The model whose `predict` equals that of the pipeline on the same input, with scaling folded in.

    Parameters
        pipeline   a fitted sklearn.pipeline.Pipeline: any of KNOWN (or 'passthrough'), then a ranker of this package
    Raises
        DataError   a step that is not a fixed factor and shift per feature; a pipeline that is not fitted
    """
    from sklearn.exceptions import NotFittedError
    from sklearn.pipeline import Pipeline
    from sklearn.utils.validation import check_is_fitted

    from sparserank.rankers.base import LinearRanker
    from sparserank.rankers.inputs import feature_names

    if not isinstance(pipeline, Pipeline) or not isinstance(pipeline.steps[-1][1], LinearRanker):
        hint = "; for a search, pass best_estimator_" if hasattr(pipeline, "best_estimator_") else ""
        raise DataError(
            f"from_pipeline takes a fitted scikit-learn Pipeline whose last step is a ranker of sparserank{hint}."
        )
    ranker = pipeline.steps[-1][1]
    steps = [(name, step) for name, step in pipeline.steps[:-1] if step is not None and not isinstance(step, str)]
    try:
        for step in [*(step for _, step in steps), ranker]:
            check_is_fitted(step)
    except NotFittedError as error:
        raise DataError("the pipeline is not fitted; call its fit method first.") from error
    first = steps[0][1] if steps else ranker
    names = tuple(feature_names(first, int(first.n_features_in_)))
    if QID in names:
        raise DataError(
            "the pipeline was fitted on a frame with a column 'qid', which its steps treat as a feature. Drop the "
            "column and route the ids instead (sklearn.config_context(enable_metadata_routing=True), fit(X, y, "
            "qid=qid))."
        )
    inputs = _Input(names)
    columns = [_Column((j,)) for j in range(len(names))]
    for name, step in steps:
        columns = _after(inputs, columns, name, step)
    for j, value in enumerate(inputs.fill):
        if value == value and sum(c.features[0] == j for c in columns) > 1:
            raise DataError(f"the pipeline imputes {brief(inputs.names[j])} and uses it twice; use it once.")
    return _on_input(ranker.to_model(), inputs, columns)


def _after(inputs: _Input, columns: _Columns, name: str, step: Any) -> _Columns:
    """The columns after one more step of the pipeline."""
    from sklearn import preprocessing as p
    from sklearn.compose import ColumnTransformer
    from sklearn.feature_selection import SelectorMixin
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import Pipeline

    kind = type(step)
    plain = all(column.is_plain for column in columns)
    if step is None or isinstance(step, str):
        return [] if step == "drop" else columns
    if kind is Pipeline:
        for inner_name, inner in step.steps:
            columns = _after(inputs, columns, f"{name}: {inner_name}", inner)
        return columns
    if kind is ColumnTransformer:
        if step.transformer_weights:
            raise DataError(f"step {brief(name)}: transformer_weights cannot be folded; scale the columns instead.")
        out = []
        for inner_name, inner, _ in step.transformers_:
            part = [columns[j] for j in step._transformer_to_input_indices[inner_name]]
            if part:
                out += _after(inputs, part, f"{name}: {inner_name}", inner)
        return out
    if isinstance(step, SelectorMixin) and kind.transform is SelectorMixin.transform:
        return [columns[j] for j in np.flatnonzero(step.get_support())]
    if kind is p.StandardScaler:
        return _scaled(columns, step.mean_ if step.with_mean else None, step.scale_)
    if kind is p.RobustScaler:
        return _scaled(columns, step.center_, step.scale_)
    if kind is p.MaxAbsScaler and not getattr(step, "clip", False):
        return _scaled(columns, None, step.scale_)
    if kind is p.MinMaxScaler and not step.clip:
        return _scaled(columns, -np.asarray(step.min_) / step.scale_, 1.0 / np.asarray(step.scale_))
    if kind is p.FunctionTransformer and not step.kw_args:
        if step.func is None:
            return columns
        if step.func is np.log1p and plain:
            return [replace(column, is_log=True) for column in columns]
    if kind is p.OneHotEncoder and plain:
        return [made for j, column in enumerate(columns) for made in _levels(inputs, column.features[0], step, j, name)]
    if kind is SimpleImputer and plain and all(np.isnan(inputs.fill[c.features[0]]) for c in columns):
        return _imputed(inputs, columns, name, step)
    raise DataError(
        f"step {brief(name)} ({kind.__name__}) cannot be folded into a model. Use {KNOWN}, with any imputer, encoder "
        "or logarithm before scalers; or train on prepared features; or use scaling=, feature_transform="
        " and missing= of the ranker."
    )


def _scaled(columns: _Columns, center: Any, scale: Any) -> _Columns:
    centers = np.zeros(len(columns)) if center is None else np.asarray(center)
    scales = np.ones(len(columns)) if scale is None else np.asarray(scale)
    return [column.then(c, s) for column, c, s in zip(columns, centers, scales, strict=True)]


def _imputed(inputs: _Input, columns: _Columns, name: str, step: Any) -> _Columns:
    """The columns with missing values filled in, followed by columns that say where values were missing."""
    if not (isinstance(step.missing_values, float) and np.isnan(step.missing_values)):
        raise DataError(
            f"step {brief(name)}: SimpleImputer replaces {brief(step.missing_values)}; a model treats only NaN as "
            "missing."
        )
    out = []
    try:
        statistics = np.asarray(step.statistics_, dtype=np.float64)
    except ValueError as error:
        message = f"step {brief(name)}: SimpleImputer fills in text; let OneHotEncoder encode missing values."
        raise DataError(message) from error
    missing = [] if step.indicator_ is None else step.indicator_.features_.tolist()
    flags = [_Column((inputs.made(columns[j].features[0], None),)) for j in missing]
    for column, value in zip(columns, statistics, strict=True):
        inputs.fill[column.features[0]] = float(value)
        out += [column] if step.keep_empty_features or not np.isnan(value) else []
    return [*out, *flags]


def _levels(inputs: _Input, j: int, step: Any, k: int, name: str) -> _Columns:
    """The columns that a OneHotEncoder makes of feature j, the k-th feature that it encodes: one for each frequent
    level, then one for all others, without the level that it drops."""
    levels = [_level_text(level, name) for level in step.categories_[k].tolist()]
    rare = getattr(step, "infrequent_categories_", None)
    infrequent = set() if rare is None or rare[k] is None else {_level_text(v, name) for v in rare[k].tolist()}
    if len(set(levels)) < len(levels):
        raise DataError(f"step {brief(name)}: two levels of {brief(inputs.names[j])} are the same as text.")
    frequent = {level: inputs.made(j, level) for level in levels if level not in infrequent}
    out: dict[str | None, _Column] = {level: _Column((feature,)) for level, feature in frequent.items()}
    # the encoder also counts levels that it did not see in training as infrequent
    if infrequent and step.handle_unknown in ("infrequent_if_exist", "warn"):
        features = tuple(frequent.values()) or (inputs.made(j, levels[0]),)
        out[None] = _Column(features, (-1.0 if frequent else 0.0,) * len(features), center=-1.0)
    elif infrequent:
        features = tuple(inputs.made(j, level) for level in levels if level in infrequent)
        out[None] = _Column(features, (1.0,) * len(features))
    if step.drop_idx_ is not None and step.drop_idx_[k] is not None:
        gone = levels[step.drop_idx_[k]]
        del out[None if gone in infrequent else gone]
    return list(out.values())


def _level_text(level: Any, name: str) -> str:
    """A level as text, "" for a missing one."""
    if level is None or level != level:
        return ""
    if isinstance(level, str | int) and not isinstance(level, bool):
        return str(level)
    if isinstance(level, float) and level.is_integer():
        return str(int(level))
    raise DataError(f"step {brief(name)}: the level {brief(level)} is neither text nor a whole number.")


def _on_input(model: RankingModel, inputs: _Input, columns: Sequence[_Column]) -> RankingModel:
    """The model of the last step, expressed on the input of the first step."""
    plain = all(column.is_plain for column in columns)
    has_steps = any(f.steps is not None for f in model.features)
    if not plain:
        if model.logarithmic or any(f.kind != NONE for f in model.features):
            raise DataError(
                "the ranker applies logarithms or steps to features that the pipeline has scaled, which a model cannot "
                "represent; leave the scaler out (rankers scale features themselves)."
            )
        if model.per_query:
            raise DataError(f"{option('scaling', model.scaling)} cannot follow scaled or encoded features.")
        if any(f.missing is not None for f in model.features):
            raise DataError(
                "the ranker fills in missing values after the pipeline has scaled them; put a SimpleImputer first "
                "instead."
            )
    of_one = [column.features[0] for column in columns if len(column.features) == 1]
    if has_steps and len(set(of_one)) < len(of_one):
        raise DataError("the pipeline uses a feature twice, whose steps a model cannot add; use it once.")
    made: dict[int, Feature] = {}  # features of the input, with weight 1
    weight = np.zeros(len(inputs.names))
    constant = 0.0
    for f in model.features:
        source = columns[f.index]
        column = source.then(f.mean, f.scale)
        slope = f.coef / column.scale
        kind = LOG if column.is_log else f.transform
        constant -= slope * column.center
        for j, sign in zip(column.features, column.signs, strict=True):
            weight[j] += slope * sign
            first = made.setdefault(j, Feature(j, inputs.names[j], 1.0, transform=kind))
            if (first.transform == LOG) != (kind == LOG):
                raise DataError(f"the pipeline uses {brief(first.name)} with and without a logarithm.")
        if column.signs == (1.0,):
            median = None if source.is_log or f.median is None else source.center + source.scale * f.median
            scaled = f._replace(index=j, name=inputs.names[j], mean=column.center, scale=column.scale)
            made[j] = scaled._replace(transform=kind, median=median)
    features = [f._replace(coef=float(weight[j] * f.scale)) for j, f in made.items()]
    constant += sum(weight[f.index] * f.mean for f in features)
    features.sort(key=lambda f: -abs(f.coef))
    if constant and features and features[0].coef:  # the rest of the constant goes into the mean of the largest feature
        largest = features[0]
        features[0] = largest._replace(mean=float(largest.mean - constant / weight[largest.index]))
    imputed = [f if np.isnan(inputs.fill[f.index]) else f._replace(missing=inputs.fill[f.index]) for f in features]
    return replace(
        model,
        features=tuple(imputed),
        feature_names=tuple(inputs.names),
        scaling=model.scaling if plain else "standard",
        derived=inputs.derived,
    )
