"""Looking ahead on a path: while one problem is solved, the solution of the next is guessed and evaluated in the same
reads of X."""

from __future__ import annotations

import numpy as np

from sparserank.solvers.curvature import Curvature
from sparserank.solvers.problem import Penalised
from sparserank.solvers.quadratic import TIGHT, minimise_model, slightly_lifted
from sparserank.solvers.solution import Iterate, Stop
from sparserank.solvers.working_set import working_set
from sparserank.weighting import LossEvaluation

MAX_LOOKS = 3  # looks ahead per problem: if its solve takes more steps, the next solution is not near


class Ahead:
    """The next problem on a path, while the one before it is being solved.

    Its solution is predicted from the same quadratic model of the loss. Evaluating this second point in the same read
    costs a quarter of a read of X (dense float64; half of one in float32). If the point is close enough, the next
    problem is solved; otherwise its solve begins there.
    """

    def __init__(self, following: Penalised, stop: Stop) -> None:
        self._problem = following
        self._stop = stop
        self._looks = 0
        self.best: Iterate | None = None  # the best point of the next problem that was evaluated

    def guess(self, curvature: Curvature, here: Iterate) -> np.ndarray | None:
        """(n_features,) the solution predicted from the earlier guess, or else from `here`; None: not worth an
        evaluation, or the model does not improve on the earlier guess."""
        if self._looks == MAX_LOOKS:
            return None
        self._looks += 1
        problem = self._problem
        base = here if self.best is None else self.best
        columns, H = curvature.known(working_set(problem.objective, problem.penalty, base))
        slope = base.gradient[columns]
        drift = curvature.drift(columns, 1) if self.best is None else None
        if drift is not None:
            slope = slope + drift
        part = problem.penalty.restrict(columns, len(base.w))
        w = base.w.copy()
        w[columns] = minimise_model(slightly_lifted(H), slope, base.w[columns], part, TIGHT * self._stop.threshold)
        return None if self.best is not None and np.array_equal(w, base.w) else w

    def learn(self, w: np.ndarray, at: LossEvaluation) -> None:
        """Record that the guess was evaluated."""
        there = self._problem.iterate(w, at)
        if there.value < (np.inf if self.best is None else self.best.value):
            self.best = there
