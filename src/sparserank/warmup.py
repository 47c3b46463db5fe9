"""Load the kernels of the main job, compiling them first after an installation."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from sparserank._kernel_cache import is_compiled
from sparserank.curves import STRAIGHT, Knots, Straight
from sparserank.objective import PairwiseObjective
from sparserank.penalties import L1
from sparserank.penalties.nested import Nested
from sparserank.solvers import ProxNewton, Stop, solve
from sparserank.solvers._descent_kernels import descend
from sparserank.solvers.quadratic import minimise_model


def _tiny_objective(knots: Knots | Straight = STRAIGHT) -> PairwiseObjective:
    X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [0.5, 0.0], [1.5, 2.0], [0.2, 0.1]])
    relevance, query_ptr = np.array([0.0, 1.0, 2.0, 0.0, 1.0, 0.0]), np.array([0, 3, 6])
    return PairwiseObjective(X, relevance, query_ptr, knots=knots, n_threads=1)


def _knots() -> Knots:
    return Knots(np.array([[0.0, 0.5, 2.0], [0.0, 1.0, 2.0]]), np.array([2, 2]), np.zeros(2))


def load_pass_kernels(curves: bool = False) -> None:
    """Load the kernels of the passes over X and of the Hessian; curves: and of the Hessian of curves."""
    objective = _tiny_objective()
    _pass(objective)
    _hessian(objective)
    if curves:
        _hessian(_tiny_objective(_knots()))


def load_other_kernels(curves: bool = False) -> None:
    """Load the kernels of the pair norms, coordinate descent and the proximal operators; curves: and those of
    block descent and of the passes over curves, which need some of `load_pass_kernels`."""
    _ = _tiny_objective().pair_norms
    penalty = L1(0.01)
    penalty.prox(np.ones(2), 1.0)
    minimise_model(np.eye(2), np.ones(2), np.zeros(2), penalty.restrict(np.arange(2), 2), 1e-3)
    if curves:
        nested = Nested(0.01, width=2, kappa=(1.0, 1.0))
        minimise_model(np.eye(4), np.ones(4), np.zeros(4), nested.restrict(np.arange(4), 4), 1e-3)
        _pass(_tiny_objective(_knots()))


def _pass(objective: PairwiseObjective) -> None:
    w = np.zeros((1, objective.shards.n_columns))
    objective.shards.call("value_and_gradient", w, objective.weighting.key, [0])


def _hessian(objective: PairwiseObjective) -> None:
    w = np.zeros(objective.shards.n_columns)
    objective.shards.call("hessians", objective.weighting.key, [(w, np.arange(len(w)), 0, 0, 1)])


def load_kernels() -> None:
    """Solve a problem of six documents, so that no measured step includes loading or compiling."""
    solve(ProxNewton(), _tiny_objective(), L1(0.01), stop=Stop(max_iter=5), warn=False)


def load_curve_kernels() -> None:
    """Load the kernels of curves, so that they are compiled once here and not by every worker."""
    objective = _tiny_objective(_knots())
    penalty = Nested(0.01, width=objective.width, kappa=(1.0, 1.0))
    solve(ProxNewton(), objective, penalty, stop=Stop(max_iter=5), warn=False)


def start_compiling(curves: bool = False) -> subprocess.Popen | None:
    """On the first run after an installation, compile half of the kernels in a second process, while this process reads
    the files and compiles their reader. curves: whether models with curves may be tried.

    Numba compiles one function at a time per process; the disk cache passes the result on.
    """
    if is_compiled(descend):
        return None
    return subprocess.Popen(
        [sys.executable, "-c", f"from sparserank.warmup import load_pass_kernels; load_pass_kernels({curves})"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def finish_compiling(process: subprocess.Popen | None, curves: bool = False) -> None:
    """Compile the other half here, wait for the second process and load its half, or compile that too if it failed."""
    load_other_kernels(curves and process is not None)
    if process is not None:
        process.wait()
    load_kernels()


@contextmanager
def warming_up(curves: bool = False) -> Iterator[None]:
    """After an installation, compile kernels while the caller reads its files inside the context. curves: whether
    models of curves may be tried."""
    process = start_compiling(curves)
    try:
        yield
    except BaseException:
        if process is not None:
            process.kill()
            process.wait()
        raise
    finish_compiling(process, curves)
