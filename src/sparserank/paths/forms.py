"""A path on features that are there in several forms: each enters in the one that separates preferred pairs best."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sparserank.objective import PairwiseObjective
from sparserank.paths.best_k import BestKPath
from sparserank.paths.makers import PathPlan, PenaltyPath
from sparserank.paths.result import PathResult
from sparserank.penalties import BestK, Penalty
from sparserank.solvers.lockstep import Steps


@dataclass(frozen=True)
class OneFormEach:
    """A path maker: that of a penalty on columns of which the k-th n_features are the features in their k-th form.

    The form is the one of the largest |gradient| at 0 over the root of its pair norm (the correlation of a difference
    with the preference), the first one among equals; the other columns are never used. It is learned from what the
    objective holds, so without the queries of the fold.
    """

    maker: PenaltyPath | BestKPath
    n_forms: int

    def path(self, objective: PairwiseObjective, plan: PathPlan) -> Steps[PathResult]:
        n_features = objective.n_features // self.n_forms
        penalty = in_every_form(self.maker.penalty, self.n_forms, n_features)
        norms = np.where(objective.varying, objective.pair_norms, 1.0)
        separation = np.where(objective.varying, np.abs(objective.gradient_at_zero) / np.sqrt(norms), 0.0)
        best = separation.reshape(self.n_forms, n_features).argmax(axis=0)
        taken = best * n_features + np.arange(n_features)
        others = np.setdiff1d(np.arange(objective.n_features), taken)
        never = tuple(sorted({*penalty.never_use, *others.tolist()}))
        keep = tuple(j for j in penalty.always_keep if j in set(taken.tolist()))
        chosen = replace(penalty, never_use=never, always_keep=keep)
        if isinstance(chosen, BestK):
            return BestKPath(chosen).path(objective, plan)
        assert isinstance(self.maker, PenaltyPath)
        return replace(self.maker, penalty=chosen).path(objective, plan)

    def n_points(self, plan: PathPlan) -> int:
        return self.maker.n_points(plan)


def in_every_form(penalty: Penalty, n_forms: int, n_features: int) -> Penalty:
    """The penalty with the rules of a feature for each of its columns."""

    def everywhere(features: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(j + k * n_features for k in range(n_forms) for j in features)

    return replace(
        penalty,
        weights=None if penalty.weights is None else penalty.weights * n_forms,
        signs=None if penalty.signs is None else penalty.signs * n_forms,
        groups=None if penalty.groups is None else penalty.groups * n_forms,
        always_keep=everywhere(penalty.always_keep),
        never_use=everywhere(penalty.never_use),
    )
