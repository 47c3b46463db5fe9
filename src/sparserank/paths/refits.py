"""Refits on given columns: of the models of a path without their penalty (relaxed), of any sets; fixed formulas."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from sparserank.objective import PairwiseObjective
from sparserank.paths.follow import PathPlan, refit_strength, refitting
from sparserank.paths.makers import OnColumns
from sparserank.paths.result import PathResult, Point, n_used
from sparserank.paths.sizes import SizeOf, points_by_size
from sparserank.paths.starts import PathStarts
from sparserank.solvers.lockstep import Evaluate, Seconds, Steps
from sparserank.solvers.solution import Iterate

RELAX = (0.5, 1.0)  # shares of the way from a point to its refit
MAX_FEATURES = 100  # larger models are not refitted: they are hardly shrunk, and a refit would fit noise
MIN_TOL = 1e-6
TOUCH = 1e-100  # a weight that puts a feature into the support but changes no score


@dataclass(frozen=True)
class RefitPath(OnColumns):
    """A path maker. For the point that represents each size on another path (`plan.starts`), it makes points at the
    fractions RELAX of the way to the ridge solution on the features of that point (strength 1e-4 of their mean
    curvature, same sign rules); both have the alpha of that point. The full refit is certified for its ridge problem; a
    point on the way solves no problem and has no certificate.

    Source
        Meinshausen (2007), the relaxed lasso; Hastie, Tibshirani and Tibshirani (2020) for a mixture of both solutions.
    """

    monotone: tuple[int, ...] | None = None
    size_of: SizeOf = n_used

    def path(self, objective: PairwiseObjective, plan: PathPlan) -> Steps[PathResult]:
        source = plan.starts
        assert isinstance(source, PathStarts)
        nnz = n_used(source.coefs, objective.width)
        sizes = self.size_of(source.coefs, objective.width)
        # One point represents each size of the other path.
        chosen = [i for i in points_by_size(sizes, source.losses).values() if nnz[i] <= MAX_FEATURES]
        points: list[Point] = []
        last: Iterate | None = None
        for i in chosen:
            began = yield Seconds()
            start = source.coef(i)
            # Refit on the support of the point, warm-started from the last refit.
            full = yield from refitting(objective, start, max(plan.tol, MIN_TOL), self.monotone, last, source.scale)
            last = full.iterate
            for share in RELAX:
                now = yield Seconds()
                whole = Point.of(full, now - began)
                points.append(whole if share == 1.0 else _between(start, full.w, share, whole))
                began = now
                if plan.tell is not None:
                    plan.tell(len(RELAX) * len(chosen))
        # Points keep the strength of their source. Only full refits solve a ridge problem, so only they have its
        # strength.
        alphas = np.repeat(source.alphas[chosen], len(RELAX))
        solved = [refit_strength(objective, np.flatnonzero(source.coef(i))) for i in chosen]
        ridge = np.where(np.tile(RELAX, len(chosen)) == 1.0, np.repeat(solved, len(RELAX)), np.nan)
        scale = float(np.abs(objective.gradient_at_zero).max()) if source.scale is None else source.scale
        return PathResult.of(points, self.rules, alphas, float(source.alphas[0]), scale, objective, ridge=ridge)

    def n_points(self, plan: PathPlan) -> int:
        return len(RELAX) * plan.n_alphas


def _between(start: np.ndarray, end: np.ndarray, share: float, whole: Point) -> Point:
    """The model at a fraction of the way to a refit: it solves no problem, and its loss is not evaluated."""
    w = (1.0 - share) * start + share * end
    return replace(Point.not_certified(w, np.nan, whole.time_s), n_iter=whole.n_iter)


def refit_of(alphas: np.ndarray, alpha: float, relax: float) -> int | None:
    """Index on a refit path of the point that comes from strength alpha; None if its model was too large to be
    refitted."""
    at = np.flatnonzero(alphas == alpha)
    return int(at[RELAX.index(relax)]) if len(at) else None


@dataclass(frozen=True, eq=False)
class GivenSupports(OnColumns):
    """A path maker: the ridge solution on each of these sets of coefficients, as in `RefitPath`.

    starts   (n_sets, n_coefficients) CSR; each row starts a solve, and its entries are the set; an empty set gives the
             zero model
    monotone    sign rules of all coefficients, or None
    """

    starts: sp.csr_array
    monotone: tuple[int, ...] | None = None

    def path(self, objective: PairwiseObjective, plan: PathPlan) -> Steps[PathResult]:
        points, ridge = [], []
        for i in range(self.starts.shape[0]):
            began = yield Seconds()
            start = self.starts[[i]].toarray()[0]
            if start.any():
                solution = yield from refitting(objective, start, max(plan.tol, MIN_TOL), self.monotone)
                ridge.append(refit_strength(objective, np.flatnonzero(start)))
                now = yield Seconds()
                points.append(Point.of(solution, now - began))
            else:
                here = yield Evaluate(objective, start)
                ridge.append(np.nan)
                now = yield Seconds()
                points.append(Point.not_certified(start, here.value, now - began))
        return PathResult.of(
            points,
            self.rules,
            np.array(ridge),
            float(np.nanmax([*ridge, 0.0])),
            float(np.abs(objective.gradient_at_zero).max()),
            objective,
            ridge=np.array(ridge),
        )

    def n_points(self, plan: PathPlan) -> int:
        return int(self.starts.shape[0])


@dataclass(frozen=True)
class NamedFormulas(OnColumns):
    """A path maker with one point for each formula, independent of the training queries.

    names     of the formulas
    weights   of each formula, (column, weight); the others have weight 0
    """

    names: tuple[str, ...]
    weights: tuple[tuple[tuple[int, float], ...], ...]

    def path(self, objective: PairwiseObjective, plan: PathPlan) -> Steps[PathResult]:
        scale, points = objective.weighting.scale_of(objective.k), []
        for weights in self.weights:
            began = yield Seconds()
            w = np.zeros(objective.n_features)
            for j, weight in weights:
                w[j] = weight
            w = w if scale is None else w * scale[0]  # from units of the columns
            here = yield Evaluate(objective, w)
            now = yield Seconds()
            points.append(Point.not_certified(w, here.value, now - began))
        alpha_max = float(np.abs(objective.gradient_at_zero).max())
        return PathResult.of(points, self.rules, np.ones(len(points)), 1.0, alpha_max, objective)

    def n_points(self, plan: PathPlan) -> int:
        return len(self.names)
