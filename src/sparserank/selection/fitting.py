"""All paths of a job: from the store or computed, by threads that share one read of X or by processes."""

from __future__ import annotations

import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass

import numpy as np

from sparserank.paths import PathMaker, PenaltyPath, Point, l1_like
from sparserank.penalties import Penalty
from sparserank.runs.pool import run_pieces
from sparserank.runs.progress import Progress, TimeLeft
from sparserank.selection.candidates import FINAL, FoldedPaths
from sparserank.selection.store import SelectionStore

CHECKPOINT_S = 1.0  # at least between two checkpoints of unfinished paths
LEAST_PROCESS_WORK = 4e8  # values read by one pass of every solve: below, a second or two of work
MOST_PROCESS_BYTES = (
    48 << 20
)  # of X: above, threads share each pass as well as processes share the paths, without copies

Paths = dict[tuple[str, int], dict[str, np.ndarray]]
Computed = Generator[tuple[str, int, dict[str, np.ndarray], float], None, None]  # label, fold, path, seconds
Starts = dict[int, dict[str, np.ndarray]]


@dataclass(frozen=True)
class _OneFamily:
    """What a worker process gets: (family, folds, starts, known points) -> paths."""

    work: FoldedPaths

    def __call__(
        self, family: Family, folds: Sequence[int], starts: Starts | None, points: dict[int, list[Point]]
    ) -> dict[int, dict[str, np.ndarray]]:
        return self.work(family.maker, folds, starts, points, rough=family.rough)


@dataclass(frozen=True)
class Family:
    """The paths of one maker, without each fold and on all queries.

    start   label of the l1 family that they are started from
    rough   they are only started from
    """

    label: str
    maker: PathMaker
    start: str | None = None
    rough: bool = False


def families(penalties: Mapping[str, Penalty]) -> list[Family]:
    """What has to be fitted for these penalties, in an order in which it can be: concave ones start from an l1 path under the
    same rules, which is one of them or an extra, rough one."""
    first: list[Family] = []
    second: list[Family] = []
    starts: dict[Penalty, str] = {}
    for label, penalty in penalties.items():
        if penalty.is_convex:
            first.append(Family(label, PenaltyPath(penalty)))
            starts.setdefault(penalty.with_alpha(1.0), label)
    for label, penalty in penalties.items():
        if not penalty.is_convex:
            l1 = l1_like(penalty)
            if l1 not in starts:
                starts[l1] = f"start {len(starts) + 1} (l1)"
                first.append(Family(starts[l1], PenaltyPath(l1), rough=True))
            second.append(Family(label, PenaltyPath(penalty), starts[l1]))
    return first + second


class FittedPaths:
    """Every family on every fold.

    Small data go to processes, a path each, where Python itself would keep threads waiting; for large data all folds of a family
    advance together, threads sharing each pass. Both give the same bits.
    """

    def __init__(self, work: FoldedPaths, families: Sequence[Family], folds: Sequence[int], n_workers: int) -> None:
        self.work, self.families, self.folds, self.n_workers = work, families, folds, n_workers

    def all(self, store: SelectionStore | None, progress: Progress | None) -> Paths:
        """{(label, fold): path as arrays}; the order of finishing plays no part."""
        done: Paths = {}
        for family in self.families:
            for fold in self.folds:
                stored = store.load(_name(family.label, fold)) if store else None
                if stored is not None:
                    done[family.label, fold] = stored
        waiting = [(f, fold) for f in self.families for fold in self.folds if (f.label, fold) not in done]
        compute = self._by_processes if self._use_processes(len(waiting)) else self._in_lockstep
        with closing(
            compute(waiting, done, store, progress)
        ) as computed:  # or an error here would leave workers behind
            for label, fold, arrays, seconds in computed:
                done[label, fold] = arrays
                if store is not None:
                    store.save(_name(label, fold), arrays)
                    store.log({"event": "unit", "what": _what(label, fold), "seconds": round(seconds, 3)})
                    if all((label, f) in done for f in self.folds):
                        store.drop(_unfinished(label))
        return done

    def _use_processes(self, n_paths: int) -> bool:
        """Processes pay when there is enough work to start them for, and the data are small enough to hand over."""
        X = self.work.data.X
        size = X.data.nbytes
        values = self.work.data.n_docs * self.work.data.n_features
        enough = n_paths * self.work.settings.n_alphas * values >= LEAST_PROCESS_WORK
        return self.n_workers > 1 and n_paths > 1 and enough and size <= MOST_PROCESS_BYTES

    def _starts(self, family: Family, folds: Sequence[int], done: Paths) -> Starts | None:
        if family.start is None:
            return None
        return {f: {name: done[family.start, f][name] for name in ("alphas", "coefs")} for f in folds}

    def _by_processes(
        self,
        waiting: Sequence[tuple[Family, int]],
        done: Paths,
        store: SelectionStore | None,
        progress: Progress | None,
    ) -> Computed:
        n_all = len(self.families) * len(self.folds)
        report = progress or (lambda done, total, what, left: None)
        report(len(done), n_all, "resumed" if done else "start", None)
        left = TimeLeft([f.label for f, _ in waiting], min(self.n_workers, len(waiting)))
        task, n_done = _OneFamily(self.work.with_threads(1)), len(done)
        for started in (False, True):  # what others start from comes first
            part = [(f, fold) for f, fold in waiting if (f.start is not None) == started]
            arguments = [
                (f, [fold], self._starts(f, [fold], done), _stored_points(store, f.label, [fold])) for f, fold in part
            ]
            with closing(run_pieces(task, arguments, self.n_workers, processes=True)) as outcomes:
                for outcome in outcomes:
                    if outcome.error is not None:
                        raise outcome.error
                    family, fold = part[outcome.index]
                    yield family.label, fold, outcome.result[fold], outcome.seconds
                    n_done += 1
                    left.finished_one(family.label, outcome.seconds)
                    report(n_done, n_all, _what(family.label, fold), left.seconds())

    def _in_lockstep(
        self,
        waiting: Sequence[tuple[Family, int]],
        done: Paths,
        store: SelectionStore | None,
        progress: Progress | None,
    ) -> Computed:
        n_all = len(self.families) * len(self.folds)
        report = progress or (lambda done, total, what, left: None)
        report(len(done), n_all, "resumed" if done else "start", None)
        points = [f.label for f, _ in waiting for _ in range(f.maker.n_points(self.work.path_plan))]
        left = TimeLeft(points, 1)
        for family in self.families:
            folds = [fold for f, fold in waiting if f is family]
            if not folds:
                continue
            began = time.perf_counter()
            follow = _Following(family, folds, store, report, left, len(done), n_all)
            starts = self._starts(family, folds, done)
            pieces = self.work(family.maker, folds, starts, follow.points, follow.keep, rough=family.rough)
            seconds = (time.perf_counter() - began) / len(folds)
            for fold in folds:
                yield family.label, fold, pieces[fold], seconds
            follow.finished()


