"""Path makers: what turns an objective into a path of candidates.
A selection takes makers, whatever they vary along the path."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Protocol, Self

from sparserank.grid import ALPHA_MIN_RATIO, N_ALPHAS
from sparserank.objective import PairwiseObjective
from sparserank.paths.follow import DEFAULT_TOL, following
from sparserank.paths.result import PathResult, Point
from sparserank.paths.starts import Starts
from sparserank.penalties import FeatureRules, Penalty
from sparserank.penalties.nested import like_l1
from sparserank.solvers.lockstep import Steps


@dataclass(frozen=True)
class PathPlan:
    """How a path is made; each but the last is as in `following`.

    fold   the number of what is left out: what is drawn by lot depends on it
    """

    n_alphas: int = N_ALPHAS
    alpha_min_ratio: float = ALPHA_MIN_RATIO
    tol: float = DEFAULT_TOL
    max_iter: int = 300
    k: int | None = None
    starts: Starts | None = None
    done: Sequence[Point] = ()
    keep: Callable[[Point, int], None] | None = None
    feature_names: tuple[str, ...] = ()
    fold: int = -1


class PathMaker(Protocol):
    """A picklable value whose `path` asks for what it needs, so that several advance in lockstep.

    It must call plan.keep with every new point, take plan.done for granted, and let nothing else cross from point to
    point.
    """

    def path(self, objective: PairwiseObjective, plan: PathPlan) -> Steps[PathResult]: ...

    def n_points(self, plan: PathPlan) -> int:
        """Points of the path, at most: what progress is measured against."""
        ...


class RuledMaker(PathMaker, Protocol):
    """A path maker with rules for each feature, which can be put on features under several transforms; what a selection
    tries.

    selects      its models have features of weight 0: they are candidates by size, else point by point
    shrinks      models of each size are worth a refit without the penalty
    starts_from  the maker whose paths it starts from besides its own last solutions, or None
    """

    @property
    def selects(self) -> bool: ...

    @property
    def shrinks(self) -> bool: ...

    @property
    def starts_from(self) -> RuledMaker | None: ...

    @property
    def rules(self) -> FeatureRules:
        """What results call it, with its rules: a penalty, or the maker itself."""
        ...

    def under(self, rules: FeatureRules) -> RuledMaker:
        """The same under other rules per feature."""
        ...


@dataclass(frozen=True)
class PenaltyPath:
    """A penalty by falling strength; n_alphas and alpha_min_ratio, when given, instead of the plan's."""

    penalty: Penalty
    n_alphas: int | None = None
    alpha_min_ratio: float | None = None

    def path(self, objective: PairwiseObjective, plan: PathPlan) -> Steps[PathResult]:
        ratio = self.alpha_min_ratio or plan.alpha_min_ratio
        own = vars(replace(plan, n_alphas=self.n_points(plan), alpha_min_ratio=ratio))
        return following(objective, self.penalty, **{name: value for name, value in own.items() if name != "fold"})

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
        """A concave penalty starts from the l1 path under the same rules."""
        return None if self.penalty.is_convex else PenaltyPath(like_l1(self.penalty))

    @property
    def rules(self) -> Penalty:
        return self.penalty

    def under(self, rules: FeatureRules) -> PenaltyPath:
        return replace(self, penalty=self.penalty.with_rules_of(rules))


@dataclass(frozen=True, repr=False)
class SizedMaker(FeatureRules):
    """Base of makers that go through sizes under rules per feature of their own, such as `BestK`: a frozen dataclass
    with `path` and `n_points`, and a `name`. `select` takes it as it takes a penalty; alpha means nothing to it.

    respects   the rules that its models keep, of penalties.rules.RULES; `select` refuses the others, but for weights,
               which may be costs alone
    """

    respects: ClassVar[tuple[str, ...]] = ("drop",)
    selects: ClassVar[bool] = True
    shrinks: ClassVar[bool] = False

    @property
    def starts_from(self) -> PenaltyPath:
        """The l1 path under the same rules, whose sets may be tried too."""
        return PenaltyPath(like_l1(self))

    @property
    def rules(self) -> Self:
        return self

    def under(self, rules: FeatureRules) -> Self:
        return self.with_rules_of(rules)

    def path(self, objective: PairwiseObjective, plan: PathPlan) -> Steps[PathResult]:
        raise NotImplementedError

    def n_points(self, plan: PathPlan) -> int:
        raise NotImplementedError
