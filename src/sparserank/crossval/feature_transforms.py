"""The transforms under which features enter a selection: unchanged, under a transform, or as steps."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, TypeVar

import numpy as np

from sparserank.bins import STRAIGHT, Bins, Shape, fit_bins
from sparserank.crossval.teachers import Teacher, TeachingTrees
from sparserank.data.dataset import RankingDataset
from sparserank.data.transformed import changes_features, fit_transform, transformed
from sparserank.export import Engine
from sparserank.model.ranking_model import RankingModel, step_model
from sparserank.paths import BoostedSteps
from sparserank.paths.equal_columns import equal_columns
from sparserank.penalties import L1, FeatureRules
from sparserank.shards.scaling import FeatureScaling
from sparserank.transforms import DISTILLED, LOG, NONE, STEPS, Transform

Rules = TypeVar("Rules", bound=FeatureRules)
NO_RULES = L1()


@dataclass(frozen=True)
class FeatureTransform:
    """One way in which features enter a selection.

    transform   of the features; None: unchanged
    shape       how values become columns
    left_out    numbers of features that do not enter
    least       share of the sum of absolute weights below which a weight counts as 0
    teacher     linear models learn the order of its scores in place of the labels; None: the labels
    note        a sentence about equal columns, if some do not enter
    of_people   whether models learn only from the queries that people graded
    """

    name: str
    transform: Transform | None = None
    shape: Shape = STRAIGHT
    left_out: tuple[int, ...] = ()
    least: float = 0.0
    teacher: Teacher | None = None
    note: str = ""
    of_people: bool = False

    def label(self, penalty: str) -> str:
        """The label of a penalty under this transform."""
        if self.teacher is not None:
            on = DISTILLED[self.name]
            return f"distilled {penalty}" if on == NONE else f"distilled {penalty} on {on}"
        return penalty if self.name in (NONE, STEPS) else f"{penalty} on {self.name}"

    def limited(self, rules: Rules) -> Rules:
        """The rules of a penalty, without the features that do not enter."""
        return replace(rules, drop=tuple(sorted({*rules.drop, *self.left_out}))) if self.left_out else rules

    def lacking(self, engine: Engine) -> str:
        """The parts that an engine cannot run; "" if it can run all."""
        kinds = set() if self.transform is None else set(self.transform.kinds)
        return engine.lacks(kinds, steps=self.shape.stepped)

    def names(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """The names of the columns."""
        if self.transform is None:
            return names
        return tuple(n if k == NONE else f"{k}({n})" for n, k in zip(names, self.transform.kinds, strict=True))

    def model(self, coef: np.ndarray, names: tuple[str, ...], scaling: FeatureScaling, **fields: Any) -> RankingModel:
        """The model with coefficients (n_coefficients,) of the scaled columns."""
        if isinstance(self.shape, Bins):
            return step_model(self.shape, coef, names, **fields)
        return RankingModel.from_arrays(coef, names, scaling, transform=self.transform, **fields)


RAW = FeatureTransform(NONE)


def feature_transforms(
    data: RankingDataset,
    names: Sequence[str],
    rules: FeatureRules = NO_RULES,
    last: Collection[str] = (),
    trees: TeachingTrees | None = None,
) -> list[FeatureTransform]:
    """The transforms with these names ('none', 'log', 'distilled', ...), learned from training data.

    rules   of the teacher; they also decide which one of equal columns enters
    last    columns that are left out in favour of equal ones, unless they are to be kept or are cheaper
    trees   of the teacher
    """
    any_equal, _ = equal_columns(data, rules, last=last)

    @cache
    def learned(kind: str) -> Transform | None:
        return None if kind == NONE else fit_transform(data, kind)

    bins = cache(partial(fit_bins, data))
    teacher = cache(lambda: Teacher(BoostedSteps(draws=1).with_rules_of(rules), bins(), trees))
    out = []
    for name in names:
        if name in DISTILLED:
            feature_transform = FeatureTransform(name, learned(DISTILLED[name]), teacher=teacher())
        elif name == STEPS:
            feature_transform = FeatureTransform(name, shape=bins())
        else:
            feature_transform = FeatureTransform(name, learned(name))
        if any_equal:  # columns that are equal unchanged may differ under the transform
            seen = transformed(data, feature_transform.transform)
            left_out, note = equal_columns(seen, rules, per_query=not feature_transform.shape.stepped, last=last)
            feature_transform = replace(feature_transform, left_out=left_out, note=note)
        out.append(feature_transform)
    return out


def logs_differ(data: RankingDataset) -> bool:
    """True if the logarithm of some feature is not nearly linear in the feature itself; labels are not used."""
    return changes_features(data, fit_transform(data, LOG))