class _Following:
    """The points of one family's paths as they come: checkpoints and progress."""

    def __init__(
        self,
        family: Family,
        folds: Sequence[int],
        store: SelectionStore | None,
        report: Progress,
        left: TimeLeft,
        n_done: int,
        n_all: int,
    ) -> None:
        self._label, self._folds, self._store, self._report, self._left = family.label, folds, store, report, left
        self._n_done, self._n_all = n_done, n_all
        self.points = _stored_points(store, family.label, folds)
        for _ in range(sum(map(len, self.points.values()))):
            left.skip(family.label)
        self._saved = time.perf_counter()
        self._last: float | None = None  # the first point comes after scaling and compiling, and tells nothing

    def keep(self, fold: int, point: Point, n: int) -> None:
        self.points[fold].append(point)
        now = time.perf_counter()
        if self._last is None:
            self._left.skip(self._label)
        else:
            self._left.finished_one(self._label, now - self._last)
        self._last = now
        known, in_all = sum(map(len, self.points.values())), n * len(self._folds)
        if self._store is not None and now - self._saved >= CHECKPOINT_S and known < in_all:
            self._store.save(_unfinished(self._label), _write_points(self.points))
            self._saved = time.perf_counter()
        if known < in_all:
            self._report(self._n_done, self._n_all, f"{self._label}: {known} of {in_all} points", self._left.seconds())

    def finished(self) -> None:
        self._left.drop(self._label)
        self._report(self._n_done + len(self._folds), self._n_all, self._label, self._left.seconds())


def _write_points(points: Mapping[int, Sequence[Point]]) -> dict[str, np.ndarray]:
    arrays = {}
    for fold, known in points.items():
        numbers = [(p.loss, p.objective, p.kkt_violation, p.gap, p.n_iter, p.time_s) for p in known]
        arrays[f"coefs {fold}"] = np.array([p.w for p in known])
        arrays[f"numbers {fold}"] = np.array(numbers, dtype=np.float64)
        arrays[f"statuses {fold}"] = np.array([p.status for p in known], dtype="U32")
    return arrays


def _read_points(arrays: Mapping[str, np.ndarray], fold: int) -> list[Point]:
    if f"coefs {fold}" not in arrays:
        return []
    each = zip(*(arrays[f"{what} {fold}"] for what in ("coefs", "numbers", "statuses")), strict=True)
    return [
        Point(w, float(x[0]), float(x[1]), float(x[2]), float(x[3]), int(x[4]), float(x[5]), str(status))
        for w, x, status in each
    ]


def _stored_points(store: SelectionStore | None, label: str, folds: Sequence[int]) -> dict[int, list[Point]]:
    """What an earlier run knew of unfinished paths."""
    stored = store.load(_unfinished(label)) if store else None
    return {f: [] if stored is None else _read_points(stored, f) for f in folds}


def _unfinished(label: str) -> str:
    return f"unfinished-{label}"


def _name(label: str, fold: int) -> str:
    return f"{'final' if fold == FINAL else f'fold{fold}'}-{label}"


def _what(label: str, fold: int) -> str:
    return f"{label} {'final path' if fold == FINAL else f'fold {fold + 1}'}"
