"""Checkpoints of unfinished paths: their points in the run directory, from which a later run continues."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import scipy.sparse as sp

from sparserank.crossval.path_files import csr_arrays, csr_from
from sparserank.npy import checked
from sparserank.paths import Point
from sparserank.workdir.pieces import WorkStore


def save_points(store: WorkStore, label: str, points: Mapping[int, Sequence[Point]], turn: int) -> None:
    """Save {fold: points} of a task. Even and odd turns have separate places,
    so that a kill during a write leaves the other one intact."""
    name = _name(label, turn)
    store.drop(name)
    store.save(name, _arrays(points))


def drop_points(store: WorkStore, label: str) -> None:
    """Drop the checkpoints of a finished task."""
    for turn in (0, 1):
        store.drop(_name(label, turn))


def stored_points(
    store: WorkStore | None, label: str, folds: Sequence[int], n_coefficients: int
) -> dict[int, list[Point]]:
    """{fold: points} of these folds from an earlier run."""

    def read(arrays: dict[str, np.ndarray]) -> dict[int, list[Point]]:
        return {fold: _points(arrays, fold, n_coefficients) for fold in folds}

    known: dict[int, list[Point]] = {fold: [] for fold in folds}
    for turn in (0, 1) if store is not None else ():
        assert store is not None
        found = store.load(_name(label, turn), read) or {}
        known = {fold: max(points, found.get(fold, []), key=len) for fold, points in known.items()}
    return known


def _name(label: str, turn: int) -> str:
    return f"unfinished-{label}-{turn % 2}"


def _arrays(points: Mapping[int, Sequence[Point]]) -> dict[str, np.ndarray]:
    arrays: dict[str, np.ndarray] = {}
    for fold, known in points.items():
        numbers = [(p.loss, p.objective, p.kkt_violation, p.gap, p.n_iter, p.time_s) for p in known]
        coefs = sp.vstack([p.coef for p in known], format="csr") if known else sp.csr_array((0, 0))
        arrays |= csr_arrays(f"coefs {fold}", coefs)
        foreseen = [i for i, p in enumerate(known) if p.ahead is not None]
        aheads = sp.vstack([known[i].ahead for i in foreseen], format="csr") if foreseen else sp.csr_array((0, 0))
        arrays |= csr_arrays(f"aheads {fold}", aheads)
        arrays[f"foreseen {fold}"] = np.array(foreseen, dtype=np.int64)
        arrays[f"numbers {fold}"] = np.array(numbers, dtype=np.float64)
        arrays[f"statuses {fold}"] = np.array([p.status for p in known], dtype="U32")
    return arrays


def _points(arrays: dict[str, np.ndarray], fold: int, n_coefficients: int) -> list[Point]:
    if f"numbers {fold}" not in arrays or len(arrays[f"numbers {fold}"]) == 0:
        return []
    n, n_ahead = len(arrays[f"numbers {fold}"]), len(arrays[f"foreseen {fold}"])
    numbers, statuses, foreseen = ("f", (n, 6)), ("U", (n,)), ("i", (None,))
    checked(arrays, **{f"numbers {fold}": numbers, f"statuses {fold}": statuses, f"foreseen {fold}": foreseen})
    coefs = csr_from(f"coefs {fold}", arrays, (n, n_coefficients))
    aheads = csr_from(f"aheads {fold}", arrays, (n_ahead, n_coefficients) if n_ahead else (0, 0))
    ahead_of = {int(i): aheads[[row]] for row, i in enumerate(arrays[f"foreseen {fold}"])}
    each = zip(range(coefs.shape[0]), arrays[f"numbers {fold}"], arrays[f"statuses {fold}"], strict=True)
    points = []
    for i, x, status in each:
        loss, objective, kkt_violation, gap, n_iter, time_s = x.tolist()
        points.append(
            Point(coefs[[i]], loss, objective, kkt_violation, gap, int(n_iter), time_s, str(status), ahead_of.get(i))
        )
    return points
