"""The results of an experiment: Parquet files that are written as pieces finish, read together as one table."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from sparserank import __version__
from sparserank.errors import RunDirectoryError
from sparserank.experiments.layouts import FoldFiles
from sparserank.experiments.plan import ExperimentPlan
from sparserank.experiments.units import Unit
from sparserank.files import atomic_write


class ResultsStore:
    """OUT/candidates/*.parquet (one row per fitted model) and OUT/per_query/*.parquet (test values of chosen ones).

    The name of a piece holds a hash of everything it depends on (data, grid, metrics, version): a changed plan recomputes
    what it changes and nothing else. A piece is finished when its candidates are there; they are written last.
    """

    def __init__(self, path: str | os.PathLike, plan: ExperimentPlan) -> None:
        self.path, self.plan = Path(path), plan
        try:
            for name in ("candidates", "per_query"):
                (self.path / name).mkdir(parents=True, exist_ok=True)
                for part in (self.path / name).glob(".*.part"):
                    part.unlink(missing_ok=True)
        except OSError as error:
            raise RunDirectoryError(
                f"{self.path}: cannot be created ({error.strerror or error}); choose another --out."
            ) from error
        self._data_hash: dict[tuple[str, int], str] = {}

    def record(self, environment: dict[str, Any]) -> None:
        """Write plan.json: what is done here, with what."""
        plan = {
            "name": self.plan.name,
            "datasets": [vars(d) for d in self.plan.datasets],
            "systems": {s: {k: list(v) for k, v in self.plan.grid(s).items()} for s in self.plan.systems},
            "choose_by": list(self.plan.choose_by),
            "metrics": self.plan.metric_names,
            "convention": self.plan.convention,
            "max_size": self.plan.max_size,
            "seed": self.plan.seed,
            "environment": environment,
        }
        with atomic_write(self.path / "plan.json") as out:
            out.write(json.dumps(plan, indent=1) + "\n")

    def describe_data(self, dataset: str, files: FoldFiles) -> None:
        """Tell the store what a fold's data are: their content is part of a piece's name."""
        digest = hashlib.sha256()
        for part in (files.train, files.valid, files.test):
            for file in part:
                digest.update(hashlib.sha256(Path(file).read_bytes()).digest())
            digest.update(b"|")
        self._data_hash[dataset, files.number] = digest.hexdigest()

    def _name(self, unit: Unit) -> str:
        p = self.plan
        identity = [
            __version__, self._data_hash[unit.dataset.name, unit.fold], unit.dataset.missing, unit.dataset.scaling, unit.system,
            sorted((k, list(v)) for k, v in p.grid(unit.system).items()), p.choose_by, p.valid_names, p.metric_names, p.convention,
            p.max_size, p.seed,
        ]  # fmt: skip
        digest = hashlib.sha256(repr(identity).encode()).hexdigest()[:12]
        safe = "".join(c if c.isalnum() or c in "-." else "_" for c in unit.dataset.name)
        return f"{safe}-fold{unit.fold}-{unit.system}-{digest}.parquet"

    def has(self, unit: Unit) -> bool:
        """True when the piece is finished and can be read."""
        file = self.path / "candidates" / self._name(unit)
        try:
            return file.exists() and pq.read_metadata(file).num_rows > 0
        except (OSError, pa.ArrowException):
            return False

    def save(self, unit: Unit, candidates: pa.Table, per_query: pa.Table) -> None:
        for folder, table in (("per_query", per_query), ("candidates", candidates)):
            with atomic_write(self.path / folder / self._name(unit), "wb") as out:
                pq.write_table(table, out)

    def load(self, units: list[Unit], folder: str) -> pa.Table:
        """All finished pieces among `units` as one table; folder is 'candidates' or 'per_query'."""
        tables = [pq.read_table(self.path / folder / self._name(u)) for u in units if self.has(u)]
        if not tables:
            raise RunDirectoryError(f"{self.path}: holds no results of this plan.")
        return pa.concat_tables(tables, promote_options="permissive")
