"""The results of an experiment: Parquet files that are written as pieces finish, read together as one table."""

from __future__ import annotations

import hashlib
import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from sparserank.errors import RunDirectoryError
from sparserank.experiments.layouts import FoldFiles
from sparserank.experiments.plan import ExperimentPlan
from sparserank.experiments.units import Unit
from sparserank.files import atomic_write

NOT_COMPUTING = ("cli", "reports")  # and in experiments/ all but what fits, chooses and tests


@cache
def code_hash() -> str:
    """Hash of the sources that results depend on."""
    root = Path(__file__).parent.parent
    digest = hashlib.sha256()
    for file in sorted(root.rglob("*.py")):
        inside = file.relative_to(root).parts
        presents = inside[0] == "experiments" and inside[1] not in ("systems", "units.py", "layouts.py")
        if inside[0] not in NOT_COMPUTING and not presents:
            digest.update(file.read_bytes())
    return digest.hexdigest()[:12]


@cache
def _file_hash(path: str) -> bytes:
    with open(path, "rb") as content:
        return hashlib.file_digest(content, "sha256").digest()


class ResultsStore:
    """OUT/candidates/*.parquet (one row per fitted model) and OUT/per_query/*.parquet (test values of chosen ones).

    The name of a piece holds a hash of what it depends on: data, grid, metrics, and the source of everything that computes.
    A changed plan or program recomputes what it changes and nothing else. Pieces of earlier plans stay; plan.json lists the
    files of the present one.
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

    def record(self, units: list[Unit], environment: dict[str, Any]) -> None:
        """Write plan.json: what is done here, with what, and the names of its pieces."""
        plan = {
            "name": self.plan.name,
            "datasets": [vars(d) for d in self.plan.datasets],
            "systems": {s: {k: list(v) for k, v in self.plan.grid(s).items()} for s in self.plan.systems},
            "choose_by": list(self.plan.choose_by),
            "metrics": self.plan.metric_names,
            "watch": self.plan.valid_names,
            "folds": list(self.plan.folds),
            "convention": self.plan.convention,
            "max_size": self.plan.max_size,
            "seed": self.plan.seed,
            "environment": environment,
            "pieces": [self._name(u) for u in units],
        }
        with atomic_write(self.path / "plan.json") as out:
            out.write(json.dumps(plan, indent=1) + "\n")

    def describe_data(self, dataset: str, files: FoldFiles) -> None:
        """Tell the store what a fold's data are: their content is part of a piece's name."""
        digest = hashlib.sha256()
        for part in (files.train, files.valid, files.test):
            for file in part:
                digest.update(_file_hash(str(file)))
            digest.update(b"|")
        self._data_hash[dataset, files.number] = digest.hexdigest()

    def _name(self, unit: Unit) -> str:
        p = self.plan
        identity = [
            code_hash(), self._data_hash[unit.dataset.name, unit.fold], unit.dataset.missing, unit.dataset.scaling, unit.system,
            sorted((k, list(v)) for k, v in p.grid(unit.system).items()), p.choose_by, p.valid_names, p.metric_names, p.convention,
            p.max_size, p.seed,
        ]  # fmt: skip
        digest = hashlib.sha256(repr(identity).encode()).hexdigest()[:12]
        safe = "".join(c if c.isalnum() or c in "-." else "_" for c in unit.dataset.name)
        return f"{safe}-fold{unit.fold}-{unit.system}-{digest}.parquet"

    def has(self, unit: Unit) -> bool:
        """True when both files of the piece are there and can be read."""
        try:
            files = [self.path / folder / self._name(unit) for folder in ("candidates", "per_query")]
            return all(f.exists() and pq.read_metadata(f).num_rows > 0 for f in files)
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
