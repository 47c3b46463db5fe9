"""All paths of a job: read from the store or computed, by threads that share one read of X or by processes."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np
import scipy.sparse as sp

from sparserank.crossval.convergence import warn_unsolved
from sparserank.crossval.feature_transforms import RAW, FeatureTransform
from sparserank.crossval.folded_paths import FoldedPaths
from sparserank.crossval.tasks import FINAL, PathTask
from sparserank.crossval.teachers import TEACHER, Tell, silent
from sparserank.data.matrices import stored_bytes
from sparserank.paths import PathResult, PathStarts
from sparserank.penalties.rules import FeatureRules
from sparserank.shards.scaling import FeatureScaling
from sparserank.text import parse_call
from sparserank.workdir.pieces import WorkStore, checked
from sparserank.workdir.processes import kept_workers, run_pieces
from sparserank.workdir.time_left import TimeLeft
from sparserank.workdir.work import Progress, Work

# Paths in lockstep, or all those of one task: with more, their document orders cost more than shared reads of X save.
MAX_TOGETHER = 12
MIN_PROCESS_WORK = 4e8  # values that one pass of every solve reads, plus SOLVE_WORK each; less is a few seconds of work
SOLVE_WORK = 1e5  # Python's overhead of a solve, as the number of values that a pass reads in that time
# Size of X and of X of the judged documents. Above it, threads share a pass as well as processes share the paths, and
# they need no copies.
MAX_PROCESS_BYTES = 48 << 20
CSR = ("data", "indices", "indptr", "shape")  # the parts of a sparse array

Paths = dict[tuple[str, int], PathResult]  # by label and fold
# Task, path, seconds that it took, and a function that estimates the seconds left.
Computed = Generator[tuple[PathTask, PathResult, float, Callable[[], float | None]], None, None]
Works = Mapping[FeatureTransform, FoldedPaths]
Waiting = Mapping[str, list[PathTask]]  # paths to compute, by label
Report = Callable[[str, float | None], None]  # what is done, seconds left


def _one_path(work: FoldedPaths, wanted: PathTask) -> PathResult:
    """One path, in a worker process."""
    return work([wanted])[0]


class _StoredPaths:
    """Paths in a store, as arrays; tasks: {name: the task of one path}."""

    def __init__(self, store: WorkStore, works: Works, tasks: Mapping[str, PathTask]) -> None:
        self._store, self._works, self._tasks = store, works, tasks

    def load(self, name: str) -> PathResult | None:
        task = self._tasks[name]
        work, fold = self._works[task.transform], task.fold
        known = work.scaling_method, work.column_names, type(task.maker.rules), work.transform.shape.m
        values = len(work.metrics), work.n_judged if fold == FINAL else int((work.fold == fold).sum())
        wanted = task.scored and values[1] > 0
        path: PathResult | None = self._store.load(name, lambda a: unpacked(a, *known, values if wanted else None))
        return path

    def save(self, name: str, path: PathResult) -> None:
        self._store.save(name, packed(path))


class FittedPaths:
    """The paths of every task on every fold, one transform after another (each has its own copy of the features).

    Small data are processed by one process per path, because threads would wait for the GIL. For large data, all
    paths that can be started advance together, and threads share each pass. Both give the same bits.
    """

    def __init__(
        self,
        works: Works,
        tasks: Sequence[PathTask],
        folds: Sequence[int],
        n_workers: int,
        later: float = 0.0,
    ) -> None:
        self.works, self.tasks, self.n_workers = works, tasks, n_workers
        self._later = later  # effort of the work after the paths, for the time left
        self.pieces = {_name(t.key, f): replace(t, fold=f) for t in tasks for f in folds}
        self._folds = folds

    def all(
        self,
        store: WorkStore | None,
        progress: Progress | None,
        first: Sequence[str] = (),
        look: Callable[[Paths], str] = lambda _: "",
    ) -> Paths:
        """{(label, fold): path}, whatever the order of finishing. Issues a ConvergenceWarning if solves missed their
        tolerance.

        first, look   once the paths of these labels are computed, progress reports the sentence that `look` makes from
                      them, if any
        """
        kinds = {name: task.label for name, task in self.pieces.items()}
        keeper = None if store is None else _StoredPaths(store, self.works, self.pieces)
        work: Work[PathResult] = Work(kinds, keeper=keeper, progress=progress)
        done = {(t.label, t.fold): work.results[name] for name, t in self.pieces.items() if name in work.results}
        waiting: dict[str, list[PathTask]] = {t.label: [] for t in self.tasks}
        for name, task in self.pieces.items():
            if name not in work.results:
                waiting[task.label].append(task)
        sought = {(t.label, t.fold) for tasks in waiting.values() for t in tasks if t.label in first}
        work.begin()
        if self._use_processes(sum(map(len, waiting.values()))):
            coming = self._by_processes(waiting, done, store, work.tell)
        else:
            coming = self._in_lockstep(waiting, done, store, work.tell)
        with kept_workers(), closing(coming) as computed:  # or an error here would leave workers behind
            for task, path, seconds, left in computed:
                done[task.label, task.fold] = path
                work.keep(_name(task.key, task.fold), path)
                label = f"{task.label} {'final path' if task.fold == FINAL else f'fold {task.fold + 1}'}"
                if store is not None:
                    store.log({"event": "piece", "what": label, "seconds": round(seconds, 3)})
                work.tell(label, left())
                if (task.label, task.fold) in sought:
                    sought.discard((task.label, task.fold))
                    if not sought and (sentence := look(done)):
                        work.tell(sentence, left())
        for transform in dict.fromkeys(t.transform for t in self.tasks):
            self._teach(transform, store)
        warn_unsolved(done, next(iter(self.works.values())).path_plan.tol)
        return done

    def _teach(self, transform: FeatureTransform, store: WorkStore | None, tell: Tell = silent) -> None:
        """Have the teacher of a transform, if it has one, learn without each fold."""
        teacher = transform.teacher
        if teacher is not None and not teacher.grades:
            tell(TEACHER)
            self.works[transform].teach(self._folds, store, tell)

    def stored(self, store: WorkStore) -> Paths | None:
        """The paths of an earlier run; None if one is missing."""
        keeper, paths = _StoredPaths(store, self.works, self.pieces), {}
        for name, task in self.pieces.items():
            path = keeper.load(name)
            if path is None:
                return None
            paths[task.label, task.fold] = path
        return paths

    def _use_processes(self, n_paths: int) -> bool:
        """True if there is enough work to start processes for, and the data are small enough to send to them."""
        work = next(iter(self.works.values()))
        size = sum(stored_bytes(data.X) for data in (work.data, work.judged) if data is not None)
        values = work.data.n_docs * work.data.n_features
        enough = n_paths * work.path_plan.n_alphas * (values + SOLVE_WORK) >= MIN_PROCESS_WORK
        here = work.client is None
        return here and self.n_workers > 1 and n_paths > 1 and enough and size <= MAX_PROCESS_BYTES

    def _stages(self, waiting: Waiting, most: float) -> list[list[PathTask]]:
        """Lists of paths to compute at the same time: all paths of a task together, at most `most` in a list, and
        starts before the paths that start from them."""
        stages: list[list[PathTask]] = []
        depths = self._depths()
        for transform, depth in product(self.works, range(1 + max(depths.values()))):
            stages.append([])
            for t in self.tasks:
                paths = waiting[t.label] if t.transform == transform and depths[t.label] == depth else []
                if stages[-1] and len(stages[-1]) + len(paths) > most:
                    stages.append([])
                stages[-1] += paths
        return [stage for stage in stages if stage]

    def _depths(self) -> dict[str, int]:
        """{label: number of tasks that must be finished, one after the other, before the task can begin}"""
        depths: dict[str, int] = {}
        for t in self.tasks:  # a task is listed after the one from whose solutions it starts
            depths[t.label] = 0 if t.start is None else 1 + depths[t.start]
        return depths

    def _by_processes(self, waiting: Waiting, done: Paths, store: WorkStore | None, report: Report) -> Computed:
        labels = [label for label, paths in waiting.items() for _ in paths]
        efforts = {t.label: t.effort for t in self.tasks}
        left = TimeLeft(labels, min(self.n_workers, len(labels)), efforts, self._later)
        for stage in self._stages(waiting, np.inf):
            self._teach(stage[0].transform, store, lambda what: report(what, left.seconds()))
            one = partial(_one_path, self.works[stage[0].transform].for_a_process())
            arguments = [(replace(_ready(t, done), transform=RAW),) for t in stage]  # `one` has the transform
            with closing(run_pieces(one, arguments, self.n_workers, processes=True)) as outcomes:
                for outcome in outcomes:
                    if outcome.error is not None:
                        raise outcome.error
                    task = stage[outcome.index]
                    left.finished(task.label, outcome.seconds)
                    yield task, outcome.result, outcome.seconds, left.seconds

    def _in_lockstep(self, waiting: Waiting, done: Paths, store: WorkStore | None, report: Report) -> Computed:
        n_points = {t.label: t.maker.n_points(self.works[t.transform].path_plan) for t in self.tasks}
        # The points of a stage share their time, so they are one kind, by the label of the first path.
        stages = self._stages(waiting, MAX_TOGETHER)
        points = [(stage[0].label, sum(n_points[t.label] for t in stage)) for stage in stages]
        totals = [sum(t.effort for t in stage) for stage in stages]
        of_point = {label: total / max(n, 1) for (label, n), total in zip(points, totals, strict=True)}
        left, work = TimeLeft([label for label, n in points for _ in range(n)], 1, of_point, self._later), None
        for stage, (kind, in_all) in zip(stages, points, strict=True):
            began = time.perf_counter()
            if work is not None and work is not self.works[stage[0].transform]:
                work.release()
            work = self.works[stage[0].transform]
            self._teach(stage[0].transform, store, lambda what: report(what, left.seconds()))
            labels = dict.fromkeys(t.label for t in stage)
            points_of = _Points(", ".join(labels), kind, in_all, left, report)
            paths = work([replace(_ready(t, done), tell=partial(points_of.count, t.label, t.fold)) for t in stage])
            seconds = (time.perf_counter() - began) / len(stage)
            left.drop(kind)
            for task, path in zip(stage, paths, strict=True):
                yield task, path, seconds, left.seconds
        if work is not None and not work.data.is_stored:  # transforming features in memory again costs little
            work.release()


def _ready(task: PathTask, done: Paths) -> PathTask:
    """The task of one path with the path that it starts from."""
    if task.start is None:
        return task
    first = done[task.start, task.fold]
    return replace(task, starts=PathStarts(first.alphas, first.sparse_coefs, first.losses, first.l1_alpha_max))


class _Points:
    """Counts the points of paths that advance together, for progress and the time left."""

    def __init__(self, labels: str, kind: str, in_all: int, left: TimeLeft, report: Report) -> None:
        self._labels, self._kind, self._in_all, self._left, self._report = labels, kind, in_all, left, report
        self._n: Counter[tuple[str, int]] = Counter()  # by label and fold
        self._last: float | None = None  # the time of the first point includes scaling and compiling

    def count(self, label: str, fold: int, n: int) -> None:
        self._n[label, fold] += 1
        now = time.perf_counter()
        if self._last is None or self._n[label, fold] == 1:  # the first points of several paths come at once
            self._left.skip(self._kind)
        else:
            self._left.finished(self._kind, now - self._last)
        self._last = now
        known = self._n.total()
        if known < self._in_all:
            self._report(f"{self._labels}: {known} of {self._in_all} points", self._left.seconds())


def _name(key: str, fold: int) -> str:
    return f"{'final' if fold == FINAL else f'fold{fold}'}-{key}"


# -- finished paths as arrays -----------------------------------------------------------------------------------------


def packed(path: PathResult) -> dict[str, np.ndarray]:
    """A fitted path with its scaling as arrays; `unpacked` reads them."""
    assert path.scaling is not None
    return {
        **({} if path.values is None else {"values": path.values}),
        "alphas": path.alphas,
        **csr_arrays("coefs", path.sparse_coefs),
        "losses": path.losses,
        "objectives": path.objectives,
        "kkt_violations": path.kkt_violations,
        "gaps": path.gaps,
        "n_iters": path.n_iters,
        "times_s": path.times_s,
        "statuses": np.array(path.statuses, dtype="U16"),
        **({} if path.ridge is None else {"ridge": path.ridge}),
        "scalars": np.array([path.alpha_max, path.l1_alpha_max, path.n_pairs, path.total_weight], dtype=np.float64),
        "width": np.array(path.width),
        "penalty": np.array([repr(path.penalty)], dtype="U"),
        "center": path.scaling.center,
        "scale": path.scaling.scale,
    }


def unpacked(
    arrays: dict[str, np.ndarray],
    scaling: str,
    names: tuple[str, ...],
    kind: type[FeatureRules],
    width: int,
    values: tuple[int, int] | None,
) -> PathResult:
    """The path that `packed` returned, for a penalty of this class on columns of these names.

    Parameters
        width    number of coefficients of each
        values   (number of metrics, number of queries) of its values; None: it has none
    Raises
        DataError, KeyError, ValueError   it has another number of columns, or is not such a path
    """
    n, d = len(arrays["alphas"]), len(names)
    of_points = ("alphas", "losses", "objectives", "kkt_violations", "gaps", "times_s")
    expected: dict[str, tuple[str, tuple[int | None, ...]]] = dict.fromkeys(of_points, ("f", (n,)))
    expected |= {"n_iters": ("iuf", (n,)), "statuses": ("U", (n,)), "scalars": ("f", (4,)), "width": ("iu", ())}
    expected |= {"penalty": ("U", (1,)), "center": ("f", (d,)), "scale": ("f", (d,))}
    expected |= {"ridge": ("f", (n,))} if "ridge" in arrays else {}
    expected |= {"values": ("f", (values[0], n, values[1]))} if values is not None else {}
    checked(arrays, **expected)
    if int(arrays["width"]) != width or not np.isfinite(arrays["scalars"]).all():
        raise ValueError("it is a path of other columns")
    alpha_max, l1_alpha_max, n_pairs, total_weight = (float(x) for x in arrays["scalars"])
    return PathResult(
        kind(**parse_call(str(arrays["penalty"][0]))[1]),
        arrays["alphas"],
        csr_from("coefs", arrays, (n, d * width)),
        arrays["losses"],
        arrays["objectives"],
        arrays["kkt_violations"],
        arrays["gaps"],
        arrays["n_iters"],
        arrays["times_s"],
        tuple(arrays["statuses"].tolist()),
        alpha_max,
        l1_alpha_max,
        int(n_pairs),
        total_weight,
        names,
        width=width,
        ridge=arrays.get("ridge"),
        scaling=FeatureScaling(scaling, arrays["center"], arrays["scale"]),
        values=arrays.get("values"),
    )


def csr_arrays(name: str, coefs: sp.csr_array) -> dict[str, np.ndarray]:
    """A sparse array as arrays under a name; `csr_from` reads it."""
    return {f"{name} {part}": np.asarray(getattr(coefs, part)) for part in CSR}


def csr_from(name: str, arrays: dict[str, np.ndarray], shape: tuple[int, int]) -> sp.csr_array:
    """The sparse array that `csr_arrays` stored.

    Raises
        ValueError   the arrays are not a sparse array, or have another shape
    """
    kinds = {"data": "f", "indices": "i", "indptr": "i", "shape": "iu"}
    checked(arrays, **{f"{name} {part}": (kind, (None,)) for part, kind in kinds.items()})
    data, indices, indptr, written = (arrays[f"{name} {part}"] for part in CSR)
    if tuple(written.tolist()) != shape:
        raise ValueError(f"{name} has shape {tuple(written.tolist())}; expected {shape}")
    out = sp.csr_array((data, indices, indptr), shape=shape)
    out.check_format()  # all indices are inside
    return out
