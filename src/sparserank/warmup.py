"""Load the kernels of the main job, compiling them first after an installation."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from sparserank._kernel_cache import is_compiled
from sparserank.objective import PairwiseObjective
from sparserank.penalties import L1
from sparserank.solvers import ProxNewton, Stop, solve
from sparserank.solvers._descent_kernels import descend
from sparserank.solvers.quadratic import minimise_model


def _tiny_objective() -> PairwiseObjective:
    X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [0.5, 0.0], [1.5, 2.0], [0.2, 0.1]])
    relevance = np.array([0.0, 1.0, 2.0, 0.0, 1.0, 0.0])
    query_ptr = np.array([0, 3, 6])
    return PairwiseObjective(X, relevance, query_ptr, n_threads=1)


def load_pass_kernels() -> None:
    """Load the kernels of the passes over X and of the Hessian."""
    objective = _tiny_objective()
    w = np.zeros(objective.shards.n_columns)
    key = objective.weighting.key
    objective.shards.call("value_and_gradient", w[None], key, [0])
    objective.shards.call("hessians", key, [(w, np.arange(len(w)), 0, 0, 1)])


def load_other_kernels() -> None:
    """Load the kernels of the pair norms, coordinate descent and the proximal operators."""
    _ = _tiny_objective().pair_norms
    penalty = L1(0.01)
    penalty.prox(np.ones(2), 1.0)
    minimise_model(np.eye(2), np.ones(2), np.zeros(2), penalty.restrict(np.arange(2), 2), 1e-3)


def load_kernels() -> None:
    """Solve a problem of six documents, so that no measured step includes loading or compiling."""
    solve(ProxNewton(), _tiny_objective(), L1(0.01), stop=Stop(max_iter=5), warn=False)


def start_compiling() -> subprocess.Popen | None:
    """On the first run after an installation, compile half of the kernels in a second process, while this process reads
    the files and compiles their reader.

    Numba compiles one function at a time per process; the disk cache passes the result on.
    """
    if is_compiled(descend):
        return None
    return subprocess.Popen(
        [sys.executable, "-c", "from sparserank.warmup import load_pass_kernels; load_pass_kernels()"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def finish_compiling(process: subprocess.Popen | None) -> None:
    """Compile the other half here, wait for the second process and load its half, or compile that too if it failed."""
    load_other_kernels()
    if process is not None:
        process.wait()
    load_kernels()


@contextmanager
def warming_up() -> Iterator[None]:
    """After an installation, compile kernels while the caller reads its files inside the context."""
    process = start_compiling()
    try:
        yield
    except BaseException:
        if process is not None:
            process.kill()
            process.wait()
        raise
    finish_compiling(process)
