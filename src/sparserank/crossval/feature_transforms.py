"""The transforms under which features enter a selection: unchanged, under a transform, or as curves or steps."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, NamedTuple, TypeVar

import numpy as np

from sparserank.curves import STRAIGHT, Bins, Knots, Shape, fit_bins, fit_knots
from sparserank.data.dataset import RankingDataset
from sparserank.data.transformed import changes_features, fit_transform, transformed
from sparserank.export import Engine
from sparserank.model.ranking_model import RankingModel, curve_model, step_model
from sparserank.options.paths import DEFAULT_KNOTS
from sparserank.paths import BoostedSteps, CurvePath, PathMaker, RuledMaker
from sparserank.paths.equal_columns import equal_columns
from sparserank.penalties import L1, FeatureRules
from sparserank.shards.scaling import FeatureScaling
from sparserank.transforms import CURVES, DISTILLED, LOG, NONE, STEPS, Transform

Rules = TypeVar("Rules", bound=FeatureRules)
NO_RULES = L1()


@dataclass(frozen=True)
class FeatureTransform:
    """One way in which features enter. transform: of the features; None: unchanged. knots: of curves of the transformed
    features. left_out: numbers of features that do not enter. least: share of the sum of absolute weights below which
    a weight counts as 0. teacher: linear models learn the order of its scores in place of the labels. said: a sentence
    on equal columns, which do not all enter."""

    name: str
    transform: Transform | None = None
    knots: Shape = STRAIGHT
    left_out: tuple[int, ...] = ()
    least: float = 0.0
    teacher: Teacher | None = None
    said: str = ""

    def label(self, penalty: str) -> str:
        """The label of a penalty under this transform."""
        if self.teacher is not None:
            on = DISTILLED[self.name]
            return f"distilled {penalty}" if on == NONE else f"distilled {penalty} on {on}"
        return penalty if self.name in (NONE, STEPS) else f"{penalty} on {self.name}"

    def on(self, maker: RuledMaker) -> PathMaker:
        """The path maker that applies a maker to the columns of this transform."""
        return CurvePath(maker) if self.knots.curved and maker.shrinks else maker

    def limited(self, rules: Rules) -> Rules:
        """The rules of a penalty, without the features that do not enter."""
        return replace(rules, drop=tuple(sorted({*rules.drop, *self.left_out}))) if self.left_out else rules

    def monotone(self, rules: FeatureRules) -> tuple[int, ...] | None:
        """The sign rules of all coefficients under the rules of a penalty."""
        monotone = self.knots.monotone(rules.monotone)
        if monotone is None or not self.knots.curved:
            return monotone
        return tuple(np.repeat(monotone, self.knots.n_coordinates).tolist())

    def lacking(self, engine: Engine) -> str:
        """The parts that an engine cannot run; "" if it can run all."""
        kinds, shape = set() if self.transform is None else set(self.transform.kinds), self.knots
        return engine.lacks(kinds, curves=isinstance(shape, Knots), steps=isinstance(shape, Bins))

    @property
    def columns_of_feature(self) -> int:
        """Number of adjacent columns of a feature: the ramps of its curve, or a single column."""
        return self.knots.m

    def names(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """The names of the columns."""
        if self.transform is None:
            return names
        return tuple(n if k == NONE else f"{k}({n})" for n, k in zip(names, self.transform.kinds, strict=True))

    def model(
        self,
        coef: np.ndarray,
        names: tuple[str, ...],
        scaling: FeatureScaling,
        blocks: np.ndarray | None = None,
        **more: Any,
    ) -> RankingModel:
        """The model with coefficients (n_coefficients,) of the scaled columns, or, with blocks, of curves."""
        if isinstance(self.knots, Knots):
            assert blocks is not None
            return curve_model(self.knots, blocks, coef, names, self.transform, **more)
        if isinstance(self.knots, Bins):
            return step_model(self.knots, coef, names, **more)
        return RankingModel(coef, names, scaling, transform=self.transform, **more)


RAW = FeatureTransform(NONE)


class Teacher(NamedTuple):
    """The maker of a model of steps, and their bins."""

    maker: BoostedSteps
    bins: Bins


def feature_transforms(
    data: RankingDataset,
    names: Sequence[str],
    n_knots: int = DEFAULT_KNOTS,
    directions: np.ndarray | None = None,
    rules: FeatureRules = NO_RULES,
    last: Collection[str] = (),
) -> list[FeatureTransform]:
    """The transforms with these names ('none', 'log', 'curves(log)', ...), learned from training data.

    directions   (n_features,) allowed directions of curves: 1, -1, or 0 for both
    rules        of teachers, and by which one of equal columns is chosen; last: columns that are chosen last
    """
    any_equal, _ = equal_columns(data, rules, last=last)

    @cache
    def learned(kind: str) -> Transform | None:
        return None if kind == NONE else fit_transform(data, kind)

    bins = cache(partial(fit_bins, data))
    out = []
    for name in names:
        if name in CURVES:
            own = learned(CURVES[name])
            knots = fit_knots(transformed(data, own), n_knots, directions)
            with_knots = "" if n_knots == DEFAULT_KNOTS else f" with {n_knots} knots"
            found = FeatureTransform(f"{name}{with_knots}", own, knots)
        elif name in DISTILLED:
            teacher = Teacher(BoostedSteps(draws=1).with_rules_of(rules), bins())
            found = FeatureTransform(name, learned(DISTILLED[name]), teacher=teacher)
        elif name == STEPS:
            found = FeatureTransform(name, knots=bins())
        else:
            found = FeatureTransform(name, learned(name))
        if any_equal:  # of columns that are equal as they are, those that are equal under the transform
            seen = transformed(data, found.transform)
            left_out, said = equal_columns(seen, rules, per_query=not found.knots.curved, last=last)
            found = replace(found, left_out=left_out, said=said)
        out.append(found)
    return out


def logs_differ(data: RankingDataset) -> bool:
    """True if the logarithm of some feature is not nearly linear in the feature itself; labels are not used."""
    return changes_features(data, fit_transform(data, LOG))
