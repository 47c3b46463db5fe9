"""Run an experiment: what is missing, in processes, with what is finished kept."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable
from concurrent.futures import as_completed
from concurrent.futures.process import BrokenProcessPool
from importlib.metadata import version
from typing import Any

from sparserank import __version__
from sparserank.errors import DataError, RunDirectoryError, SparserankError
from sparserank.execution.processes import LOST_WORKER, open_pool
from sparserank.experiments.layouts import find_folds
from sparserank.experiments.plan import DatasetPlan, ExperimentPlan
from sparserank.experiments.store import ResultsStore
from sparserank.experiments.units import Unit, UnitRunner

Progress = Callable[[int, int, str], None]
SLOW_FIRST = ("fenchel_rank", "rs_rank", "tg_rank", "gas_e", "select")  # so that no worker ends with a long piece alone


class Experiment:
    """A plan bound to its data and its store; absent data sets are skipped by name."""

    def __init__(self, plan: ExperimentPlan, out: str | os.PathLike, *, n_workers: int | None = None) -> None:
        self.plan = plan
        self.store = ResultsStore(out, plan)
        self.n_workers = n_workers or os.cpu_count() or 1
        self.skipped: dict[str, str] = {}  # data sets that are absent, and why
        self.partial: dict[str, list[int]] = {}  # data sets of which fewer than five folds are run
        self.failed: dict[str, str] = {}  # pieces that could not be computed, and why
        self.units: list[Unit] = []
        systems = sorted(plan.systems, key=lambda s: (s not in SLOW_FIRST, plan.systems.index(s)))
        per_fold: list[tuple[DatasetPlan, int]] = []
        for dataset in plan.datasets:
            try:
                folds = find_folds(dataset.path)
            except DataError as error:
                self.skipped[dataset.name] = str(error)
                continue
            numbers = [f.number for f in folds]
            if not set(plan.folds) <= set(numbers):
                raise DataError(
                    f"data set {dataset.name} has the folds {numbers}; the plan asks for {list(plan.folds)}."
                )
            if len(plan.folds or numbers) < 5:
                self.partial[dataset.name] = sorted(plan.folds or numbers)
            for files in folds:
                if not plan.folds or files.number in plan.folds:
                    self.store.describe_data(dataset.name, files)
                    per_fold.append((dataset, files.number))
        self.units = [Unit(d, f, s) for d, f in per_fold for s in systems]  # fold by fold: its data are read once
        if not self.units:
            raise DataError("no data set of the plan is available: " + " ".join(self.skipped.values()))

    @property
    def datasets(self) -> list[str]:
        return list(dict.fromkeys(u.dataset.name for u in self.units))

    def run(self, progress: Progress | None = None) -> None:
        """Compute every missing piece; an interrupted run loses only what was being computed.

        A piece that fails (no preferred pair in a fold, say) is noted in `failed` and the others go on.
        """
        report = progress or (lambda done, total, what: None)
        self.store.record(self.units, environment())
        waiting = [u for u in self.units if not self.store.has(u)]
        done = len(self.units) - len(waiting)
        report(done, len(self.units), "resumed" if done else "start")
        if not waiting:
            return
        runner = UnitRunner(self.plan)
        n_workers = min(self.n_workers, len(waiting))
        pool, call = open_pool(runner, n_workers, processes=n_workers > 1)
        try:
            futures = {pool.submit(call, u): u for u in waiting}
            for future in as_completed(futures):
                unit = futures[future]
                done += 1
                try:
                    candidates, per_query = future.result()
                except BrokenProcessPool:
                    raise
                except Exception as error:  # whatever a system meets in one fold must not cost the other pieces
                    kind = "" if isinstance(error, SparserankError) else f"{type(error).__name__}: "
                    self.failed[unit.label] = f"{kind}{error}"
                else:
                    self.store.save(unit, candidates, per_query)
                report(done, len(self.units), unit.label)
        except BrokenProcessPool as error:
            raise RunDirectoryError(LOST_WORKER) from error
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
        pool.shutdown()


def environment() -> dict[str, Any]:
    """What a result depends on besides plan and data."""
    packages = ("numpy", "scipy", "numba", "scikit-learn", "pyarrow")
    return {
        "sparserank": __version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        "packages": {p: version(p) for p in packages},
        "date": time.strftime("%Y-%m-%d"),
    }
