"""Path makers: objects that turn an objective into a path of candidates. A selection accepts any path maker, whatever
varies along its path."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Protocol, Self

from sparserank.objective import PairwiseObjective
from sparserank.options.paths import FIT_PATH
from sparserank.paths.follow import PathPlan, following
from sparserank.paths.result import PathResult
from sparserank.penalties import FeatureRules, Penalty, Ridge
from sparserank.penalties.groups import like_l1
from sparserank.penalties.rules import SIZE
from sparserank.solvers.lockstep import Steps


class PathMaker(Protocol):
    """A picklable value whose `path` yields requests, so that several paths advance in lockstep. It calls plan.tell
    after every point."""

    def path(self, objective: PairwiseObjective, plan: PathPlan) -> Steps[PathResult]: ...

    def n_points(self, plan: PathPlan) -> int:
        """Largest possible number of points of the path; progress is relative to it."""
        ...


class RuledMaker(PathMaker, Protocol):
    """A path maker with rules per feature; a selection tries such makers.

    selects      whether its models leave out features: candidates are then made by size, otherwise point by point
    shrinks      whether models of each size benefit from a refit without the penalty
    starts_from  the maker whose paths provide starts in addition to its last solutions, or None
    """

    @property
    def selects(self) -> bool: ...

    @property
    def shrinks(self) -> bool: ...

    @property
    def starts_from(self) -> RuledMaker | None: ...

    @property
    def rules(self) -> FeatureRules:
        """The object shown in results, with its rules: a penalty, or the maker itself."""
        ...


class OnColumns:
    """Base of makers that are given the columns of each model, whatever the transform, and use no sparsity penalty."""

    selects: ClassVar[bool] = False
    shrinks: ClassVar[bool] = False
    starts_from: ClassVar[None] = None
    rules: ClassVar[Ridge] = Ridge()


@dataclass(frozen=True)
class PenaltyPath:
    """A penalty by decreasing strength; n_alphas, if set, and alpha_min_ratio replace those of the plan."""

    penalty: Penalty
    n_alphas: int | None = None
    alpha_min_ratio: float = FIT_PATH["alpha_min_ratio"].default

    def path(self, objective: PairwiseObjective, plan: PathPlan) -> Steps[PathResult]:
        if self.n_alphas is not None:
            plan = replace(plan, n_alphas=self.n_alphas, alpha_min_ratio=self.alpha_min_ratio)
        return following(objective, self.penalty, plan)

    def n_points(self, plan: PathPlan) -> int:
        return self.n_alphas or plan.n_alphas

    @property
    def selects(self) -> bool:
        return not self.penalty.smooth_at_zero

    @property
    def shrinks(self) -> bool:
        return self.selects

    @property
    def starts_from(self) -> PenaltyPath | None:
        """The l1 path with the same rules, for a concave penalty."""
        return None if self.penalty.is_convex else PenaltyPath(like_l1(self.penalty))

    @property
    def rules(self) -> Penalty:
        return self.penalty


@dataclass(frozen=True, repr=False)
class SizedMaker(FeatureRules):
    """Base of makers with one point per size and rules per feature, such as `BestK`: a frozen dataclass with `path`,
    `n_points` and a `name`. `select` accepts it like a penalty; alpha has no meaning for it.
    """

    along = SIZE
    selects: ClassVar[bool] = True
    shrinks: ClassVar[bool] = False

    @property
    def starts_from(self) -> PenaltyPath | None:
        return None

    @property
    def rules(self) -> Self:
        return self

    def with_alpha(self, alpha: float) -> Self:
        return self

    def up_to(self, k: int) -> Self:
        """The maker of models of at most k features, if that changes them."""
        return self

    def path(self, objective: PairwiseObjective, plan: PathPlan) -> Steps[PathResult]:
        raise NotImplementedError

    def n_points(self, plan: PathPlan) -> int:
        raise NotImplementedError
