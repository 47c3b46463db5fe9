"""Paths that are not finished yet: their points in the run directory, from which a later run goes on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sparserank.paths import Point
from sparserank.selection.store import SelectionStore


def unfinished(label: str) -> str:
    """The name under which the points of a family are stored."""
    return f"unfinished-{label}"


def points_as_arrays(points: Mapping[int, Sequence[Point]]) -> dict[str, np.ndarray]:
    """{fold: points} as arrays for the store."""
    arrays = {}
    for fold, known in points.items():
        numbers = [(p.loss, p.objective, p.kkt_violation, p.gap, p.n_iter, p.time_s) for p in known]
        arrays[f"coefs {fold}"] = np.array([p.w for p in known])
        arrays[f"numbers {fold}"] = np.array(numbers, dtype=np.float64)
        arrays[f"statuses {fold}"] = np.array([p.status for p in known], dtype="U32")
    return arrays


def stored_points(store: SelectionStore | None, label: str, folds: Sequence[int]) -> dict[int, list[Point]]:
    """{fold: points} that an earlier run knew of these folds."""
    stored = store.load(unfinished(label)) if store else None
    return {fold: [] if stored is None else _points(stored, fold) for fold in folds}


def _points(arrays: Mapping[str, np.ndarray], fold: int) -> list[Point]:
    if f"coefs {fold}" not in arrays:
        return []
    each = zip(*(arrays[f"{what} {fold}"] for what in ("coefs", "numbers", "statuses")), strict=True)
    return [
        Point(w, float(x[0]), float(x[1]), float(x[2]), float(x[3]), int(x[4]), float(x[5]), str(status))
        for w, x, status in each
    ]
