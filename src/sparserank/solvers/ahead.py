"""Looking ahead on a path: while one problem is solved, the next one's solution is guessed and evaluated in the same
reads of X."""

from __future__ import annotations

import numpy as np

from sparserank.solvers.curvature import Curvature
from sparserank.solvers.problem import Penalised
from sparserank.solvers.quadratic import TIGHT, minimise_model, slightly_lifted
from sparserank.solvers.solution import Iterate, Stop
from sparserank.solvers.working_set import working_set
from sparserank.weighting import Evaluation

MAX_LOOKS = 3  # while one problem is solved: where it takes more steps than that, the next one is not near


class Ahead:
    """The problem of a path that comes after the one that is being solved.

    Its solution is foreseen by the same quadratic model of the loss. A second place costs a quarter of a read of X
    (dense float64; half of one in float32); where it turns out to be near enough, the next problem is solved, else it
    begins there.
    """

    def __init__(self, following: Penalised, stop: Stop) -> None:
        self._problem, self._stop = following, stop
        self._looks = 0
        self.found: Iterate | None = None  # of the following problem

    def guess(self, curvature: Curvature, here: Iterate) -> np.ndarray | None:
        """(n_features,) the solution as the model has it, from the place found before or else from here; None: not
        worth a look, or the model knows no better than what was found."""
        if self._looks == MAX_LOOKS:
            return None
        self._looks += 1
        problem, base = self._problem, here if self.found is None else self.found
        columns, H = curvature.known(working_set(problem.objective, problem.penalty, base))
        slope = base.gradient[columns]
        drift = curvature.drift(columns, 1) if self.found is None else None
        if drift is not None:
            slope = slope + drift
        part = problem.penalty.restrict(columns, len(base.w))
        w = base.w.copy()
        w[columns] = minimise_model(slightly_lifted(H), slope, base.w[columns], part, TIGHT * self._stop.threshold)
        return None if self.found is not None and np.array_equal(w, base.w) else w

    def learn(self, w: np.ndarray, at: Evaluation) -> None:
        """The guess was evaluated."""
        there = self._problem.iterate(w, at)
        if there.value < (np.inf if self.found is None else self.found.value):
            self.found = there
