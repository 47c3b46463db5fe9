"""Load (or, after an installation, compile) the kernels of the main job, so that no measured step pays for it."""

from __future__ import annotations

import numpy as np

from sparserank.objective import PairwiseObjective
from sparserank.penalties import L1
from sparserank.solvers import ProxNewton, Stop, solve


def load_kernels() -> None:
    """Solve a problem of six documents."""
    X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [0.5, 0.0], [1.5, 2.0], [0.2, 0.1]])
    objective = PairwiseObjective(X, np.array([0.0, 1.0, 2.0, 0.0, 1.0, 0.0]), np.array([0, 3, 6]), n_threads=1)
    solve(ProxNewton(), objective, L1(0.01), stop=Stop(max_iter=5), warn=False)
