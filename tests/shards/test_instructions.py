"""Instructions that are requested by name do what is documented; kernels run as Python too; freed memory goes back to
the system."""

import ctypes
import os
import platform
import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest
from numba import njit

import sparserank as sr
from sparserank.bins import STRAIGHT, fit_bins
from sparserank.execution import return_freed_memory
from sparserank.objective import PairwiseObjective
from sparserank.shards._instructions import add_at, prefetch


@njit
def _add_two(sums: np.ndarray, at: np.ndarray, values: np.ndarray) -> None:
    for i in range(len(at)):
        add_at(sums, at[i], (values[i, 0], values[i, 1]))


@njit
def _add_four(sums: np.ndarray, at: np.ndarray, values: np.ndarray) -> None:
    for i in range(len(at)):
        add_at(sums, at[i], (values[i, 0], values[i, 1], values[i, 2], values[i, 3]))


@njit
def _ask(X: np.ndarray) -> None:
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            prefetch(X, i, j)


@pytest.mark.parametrize(("n", "add"), [(2, _add_two), (4, _add_four)])
@pytest.mark.parametrize("kind", [np.int64, np.uint64])
def test_values_are_added_one_after_the_other_at_any_place(kind: type, n: int, add: Callable) -> None:
    rng = np.random.default_rng(0)
    at = rng.integers(0, 30, size=500).astype(kind)  # even and odd places, that is: not aligned
    values = rng.standard_normal((500, n))
    sums, expected = np.zeros(40), np.zeros(40)
    add(sums[3:37], at, values)
    for c, own in zip(at.astype(int), values, strict=True):
        expected[3 + c : 3 + c + n] += own
    np.testing.assert_array_equal(sums, expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.uint8, np.int32])
def test_asking_for_memory_changes_nothing(dtype: type) -> None:
    X = np.arange(60).astype(dtype).reshape(5, 12)
    for view in (X, X[1:4], X[:, 2:9], X[:0]):
        before = view.copy()
        _ask(view)
        np.testing.assert_array_equal(view, before)


KERNELS_AS_PYTHON = """
import numpy as np
import sparserank as sr
from sparserank.bins import STRAIGHT, fit_bins
from sparserank.objective import PairwiseObjective
data = sr.datasets.make_ranking(6, (3, 9), 5, n_informative=2, n_redundant=1, noise=0.5, random_state=0).data
for shape in (STRAIGHT, fit_bins(data)):
    objective = PairwiseObjective(data.replace_features(data.X.astype(np.float32)), shape=shape)
    value, gradient = objective.value_and_gradient(np.linspace(-1.0, 1.0, objective.n_features))
    print(repr(float(value)), *map(repr, gradient.tolist()))
"""


def test_kernels_run_as_python_too() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", KERNELS_AS_PYTHON],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    data = sr.datasets.make_ranking(6, (3, 9), 5, n_informative=2, n_redundant=1, noise=0.5, random_state=0).data
    for shape, line in zip((STRAIGHT, fit_bins(data)), ran.stdout.splitlines(), strict=True):
        objective = PairwiseObjective(data.replace_features(data.X.astype(np.float32)), shape=shape)
        value, gradient = objective.value_and_gradient(np.linspace(-1.0, 1.0, objective.n_features))
        np.testing.assert_allclose([float(x) for x in line.split()], [value, *gradient], rtol=1e-6)


# Blocks of 50 kB between small objects that stay: 200 MB that free() alone does not return.
HELD = """
import numpy as np
from sparserank.execution import return_freed_memory
def resident():
    with open("/proc/self/statm") as text:
        return int(text.read().split()[1]) * 4096 / 1e6
small, blocks = [], []
for i in range(4000):
    blocks.append(np.ones(6250)); small.append(np.ones(50))
blocks.clear()
before = resident()
return_freed_memory()
print(before - resident())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library")
def test_places_between_small_objects_are_returned() -> None:
    done = subprocess.run([sys.executable, "-c", HELD], capture_output=True, text=True, timeout=60, check=True)
    assert float(done.stdout) > 100


@pytest.mark.parametrize("error", [AttributeError, OSError, TypeError])
def test_other_c_libraries_are_left_alone(monkeypatch: pytest.MonkeyPatch, error: type[Exception]) -> None:
    def unknown(name: object) -> None:
        raise error

    monkeypatch.setattr(ctypes, "CDLL", unknown)
    return_freed_memory()
