"""Models of a path refitted for the deciding metric: by |delta metric| weights, polished, and half-way there."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from sparserank.metrics import Metric
from sparserank.objective import PairwiseObjective
from sparserank.paths.delta_weights import refit_by_delta
from sparserank.paths.follow import refit_problem, refitting
from sparserank.paths.makers import PathPlan
from sparserank.paths.metric_sample import MetricSample, metric_sample
from sparserank.paths.polishing import Blocks, polish
from sparserank.paths.relaxed import MIN_TOL
from sparserank.paths.result import PathResult, Point, n_used
from sparserank.paths.sizes import SizeOf, point_within
from sparserank.paths.starts import PathStarts
from sparserank.penalties import FeatureRules, Ridge
from sparserank.solvers import Solution, Status
from sparserank.solvers.lockstep import Evaluate, Seconds, Steps
from sparserank.solvers.solution import Iterate

REFITTED, POLISHED, HALF_POLISHED = "refitted", "polished", "half polished"
METRIC_KINDS: tuple[str, ...] = (REFITTED, POLISHED, HALF_POLISHED)
MAX_FEATURES = 60  # of a model that is refitted so
NOTHING = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True)
class MetricRefitPath:
    """A path maker. For the point that represents each of some sizes on another path (`plan.starts`), it makes refits
    for the metric, one of each of METRIC_KINDS, with the alpha of that point.

    All start from the full refit (ridge, with the same signs), or from the point if the maker does not shrink.
    They use only training queries of the objective, a sample if these are many. They solve no problem and have no
    certificate. If no ranking of the training queries changes the metric, the path has no point.

    Parameters
        metric  NDCG; if it has no cutoff, at NO_CUTOFF
        sizes   largest sizes, rising; seed: of the sample and its halves, with the number of the fold
        rules   of the features: which are kept, and which groups are scaled as a whole
        monotone   of all coefficients, or None
        shrunk  whether the points of the other path are shrunk and have a refit
    """

    metric: Metric
    sizes: tuple[float, ...]
    seed: int
    rules: FeatureRules
    n_features: int
    monotone: tuple[int, ...] | None = None
    shrunk: bool = True
    size_of: SizeOf = n_used

    def path(self, objective: PairwiseObjective, plan: PathPlan) -> Steps[PathResult]:
        source = plan.starts
        assert isinstance(source, PathStarts)
        assert source.losses is not None
        points = list(plan.done)
        chosen = self._chosen(source, objective.width) if self._sample(objective, plan) is not None else []
        for i in chosen[len(points) // len(METRIC_KINDS) :]:
            began = yield Seconds()
            relaxed = yield from self._refits(objective, source.coef(i), plan, source.scale)
            for w in relaxed[len(points) % len(METRIC_KINDS) :]:  # the first may be known already
                here = yield Evaluate(objective, w)
                now = yield Seconds()
                solution = Solution(Iterate(w, here, here.value), np.nan, None, 0, Status.NOT_CERTIFIED)
                points.append(Point.of(solution, now - began))
                began = now
                if plan.keep is not None:
                    plan.keep(points[-1], len(METRIC_KINDS) * len(chosen))
        return PathResult.of(
            points,
            Ridge(),
            np.repeat(source.alphas[chosen], len(METRIC_KINDS)),
            float(source.alphas[0]),
            float(np.abs(objective.gradient_at_zero).max()),
            objective.n_pairs,
            objective.total_weight,
            plan.feature_names or tuple(f"f{j + 1}" for j in range(objective.n_features // objective.width)),
            width=objective.width,
            ridge=np.full(len(points), np.nan),
        )

    def n_points(self, plan: PathPlan) -> int:
        return len(METRIC_KINDS) * len(self.sizes)

    def _chosen(self, source: PathStarts, width: int) -> list[int]:
        """The points for the sizes, each once."""
        assert source.losses is not None
        sizes, nnz = self.size_of(source.coefs, width), n_used(source.coefs, width)
        found = [point_within(sizes, source.losses, k) for k in self.sizes]
        return [i for i in dict.fromkeys(found) if i is not None and nnz[i] <= MAX_FEATURES]

    def _sample(
        self, objective: PairwiseObjective, plan: PathPlan, columns: np.ndarray = NOTHING
    ) -> MetricSample | None:
        return metric_sample(objective, self.metric, columns, (self.seed, plan.fold + 1))

    def _refits(
        self, objective: PairwiseObjective, start: np.ndarray, plan: PathPlan, scale: float | None
    ) -> Steps[list[np.ndarray]]:
        """The coefficients of each kind; scale: of the tolerance."""
        full = start
        if self.shrunk:
            full = (yield from refitting(objective, start, max(plan.tol, MIN_TOL), self.monotone, scale=scale)).w
        columns = np.flatnonzero(full)
        sample = self._sample(objective, plan, columns)
        if sample is None:  # no ranking by these columns alone changes the metric
            return [full] * len(METRIC_KINDS)
        ridge, _ = refit_problem(objective, columns, None, plan.tol, self.monotone)
        return self._on_sample(sample, full, columns, ridge, objective.width)

    def _on_sample(
        self, sample: MetricSample, full: np.ndarray, columns: np.ndarray, ridge: Ridge, width: int
    ) -> list[np.ndarray]:
        weighted = refit_by_delta(sample, full[columns], ridge, columns, len(full))
        blocks = self._blocks(columns, width)
        factor = polish(sample, full[columns], blocks)[blocks.of_column]
        put = partial(_put, len(full), columns)
        return [put(weighted), put(full[columns] * factor), put(full[columns] * (0.5 + 0.5 * factor))]

    def _blocks(self, columns: np.ndarray, width: int) -> Blocks:
        """Curves and groups as a whole; a single coefficient may change its sign if it is unconstrained."""
        feature = columns // width % self.n_features
        of = self.rules.group_of(self.n_features)[feature] if self.rules.feature_groups is not None else feature
        _, of_column = np.unique(of, return_inverse=True)
        alone = np.bincount(of_column) == 1
        free = np.ones(len(columns), dtype=bool) if self.monotone is None else np.array(self.monotone)[columns] == 0
        n = len(alone)
        kept = np.isin(feature, list(self.rules.keep))
        return Blocks(
            of_column,
            np.bincount(of_column, kept, n) > 0,
            ~(alone & (width == 1) & (np.bincount(of_column, free, n) == np.bincount(of_column, minlength=n))),
        )


def _put(n: int, columns: np.ndarray, values: np.ndarray) -> np.ndarray:
    """(n,) coefficients that are 0 elsewhere."""
    w = np.zeros(n)
    w[columns] = values
    return w


def metric_refit_of(alphas: np.ndarray, alpha: float, kind: str) -> int | None:
    """The point of a path of metric refits that comes from the point of strength alpha; None if there is none."""
    at = np.flatnonzero(alphas == alpha)
    return int(at[METRIC_KINDS.index(kind)]) if len(at) else None
