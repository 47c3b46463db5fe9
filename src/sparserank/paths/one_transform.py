"""A path on features under several transforms; each feature uses the one that separates preferred pairs best."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sparserank.objective import PairwiseObjective
from sparserank.paths.follow import PathPlan
from sparserank.paths.makers import RuledMaker
from sparserank.paths.result import PathResult
from sparserank.penalties import FeatureRules
from sparserank.solvers.lockstep import Steps


@dataclass(frozen=True)
class OneTransformEach:
    """A path maker: another maker on columns whose k-th block of n_features contains the features under transform k.

    The transform of a feature is the one with the largest |gradient| at 0 over the root of its pair norm (the
    correlation of differences with preferences), or the first of several; the other columns are never used. It is
    learned from the data of the objective, and so without the held-out queries of the fold.
    """

    maker: RuledMaker
    n_transforms: int

    def path(self, objective: PairwiseObjective, plan: PathPlan) -> Steps[PathResult]:
        n_features = objective.n_features // self.n_transforms
        rules = for_every_transform(self.maker.rules, self.n_transforms, n_features)
        norms = np.where(objective.varying, objective.pair_norms, 1.0)
        separation = np.where(objective.varying, np.abs(objective.gradient_at_zero) / np.sqrt(norms), 0.0)
        best = separation.reshape(self.n_transforms, n_features).argmax(axis=0)
        taken = best * n_features + np.arange(n_features)
        others = np.setdiff1d(np.arange(objective.n_features), taken)
        never = tuple(sorted({*rules.drop, *others.tolist()}))
        keep = tuple(j for j in rules.keep if j in set(taken.tolist()))
        own = replace(rules, drop=never, keep=keep)
        path = yield from self.maker.under(own).path(objective, plan)
        return replace(path, penalty=path.penalty.with_rules_of(self.maker.rules))  # rules of features, not of columns

    def n_points(self, plan: PathPlan) -> int:
        return self.maker.n_points(plan)


def for_every_transform(rules: FeatureRules, n_transforms: int, n_features: int) -> FeatureRules:
    """The rules of each feature, repeated for each of its columns."""

    def everywhere(features: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(j + k * n_features for k in range(n_transforms) for j in features)

    return replace(
        rules,
        weights=None if rules.weights is None else rules.weights * n_transforms,
        monotone=None if rules.monotone is None else rules.monotone * n_transforms,
        feature_groups=None if rules.feature_groups is None else rules.feature_groups * n_transforms,
        keep=everywhere(rules.keep),
        drop=everywhere(rules.drop),
    )
