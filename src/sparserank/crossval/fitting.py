"""All paths of a job: read from the store or computed, by threads that share one read of X or by processes."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparserank.crossval.convergence import warn_unsolved
from sparserank.crossval.feature_transforms import RAW, FeatureTransform
from sparserank.crossval.folded_paths import FoldedPaths
from sparserank.crossval.tasks import FINAL, PathTask
from sparserank.crossval.teachers import TEACHER, Tell, silent
from sparserank.data.matrices import stored_bytes
from sparserank.lazy import cached_property
from sparserank.paths import PathResult, PathStarts
from sparserank.penalties.rules import FeatureRules
from sparserank.shards.scaling import FeatureScaling
from sparserank.text import parse_call
from sparserank.workdir.pieces import NOWHERE, Arrays, Expected, Store, checked
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
CSR = {"data": "f", "indices": "i", "indptr": "i"}  # the parts of a sparse array, by the kinds of their arrays

Paths = dict[tuple[str, int], PathResult]  # by label and fold
# Task, path, seconds that it took, and a function that estimates the seconds left.
Computed = Generator[tuple[PathTask, PathResult, float, Callable[[], float | None]], None, None]
Works = Mapping[FeatureTransform, FoldedPaths]
Waiting = Mapping[str, list[PathTask]]  # paths to compute, by label
Report = Callable[[str, float | None], None]  # what is done, seconds left


def _one_path(work: FoldedPaths, wanted: PathTask) -> PathResult:
    """One path, in a worker process."""
    return work([wanted])[0]


@dataclass(eq=False, repr=False)
class FittedPaths:
    """The paths of every task on every fold, one transform after another (each has its own copy of the features).

    Small data are processed by one process per path, because threads would wait for the GIL. For large data, all
    paths that can be started advance together, and threads share each pass. Both give the same bits.
    """

    works: Works
    tasks: Sequence[PathTask]
    folds: Sequence[int]
    n_workers: int
    store: Store = NOWHERE
    later: float = 0.0  # effort of the work after the paths, for the time left

    @cached_property
    def pieces(self) -> dict[str, PathTask]:
        """{name: the task of one path}"""
        return {
            f"{'final' if f == FINAL else f'fold{f}'}-{t.key}": replace(t, fold=f)
            for t in self.tasks
            for f in self.folds
        }

    def load(self, name: str) -> PathResult | None:
        """The path of a piece in the store; None if it has to be computed."""
        task = self.pieces[name]
        work, fold = self.works[task.transform], task.fold
        n_queries = work.n_judged if fold == FINAL else int((work.fold == fold).sum())
        values = (len(work.metrics), n_queries) if task.scored and n_queries else None
        known = work.scaling_method, work.column_names, type(task.maker.rules), work.transform.shape.m, values
        path: PathResult | None = self.store.load(name, lambda arrays: unpacked(arrays, *known))
        return path

    def save(self, name: str, path: PathResult) -> None:
        self.store.save(name, packed(path))

    def all(self, progress: Progress, first: Sequence[str], look: Callable[[Paths], str]) -> Paths:
        """{(label, fold): path}, whatever the order of finishing. Issues a ConvergenceWarning if solves missed their
        tolerance.

        first, look   once the paths of these labels are computed, progress reports the sentence that `look` makes from
                      them, if any
        """
        kinds = {name: task.label for name, task in self.pieces.items()}
        work: Work[PathResult] = Work(kinds, keeper=self, progress=progress)
        done: Paths = {}
        waiting: dict[str, list[PathTask]] = {t.label: [] for t in self.tasks}
        names: dict[tuple[str, int], str] = {}
        for name, task in self.pieces.items():
            if name in work.results:
                done[task.label, task.fold] = work.results[name]
            else:
                waiting[task.label].append(task)
                names[task.label, task.fold] = name
        sought = {path for path in names if path[0] in first}
        work.begin()
        compute = self._by_processes if self._use_processes(len(names)) else self._in_lockstep
        with kept_workers(), closing(compute(waiting, done, work.tell)) as computed:  # or workers outlive an error
            for task, path, seconds, left in computed:
                at = task.label, task.fold
                done[at] = path
                work.keep(names[at], path)
                label = f"{task.label} {'final path' if task.fold == FINAL else f'fold {task.fold + 1}'}"
                self.store.log({"event": "piece", "what": label, "seconds": round(seconds, 3)})
                work.tell(label, left())
                if at in sought:
                    sought.discard(at)
                    if not sought and (sentence := look(done)):
                        work.tell(sentence, left())
        for transform in dict.fromkeys(t.transform for t in self.tasks):
            self._teach(transform)
        warn_unsolved(done, next(iter(self.works.values())).path_plan.tol)
        return done

    def _teach(self, transform: FeatureTransform, tell: Tell = silent) -> None:
        """Have the teacher of a transform, if it has one, learn without each fold."""
        teacher = transform.teacher
        if teacher is not None and not teacher.grades:
            tell(TEACHER)
            self.works[transform].teach(self.folds, self.store, tell)

    def stored(self) -> Paths | None:
        """The paths of an earlier run; None if one is missing."""
        paths: Paths = {}
        for name, task in self.pieces.items():
            path = self.load(name)
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
        # Number of tasks that must be finished, one after the other, before a task can begin. A task is listed after
        # the one from whose solutions it starts.
        depths: dict[str, int] = {}
        for t in self.tasks:
            depths[t.label] = 0 if t.start is None else 1 + depths[t.start]
        for transform, depth in product(self.works, range(1 + max(depths.values()))):
            stages.append([])
            for t in self.tasks:
                paths = waiting[t.label] if t.transform == transform and depths[t.label] == depth else []
                if stages[-1] and len(stages[-1]) + len(paths) > most:
                    stages.append([])
                stages[-1] += paths
        return [stage for stage in stages if stage]

    def _by_processes(self, waiting: Waiting, done: Paths, report: Report) -> Computed:
        labels = [label for label, paths in waiting.items() for _ in paths]
        efforts = {t.label: t.effort for t in self.tasks}
        left = TimeLeft(labels, min(self.n_workers, len(labels)), efforts, self.later)
        for stage in self._stages(waiting, np.inf):
            self._teach(stage[0].transform, lambda what: report(what, left.seconds()))
            one = partial(_one_path, self.works[stage[0].transform].for_a_process())
            arguments = [(replace(_ready(t, done), transform=RAW),) for t in stage]  # `one` has the transform
            with closing(run_pieces(one, arguments, self.n_workers, processes=True)) as outcomes:
                for outcome in outcomes:
                    if outcome.error is not None:
                        raise outcome.error
                    task = stage[outcome.index]
                    left.finished(task.label, outcome.seconds)
                    yield task, outcome.result, outcome.seconds, left.seconds

    def _in_lockstep(self, waiting: Waiting, done: Paths, report: Report) -> Computed:
        n_points = {t.label: t.maker.n_points(self.works[t.transform].path_plan) for t in self.tasks}
        # The points of a stage share their time, so they are one kind, by the label of the first path.
        stages = self._stages(waiting, MAX_TOGETHER)
        points = [(stage[0].label, sum(n_points[t.label] for t in stage)) for stage in stages]
        totals = [sum(t.effort for t in stage) for stage in stages]
        of_point = {label: total / max(n, 1) for (label, n), total in zip(points, totals, strict=True)}
        left, work = TimeLeft([label for label, n in points for _ in range(n)], 1, of_point, self.later), None
        for stage, (kind, in_all) in zip(stages, points, strict=True):
            began = time.perf_counter()
            if work is not None and work is not self.works[stage[0].transform]:
                work.release()
            work = self.works[stage[0].transform]
            self._teach(stage[0].transform, lambda what: report(what, left.seconds()))
            labels = dict.fromkeys(t.label for t in stage)
            count = _points(", ".join(labels), kind, in_all, left, report)
            paths = work([replace(_ready(t, done), tell=partial(count, t.label, t.fold)) for t in stage])
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


def _points(labels: str, kind: str, in_all: int, left: TimeLeft, report: Report) -> Callable[[str, int, int], None]:
    """A function that counts the points of paths that advance together, for progress and the time left."""
    counts: Counter[tuple[str, int]] = Counter()  # by label and fold
    last: float | None = None  # the time of the first point includes scaling and compiling

    def count(label: str, fold: int, n: int) -> None:
        nonlocal last
        counts[label, fold] += 1
        now = time.perf_counter()
        if last is None or counts[label, fold] == 1:  # the first points of several paths come at once
            left.skip(kind)
        else:
            left.finished(kind, now - last)
        last = now
        known = counts.total()
        if known < in_all:
            report(f"{labels}: {known} of {in_all} points", left.seconds())

    return count


# -- finished paths as arrays -----------------------------------------------------------------------------------------


# Fields with a value for each point, by the kinds of their arrays; further fields that are numbers, or may be None.
OF_POINTS = dict.fromkeys(("alphas", "losses", "objectives", "kkt_violations", "gaps", "times_s"), "f")
OF_POINTS |= {"n_iters": "iuf", "statuses": "U"}
NUMBERS = ("alpha_max", "l1_alpha_max", "n_pairs", "total_weight")
OPTIONAL = ("ridge", "values")


def packed(path: PathResult) -> Arrays:
    """A fitted path with its scaling as arrays; `unpacked` reads them."""
    assert path.scaling is not None
    optional = {name: getattr(path, name) for name in OPTIONAL}
    return {
        **{name: getattr(path, name) for name in OF_POINTS},
        "statuses": np.array(path.statuses, dtype="U16"),
        **{name: values for name, values in optional.items() if values is not None},
        **{part: np.asarray(getattr(path.sparse_coefs, part)) for part in CSR},
        "numbers": np.array([getattr(path, name) for name in NUMBERS], dtype=np.float64),
        "penalty": np.array(repr(path.penalty)),
        "center": path.scaling.center,
        "scale": path.scaling.scale,
    }


def unpacked(
    arrays: Arrays,
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
    expected: dict[str, Expected] = {name: (kinds, (n,)) for name, kinds in OF_POINTS.items()}
    expected |= {"numbers": ("f", (len(NUMBERS),)), "penalty": ("U", ()), "center": ("f", (d,)), "scale": ("f", (d,))}
    expected |= {name: (kinds, (None,)) for name, kinds in CSR.items()}
    expected |= {"ridge": ("f", (n,))} if "ridge" in arrays else {}
    expected |= {"values": ("f", (values[0], n, values[1]))} if values is not None else {}
    checked(arrays, **expected)
    if not np.isfinite(arrays["numbers"]).all():
        raise ValueError("its numbers are not finite")
    coefs = sp.csr_array(tuple(arrays[part] for part in CSR), shape=(n, d * width))
    coefs.check_format()  # all indices are inside
    numbers = dict(zip(NUMBERS, arrays["numbers"].tolist(), strict=True))
    fields: dict[str, Any] = {name: arrays.get(name) for name in (*OF_POINTS, *OPTIONAL)}
    fields |= {**numbers, "n_pairs": int(numbers["n_pairs"]), "statuses": tuple(arrays["statuses"].tolist())}
    return PathResult(
        kind(**parse_call(str(arrays["penalty"]))[1]),
        sparse_coefs=coefs,
        feature_names=names,
        width=width,
        scaling=FeatureScaling(scaling, arrays["center"], arrays["scale"]),
        **fields,
    )
