"""All paths of a job: read from the store or computed, by threads that share one read of X or by processes."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from itertools import product

import numpy as np

from sparserank.crossval.checkpoints import drop_points, save_points, stored_points
from sparserank.crossval.convergence import warn_unsolved
from sparserank.crossval.families import Family
from sparserank.crossval.feature_transforms import FeatureTransform
from sparserank.crossval.fitted_path import FittedPath
from sparserank.crossval.folded_paths import FINAL, FoldedPaths, PathRequest
from sparserank.crossval.path_files import packed, unpacked
from sparserank.data.dataset import RankingDataset
from sparserank.paths import PathStarts, Point
from sparserank.workdir.pieces import WorkStore
from sparserank.workdir.processes import kept_workers, run_pieces
from sparserank.workdir.work import Progress, TimeLeft, Work

CHECKPOINT_S = 1.0  # at least between two checkpoints of unfinished paths, a family each
CHECKPOINT_SHARE = 0.05  # and no more of the time than this
MAX_TOGETHER = 12  # paths in lockstep, or one family: more hold more orders of documents than they save reads of X
MIN_PROCESS_WORK = 4e8  # values read by one pass of every solve, and SOLVE_WORK each: below, a few seconds of work
SOLVE_WORK = 1e5  # what Python itself does for a solve, in values that a pass reads in that time
# Of X, and of X of the judged documents. Above, threads share each pass as well as processes share the paths, and need
# no copies.
MAX_PROCESS_BYTES = 48 << 20

Paths = dict[tuple[str, int], FittedPath]  # by label and fold
# Family, fold, path, seconds that it took, how many are left then.
Computed = Generator[tuple[Family, int, FittedPath, float, Callable[[], float | None]], None, None]
Report = Callable[[str, float | None], None]  # what is done, seconds left


@dataclass(frozen=True)
class _OnePath:
    """The task of a worker process."""

    work: FoldedPaths

    def __call__(self, wanted: PathRequest) -> FittedPath:
        return self.work([wanted])[0]


class _Kept:
    """Fitted paths in a store, as arrays; of: {name: (family, the object that computes it, fold)}.
    Checkpoints of a family are removed with its last path."""

    def __init__(self, store: WorkStore, of: Mapping[str, tuple[Family, FoldedPaths, int]]) -> None:
        self._store, self._of = store, of
        self._waiting = set(of)

    def load(self, name: str) -> FittedPath | None:
        family, work, fold = self._of[name]
        known = work.scaling_method, work.column_names, family.kind, work.transform.knots
        values = len(work.metrics), work.n_judged if fold == FINAL else int((work.fold == fold).sum())
        wanted = family.scored and values[1] > 0
        fitted: FittedPath | None = self._store.load(name, lambda a: unpacked(a, *known, values if wanted else None))
        if fitted is not None:
            self._waiting.discard(name)
        return fitted

    def save(self, name: str, fitted: FittedPath) -> None:
        self._store.save(name, packed(fitted))
        self._waiting.discard(name)
        label = self._of[name][0].label
        if not any(self._of[other][0].label == label for other in self._waiting):
            drop_points(self._store, label)


class FittedPaths:
    """The paths of every family on every fold, one transform after another (their features are different copies).

    Small data are processed by one process per path, because threads would wait for Python itself. For large data, all
    paths that can be started advance together, and threads share each pass. Both give the same bits.
    """

    def __init__(
        self,
        works: Mapping[FeatureTransform, FoldedPaths],
        families: Sequence[Family],
        folds: Sequence[int],
        n_workers: int,
    ) -> None:
        self.works, self.families, self.folds, self.n_workers = works, families, folds, n_workers

    def all(self, store: WorkStore | None, progress: Progress | None) -> Paths:
        """{(label, fold): path}, whatever the order of finishing. Issues a ConvergenceWarning if solves missed their
        tolerance."""
        names = {(f.label, fold): _name(f.label, fold) for f in self.families for fold in self.folds}
        kinds = {name: label for (label, _), name in names.items()}
        keeper = None if store is None else _Kept(store, self._computed_by(names))
        work: Work[FittedPath] = Work(kinds, keeper=keeper, progress=progress)
        done = {key: work.results[name] for key, name in names.items() if name in work.results}
        waiting = {f.label: [fold for fold in self.folds if (f.label, fold) not in done] for f in self.families}
        points = sum(
            len(p)
            for f in self.families
            for p in stored_points(store, f.label, waiting[f.label], self.works[f.transform].n_coefficients).values()
        )
        work.begin(f", and {points} points of unfinished paths" if points else "")
        if self._use_processes(sum(map(len, waiting.values()))):
            coming = self._by_processes(waiting, done, store)
        else:
            coming = self._in_lockstep(waiting, done, store, work.tell)
        with kept_workers(), closing(coming) as computed:  # or an error here would leave workers behind
            for family, fold, fitted, seconds, left in computed:
                done[family.label, fold] = fitted
                work.keep(names[family.label, fold], fitted)
                if store is not None:
                    store.log({"event": "piece", "what": _what(family.label, fold), "seconds": round(seconds, 3)})
                work.tell(_what(family.label, fold), left())
        warn_unsolved(done, next(iter(self.works.values())).settings.tol)
        return done

    def kept(self, store: WorkStore) -> Paths | None:
        """The paths of an earlier run; None if one is missing."""
        names = {(f.label, fold): _name(f.label, fold) for f in self.families for fold in self.folds}
        keeper, found = _Kept(store, self._computed_by(names)), {}
        for key, name in names.items():
            fitted = keeper.load(name)
            if fitted is None:
                return None
            found[key] = fitted
        return found

    def _computed_by(self, names: Mapping[tuple[str, int], str]) -> dict[str, tuple[Family, FoldedPaths, int]]:
        """{name of a piece: (its family, the object that computes it, its fold)}"""
        of_label = {f.label: f for f in self.families}
        return {
            name: (of_label[label], self.works[of_label[label].transform], fold)
            for (label, fold), name in names.items()
        }

    def _use_processes(self, n_paths: int) -> bool:
        """True if there is enough work to start processes for, and the data are small enough to send to them."""
        work = next(iter(self.works.values()))
        size = sum(_bytes_of(data) for data in (work.data, work.judged) if data is not None)
        values = work.data.n_docs * work.data.n_features
        enough = n_paths * work.settings.n_alphas * (values + SOLVE_WORK) >= MIN_PROCESS_WORK
        here = work.client is None
        return here and self.n_workers > 1 and n_paths > 1 and enough and size <= MAX_PROCESS_BYTES

    def _stages(self, waiting: Mapping[str, list[int]], most: float) -> list[list[tuple[Family, int]]]:
        """Lists of (family, fold) that are computed at the same time: whole families of at most so many paths, starts
        before the paths that start from them."""
        stages: list[list[tuple[Family, int]]] = []
        depths = self._depths()
        for transform, depth in product(self.works, range(1 + max(depths.values()))):
            stages.append([])
            for f in self.families:
                own = f.transform == transform and depths[f.label] == depth
                paths = [(f, fold) for fold in waiting[f.label] if own]
                if stages[-1] and len(stages[-1]) + len(paths) > most:
                    stages.append([])
                stages[-1] += paths
        return [stage for stage in stages if stage]

    def _depths(self) -> dict[str, int]:
        """For each family, the number of families that must be finished before it."""
        depths: dict[str, int] = {}
        for f in self.families:  # which are in such an order
            depths[f.label] = 0 if f.start is None else 1 + depths[f.start]
        return depths

    def _wanted(self, family: Family, fold: int, done: Paths, points: Sequence[Point]) -> PathRequest:
        start = None
        if family.start is not None:
            first = done[family.start, fold].path
            start = PathStarts(first.alphas, first.sparse_coefs, first.losses, first.l1_alpha_max)
        return PathRequest(family.maker, fold, start, tuple(points), scored=family.scored)

    def _by_processes(self, waiting: Mapping[str, list[int]], done: Paths, store: WorkStore | None) -> Computed:
        labels = [f.label for f in self.families for _ in waiting[f.label]]
        left = TimeLeft(labels, min(self.n_workers, len(labels)))
        for stage in self._stages(waiting, np.inf):
            task = _OnePath(self.works[stage[0][0].transform].with_threads(1))
            known = _known_points(store, stage, self.works)
            arguments = [(self._wanted(f, fold, done, known[f.label][fold]),) for f, fold in stage]
            with closing(run_pieces(task, arguments, self.n_workers, processes=True)) as outcomes:
                for outcome in outcomes:
                    if outcome.error is not None:
                        raise outcome.error
                    family, fold = stage[outcome.index]
                    left.finished(family.label, outcome.seconds)
                    yield family, fold, outcome.result, outcome.seconds, left.seconds

    def _in_lockstep(
        self, waiting: Mapping[str, list[int]], done: Paths, store: WorkStore | None, report: Report
    ) -> Computed:
        each = {f.label: f.maker.n_points(self.works[f.transform].path_plan) for f in self.families}
        left = TimeLeft([f.label for f in self.families for _ in range(each[f.label] * len(waiting[f.label]))], 1)
        work = None
        for stage in self._stages(waiting, MAX_TOGETHER):
            began = time.perf_counter()
            if work is not None and work is not self.works[stage[0][0].transform]:
                work.release()
            work = self.works[stage[0][0].transform]
            in_all = sum(each[f.label] for f, _ in stage)
            follow = _Following(_known_points(store, stage, self.works), in_all, store, left, report)
            pieces = work(
                [
                    replace(
                        self._wanted(f, fold, done, follow.points[f.label][fold]),
                        keep=partial(follow.keep, f.label, fold),
                    )
                    for f, fold in stage
                ]
            )
            seconds = (time.perf_counter() - began) / len(stage)
            for label in follow.points:
                left.drop(label)
            for (family, fold), fitted in zip(stage, pieces, strict=True):
                yield family, fold, fitted, seconds, left.seconds
        if work is not None and not work.data.is_stored:  # to transform features in memory once more costs little
            work.release()


def _bytes_of(data: RankingDataset) -> int:
    """Size of X, which each process would have a copy of."""
    return int(data.X.data.nbytes if data.is_sparse and not data.is_stored else data.X.nbytes)


Points = dict[str, dict[int, list[Point]]]  # by label and fold


class _Following:
    """Follows the points of paths that advance together, for checkpoints and progress."""

    def __init__(self, points: Points, in_all: int, store: WorkStore | None, left: TimeLeft, report: Report) -> None:
        self.points, self._in_all, self._store, self._left, self._report = points, in_all, store, left, report
        for label, of_fold in points.items():
            left.skip(label, sum(map(len, of_fold.values())))
        self._saved = dict.fromkeys(points, 0)  # points of a family in its last checkpoint
        self._turns = dict.fromkeys(points, 0)
        self._next_save = time.perf_counter() + CHECKPOINT_S
        self._last: float | None = None  # the first point comes after scaling and compiling, and tells nothing

    def keep(self, label: str, fold: int, point: Point, n: int) -> None:
        self.points[label][fold].append(point)
        now = time.perf_counter()
        if self._last is None:
            self._left.skip(label)
        else:
            self._left.finished(label, now - self._last)
        self._last = now
        known = {label: sum(map(len, of_fold.values())) for label, of_fold in self.points.items()}
        if self._store is not None and now >= self._next_save:
            behind = max(known, key=lambda label: known[label] - self._saved[label])
            save_points(self._store, behind, self.points[behind], self._turns[behind])
            self._saved[behind] = known[behind]
            self._turns[behind] += 1
            took = time.perf_counter() - now
            self._next_save = now + max(CHECKPOINT_S, took / CHECKPOINT_SHARE)
        if sum(known.values()) < self._in_all:
            what = f"{', '.join(self.points)}: {sum(known.values())} of {self._in_all} points"
            self._report(what, self._left.seconds())


def _known_points(
    store: WorkStore | None, stage: Sequence[tuple[Family, int]], works: Mapping[FeatureTransform, FoldedPaths]
) -> Points:
    """The points of these paths from an earlier run."""
    folds: dict[str, list[int]] = {}
    for family, fold in stage:
        folds.setdefault(family.label, []).append(fold)
    n_coefficients = {family.label: works[family.transform].n_coefficients for family, _ in stage}
    return {label: stored_points(store, label, own, n_coefficients[label]) for label, own in folds.items()}


def _name(label: str, fold: int) -> str:
    return f"{'final' if fold == FINAL else f'fold{fold}'}-{label}"


def _what(label: str, fold: int) -> str:
    return f"{label} {'final path' if fold == FINAL else f'fold {fold + 1}'}"
