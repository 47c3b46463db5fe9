"""Load the kernels of the main job, compiling them first after an installation."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np

from sparserank.objective import PairwiseObjective
from sparserank.penalties import L1
from sparserank.solvers import ProxNewton, Stop, solve
from sparserank.solvers._coordinate_descent_kernels import descend


def load_kernels() -> None:
    """Solve a problem of six documents, so that no measured step pays for loading or compiling."""
    X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [0.5, 0.0], [1.5, 2.0], [0.2, 0.1]])
    objective = PairwiseObjective(X, np.array([0.0, 1.0, 2.0, 0.0, 1.0, 0.0]), np.array([0, 3, 6]), n_threads=1)
    solve(ProxNewton(), objective, L1(0.01), stop=Stop(max_iter=5), warn=False)
    L1(0.01).prox(np.ones(2), 1.0)


def start_compiling() -> subprocess.Popen | None:
    """After an installation, compile the solver's kernels in a second process, while this one reads (and compiles its reader).

    Numba compiles one function at a time per process; its disk cache hands the result over.
    """
    cache = Path(descend.stats.cache_path or "")
    if any(cache.glob("*descend*.nbi")):
        return None
    return subprocess.Popen(
        [sys.executable, "-c", "from sparserank.warmup import load_kernels; load_kernels()"],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip


def finish_compiling(process: subprocess.Popen | None) -> None:
    """Wait for the second process and load what it compiled; if it failed, compile here."""
    if process is not None:
        process.wait()
    load_kernels()
