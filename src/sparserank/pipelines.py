"""Convert a fitted scikit-learn pipeline of imputers, scalers, selectors and a ranker
to one model of the pipeline's input."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sparserank.data.tables.frames import QID
from sparserank.errors import DataError
from sparserank.model.ranking_model import RankingModel
from sparserank.shards.scaling import FeatureScaling
from sparserank.text import brief

KNOWN = (
    "SimpleImputer, StandardScaler, MinMaxScaler and MaxAbsScaler (without clip), RobustScaler and feature selectors"
)


@dataclass(frozen=True)
class _Affine:
    """x -> (x[source] - center) / scale: columns after the steps so far; fill (n_features_in,) replaces missing x."""

    source: np.ndarray
    center: np.ndarray
    scale: np.ndarray
    fill: np.ndarray

    def take(self, columns: np.ndarray) -> _Affine:
        return replace(self, source=self.source[columns], center=self.center[columns], scale=self.scale[columns])

    def then(self, center: np.ndarray, scale: np.ndarray) -> _Affine:
        """This map followed by y -> (y - center) / scale."""
        return replace(self, center=self.center + self.scale * center, scale=self.scale * scale)

    @property
    def is_identity(self) -> bool:
        return bool((self.center == 0).all() and (self.scale == 1).all())


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
    d = int(first.n_features_in_)
    so_far = _Affine(np.arange(d), np.zeros(d), np.ones(d), np.full(d, np.nan))
    names = tuple(feature_names(first, d))
    if QID in names:
        raise DataError(
            "the pipeline was fitted on a frame with a column 'qid', which its steps treat as a feature. Drop the "
            "column and route the ids instead (sklearn.config_context(enable_metadata_routing=True), fit(X, y, "
            "qid=qid))."
        )
    for name, step in steps:
        so_far = _after(so_far, name, step)
    return _on_input(ranker.to_model(), so_far, names)


def _after(so_far: _Affine, name: str, step: Any) -> _Affine:
    from sklearn import preprocessing as p
    from sklearn.feature_selection import SelectorMixin
    from sklearn.impute import SimpleImputer

    kind = type(step)
    if isinstance(step, SelectorMixin):
        return so_far.take(np.flatnonzero(step.get_support()))
    ones = np.ones(len(so_far.source))
    if kind is p.StandardScaler or kind is p.RobustScaler:
        center = getattr(step, "mean_" if kind is p.StandardScaler else "center_", None)
        used = step.with_mean if kind is p.StandardScaler else step.with_centering
        scale = getattr(step, "scale_", None)
        return so_far.then(np.asarray(center) if used else 0.0 * ones, ones if scale is None else np.asarray(scale))
    if kind is p.MaxAbsScaler and not getattr(step, "clip", False):
        return so_far.then(0.0 * ones, np.asarray(step.scale_))
    if kind is p.MinMaxScaler and not step.clip:
        return so_far.then(-np.asarray(step.min_) / step.scale_, 1.0 / np.asarray(step.scale_))
    if kind is SimpleImputer and not step.add_indicator and so_far.is_identity and np.isnan(so_far.fill).all():
        statistics = np.asarray(step.statistics_, dtype=np.float64)
        if not (isinstance(step.missing_values, float) and np.isnan(step.missing_values)):
            raise DataError(
                f"step {brief(name)}: SimpleImputer replaces {brief(step.missing_values)}; a model treats only NaN as "
                "missing."
            )
        kept = np.arange(len(statistics)) if step.keep_empty_features else np.flatnonzero(~np.isnan(statistics))
        fill = so_far.fill.copy()
        fill[so_far.source] = statistics
        return replace(so_far, fill=fill).take(kept)
    raise DataError(
        f"step {brief(name)} ({kind.__name__}) cannot be folded into a model. Use {KNOWN}, with any imputer as the "
        "first step; or train on features that are already prepared; or use scaling=, feature_transform= and "
        "missing= of the ranker."
    )


def _on_input(model: RankingModel, so_far: _Affine, names: Sequence[str]) -> RankingModel:
    """The model of the last step, expressed on the input of the first step."""
    if not so_far.is_identity and (model.transform is not None or model.curves):
        raise DataError(
            "the ranker applies logarithms or curves to features that the pipeline has scaled, which a model cannot "
            "represent; leave the scaler out (rankers scale features themselves)."
        )
    d = len(names)
    source = so_far.source
    center, scale = model.scaling.center, model.scaling.scale
    coef, own_center, own_scale = np.zeros(d), np.zeros(d), np.ones(d)
    coef[source] = model.coef
    own_center[source] = so_far.center + so_far.scale * center
    own_scale[source] = so_far.scale * scale
    fill = so_far.fill
    if model.fill_values is not None:
        if not so_far.is_identity:
            raise DataError(
                "the ranker fills in missing values after the pipeline has scaled them; put a SimpleImputer first "
                "instead."
            )
        fill = fill.copy()
        fill[source] = np.where(np.isnan(fill[source]), model.fill_values, fill[source])
    medians = np.full(d, np.nan)
    if model.medians is not None:
        medians[source] = so_far.center + so_far.scale * model.medians
    method = model.scaling.method if so_far.is_identity else "standard"
    of_input: dict[str, Any] = {}
    if model.transform is not None:
        kinds, constants = ["none"] * d, np.ones(d)
        for k, j in enumerate(source.tolist()):
            kinds[j], constants[j] = model.transform.kinds[k], model.transform.constants[k]
        of_input["transform"] = replace(model.transform, kinds=tuple(kinds), constants=constants)
    curves = {int(source[k]): curve for k, curve in model.curves.items()}
    return replace(
        model,
        coef=coef,
        feature_names=tuple(names),
        scaling=FeatureScaling(method, own_center, own_scale),
        curves=curves,
        fill_values=None if np.isnan(fill).all() else fill,
        medians=medians,
        **of_input,
    )
