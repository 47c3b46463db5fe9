"""Proximal Newton on a working set with the pair-free Hessian: the default solver."""

from __future__ import annotations

from functools import partial

import numpy as np

from sparserank.errors import DataError
from sparserank.options.arguments import check_arguments
from sparserank.solvers.ahead import Ahead
from sparserank.solvers.curvature import Curvature
from sparserank.solvers.lockstep import Evaluate, Steps
from sparserank.solvers.problem import Penalised
from sparserank.solvers.quadratic import TIGHT, minimise_model, newton_on_support, shortened, slightly_lifted
from sparserank.solvers.solution import Iterate, Status, Stop
from sparserank.solvers.working_set import working_set

SUFFICIENT = 0.01  # share of the predicted decrease that a step must achieve
NOISE = 4e-15  # relative rounding of an objective value (float64 sums)
MAX_TRIALS = 30
INNER_ACCURACY = 0.02  # far from the solution, models are solved to this share of the present violation
STALE = 0.6  # the Hessian is renewed when a step keeps more than this share of the violation


class ProxNewton:
    """Proximal Newton: working set, quadratic model, coordinate descent on the model, line search on the objective.

    Parameters
    ----------
    curvature : Curvature, optional
        Cache of Hessian entries, shared by solvers on the same objective.
    ahead : Ahead, optional
        Evaluates the predicted end point of a step before the step ends.

    Notes
    -----
    On convex problems, a step that does not decrease the objective enough is shortened. Concave penalties are not
    convex along a segment: a coordinate may jump to 0 where the model, which is valid only nearby, underestimates the
    loss. If a step fails, a Newton step on the current support is tried, and then a model with extra curvature. One
    instance can solve several problems on the same objective; it keeps its estimate of the Hessian.

    Examples
    --------
    >>> import sparserank as sr
    >>> from sparserank.solvers import PairwiseObjective, ProxNewton, solve
    >>> data = sr.datasets.make_ranking(20, 8, 6, n_informative=2, n_redundant=1).data
    >>> solve(ProxNewton(), PairwiseObjective(data), sr.penalties.L1(0.1)).status.value
    'optimal'
    """

    gives_up = Status.STALLED

    def __init__(self, curvature: Curvature | None = None, ahead: Ahead | None = None) -> None:
        """curvature: existing estimate of the objective's Hessian, default none; ahead: the next problem on a path."""
        check_arguments(ProxNewton.__init__, locals())
        self.n_iter = 0
        self.curvature = curvature
        self._ahead = ahead
        self._damping = 0.0

    def __repr__(self) -> str:
        return "ProxNewton()"

    def begin(self, problem: Penalised, stop: Stop) -> None:
        objective = problem.objective
        penalty = problem.penalty
        if not (penalty.is_convex or penalty.separable or penalty.blockwise):
            raise DataError(
                f"ProxNewton needs a penalty that is convex or a sum over features; {penalty.name} is neither. Use "
                "Fista."
            )
        if self.curvature is None or self.curvature.objective is not objective:
            self.curvature = Curvature(objective)
        self._problem = problem
        self._objective = objective
        self._penalty = penalty
        self._stop = stop
        self._usable = objective.varying & penalty.usable(objective.n_features)
        self._last_violation = np.inf
        self._before: Iterate | None = None
        self._damping = 0.0
        self.n_iter = 0

    def step(self, iterate: Iterate, violation: float) -> Steps[Iterate | None]:
        assert self.curvature is not None
        self.n_iter += 1
        # Renew the Hessian if the last step left most of the violation. The change of the gradient along that step
        # corrects the Hessian, or a sampled one that replaces it (BFGS).
        if violation > STALE * self._last_violation:
            self.curvature.doubt()
        if self._before is not None:
            self.curvature.learn(self._before, iterate)
        self._last_violation = violation
        self._before = iterate
        # Choose the working set: non-zero coordinates, and zero ones whose gradient is near its bound, without those
        # that gap-safe screening excludes (theory.md section 1).
        ws = working_set(self._objective, self._penalty, iterate)
        H = yield from self.curvature.near(iterate, ws)
        # Far from the solution the model is solved loosely, near it to a tenth of the tolerance of the solve.
        tol = TIGHT * self._stop.threshold
        if violation >= 1e3 * self._stop.threshold:
            tol = max(INNER_ACCURACY * violation, tol)
        # Newton step on the working set. `drift` predicts how the Hessian changes on the way to the solution.
        drift = self.curvature.drift(ws)
        following = yield from self._descend(iterate, ws, H, drift, violation, tol)
        # If no step from a sampled Hessian lowers the objective, repeat with the exact one.
        if following is None and self.curvature.is_sampled:
            self.curvature.make_exact()
            H = yield from self.curvature.near(iterate, ws)
            following = yield from self._descend(iterate, ws, H, None, violation, tol)
        # Last resort for a concave penalty: a step along one coordinate whose model lies above the loss.
        if following is None and self._penalty.separable and not self._penalty.is_convex:
            following = yield from self._majorised_coordinate_step(iterate)
        return following

    def _descend(
        self, iterate: Iterate, ws: np.ndarray, H: np.ndarray, drift: np.ndarray | None, violation: float, tol: float
    ) -> Steps[Iterate | None]:
        """The step on the working set that passes the decrease test; None if rounding hides any decrease.

        drift (len(ws),): expected change of the gradient in addition to H times the step; dropped if the step with it
        fails.
        """
        penalty = self._penalty
        curvature = self.curvature
        assert curvature is not None
        # A predicted decrease smaller than the rounding of the objective cannot be tested.
        noise = NOISE * (abs(iterate.value) + abs(float(iterate.gradient @ iterate.w)) + iterate.loss)
        H = slightly_lifted(H)
        largest = float(H.diagonal().max(initial=1e-300))
        part = penalty.restrict(ws, len(iterate.w))
        length = 1.0
        ahead = self._ahead
        target = None
        local = False
        for trial_number in range(MAX_TRIALS):
            if target is None:
                # Minimise the quadratic model of the loss plus the exact penalty over the working set.
                model = H + self._damping * np.eye(len(ws)) if self._damping else H
                find = newton_on_support if local else partial(minimise_model, tol=tol)
                slope = iterate.gradient[ws] if drift is None else iterate.gradient[ws] + drift
                u = find(model, slope, iterate.w[ws], part)
                delta = u - iterate.w[ws]
                target = iterate.w.copy()
                target[ws] = u
                # Predict the change of the objective: linear in the loss for a convex penalty (the usual test of
                # proximal Newton methods), with the quadratic term for a concave one.
                predicted = float(iterate.gradient[ws] @ delta) + penalty.value(target) - penalty.value(iterate.w)
                if not penalty.is_convex:
                    predicted += 0.5 * float(delta @ model @ delta)
                # With drift, the model's minimum need not be a descent direction; then drift is dropped.
                if drift is not None and not predicted < 0.0:
                    drift = None
                    target = None
                    continue
                if not delta.any() and not local:
                    return None
            # Trial points lie on the segment from the iterate to the model's minimum; the first is the minimum.
            w = target if length == 1.0 else iterate.w + length * (target - iterate.w)
            trial = yield from self._evaluate(w, ahead, iterate)
            ahead = None
            change = trial.value - iterate.value
            # Accept a sufficient decrease, and reduce the damping for the next step.
            if change <= SUFFICIENT * length * predicted and change < 0.0:
                self._damping = 0.0 if self._damping < 1e-3 * largest else 0.25 * self._damping
                return trial
            if change <= noise and self._problem.violation(trial) < violation:
                return trial  # below the rounding of the value, the violation decides
            # The step failed. The model without drift is tried before the step is shortened.
            if drift is not None:
                drift = None
                target = None
                continue
            # The loss differs from its model, so the next step gets a new Hessian.
            curvature.renew()
            if abs(length * predicted) <= noise and not local:
                return None
            # Convex penalty: line search.
            if penalty.is_convex:
                length = shortened(length, predicted, change)
                continue
            # Concave penalty: a shorter step may fail too. Try one Newton step on the current support, then models with
            # more and more curvature.
            target = None
            local = trial_number == 0 and penalty.separable
            if not local:
                self._damping = max(4.0 * self._damping, 0.05 * largest)
        return None

    def _evaluate(self, w: np.ndarray, ahead: Ahead | None, here: Iterate) -> Steps[Iterate]:
        """The iterate at w. The same pass over the data evaluates the guess for the next problem of the path, if there
        is one."""
        assert self.curvature is not None
        guess = None if ahead is None else ahead.guess(self.curvature, here)
        if ahead is None or guess is None:
            return (yield from self._problem.evaluate(w))
        there, at = yield Evaluate(self._objective, np.array([guess, w]))  # the objective caches the last point
        ahead.learn(guess, there)
        return self._problem.iterate(w, at)

    def _majorised_coordinate_step(self, iterate: Iterate) -> Steps[Iterate | None]:
        """Prox step of the one coordinate that moves most, at the largest curvature of the loss along it.

        The quadratic is then above the loss, so the objective falls even if the other models were not accurate.
        """
        # h_j = 2 sum_p v_p k_pj^2 bounds the curvature of the loss along coordinate j (theory.md section 2).
        h = np.where(self._usable, self._objective.curvature, 1.0)
        target = self._penalty.prox(iterate.w - iterate.gradient / h, 1.0 / h)
        residual = np.where(self._usable, h * np.abs(target - iterate.w), 0.0)
        # Move the coordinate that is farthest from its prox fixed point, in gradient units.
        j = int(np.argmax(residual))
        w = iterate.w.copy()
        w[j] = target[j]
        trial = yield from self._problem.evaluate(w)
        return trial if trial.value < iterate.value else None
