"""Run an experiment: compute the missing pieces in worker processes and keep the finished ones."""

from __future__ import annotations

import os
import platform
import time
from importlib.metadata import version
from typing import Any

from reproduction.datasets import content_hash, find_folds
from reproduction.protocol.plan import DatasetPlan, ExperimentPlan
from reproduction.protocol.store import ResultsStore
from reproduction.protocol.tasks import Task, TaskRunner
from sparserank import __version__
from sparserank.errors import DataError, SparserankError
from sparserank.execution import available_cores
from sparserank.workdir.work import Progress, Work, quiet

SLOW_FIRST = ("fenchel_rank", "rs_rank", "tg_rank", "gas_e", "select")  # so that no worker ends with a long piece alone


class Experiment:
    """A plan bound to its data and its store; absent data sets are skipped by name."""

    def __init__(self, plan: ExperimentPlan, out: str | os.PathLike, *, n_workers: int | None = None) -> None:
        self.plan = plan
        self.n_workers = n_workers or available_cores()
        self.skipped: dict[str, str] = {}  # data sets that are absent, and why
        self.partial: dict[str, list[int]] = {}  # data sets of which fewer than five folds are run
        self.failed: dict[str, str] = {}  # pieces that could not be computed, and why
        self.tasks: list[Task] = []
        systems = sorted(plan.systems, key=lambda s: (s not in SLOW_FIRST, plan.systems.index(s)))
        per_fold: list[tuple[DatasetPlan, int, str]] = []
        for dataset in plan.datasets:
            try:
                folds = find_folds(dataset.path)
            except DataError as error:
                self.skipped[dataset.name] = str(error)
                continue
            numbers = [f.number for f in folds]
            if not set(plan.folds) <= set(numbers):
                raise DataError(
                    f"data set {dataset.name} has the folds {numbers}; the plan requests {list(plan.folds)}."
                )
            if len(plan.folds or numbers) < 5:
                self.partial[dataset.name] = sorted(plan.folds or numbers)
            for files in folds:
                if not plan.folds or files.number in plan.folds:
                    per_fold.append((dataset, files.number, content_hash(files)))
        self.tasks = [
            Task(d, f, s, content) for d, f, content in per_fold for s in systems
        ]  # fold by fold: its data are read once
        if not self.tasks:
            raise DataError("no data set of the plan is available: " + " ".join(self.skipped.values()))
        self.store = ResultsStore(out, plan)

    @property
    def datasets(self) -> list[str]:
        return list(dict.fromkeys(u.dataset.name for u in self.tasks))

    def run(self, progress: Progress = quiet) -> None:
        """Compute every missing piece; an interrupted run loses only the pieces in progress.

        A piece that fails (e.g. no preferred pair in a fold) is noted in `failed`, and the others continue.
        """
        self.store.record(self.tasks, environment())
        of_name = {self.store.name_of(u): u for u in self.tasks}
        kinds = {name: u.system for name, u in of_name.items()}
        work = Work(kinds, keeper=self.store, n_workers=self.n_workers, in_memory=False, progress=progress)
        work.begin()

        def failed(name: str, error: Exception) -> None:
            """Note the failure of one piece, so that the others continue."""
            kind = "" if isinstance(error, SparserankError) else f"{type(error).__name__}: "
            self.failed[of_name[name].label] = f"{kind}{error}"

        processes = min(self.n_workers, len(of_name) - len(work.done)) > 1
        labels = {name: u.label for name, u in of_name.items()}
        arguments = {name: (u,) for name, u in of_name.items()}
        work.run(TaskRunner(self.plan), arguments, labels, processes=processes, failed=failed)


def environment() -> dict[str, Any]:
    """The environment of a result: everything it depends on in addition to plan and data."""
    packages = ("numpy", "scipy", "numba", "scikit-learn", "pyarrow")
    return {
        "sparserank": __version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": available_cores(),
        "packages": {p: version(p) for p in packages},
        "date": time.strftime("%Y-%m-%d"),
    }
