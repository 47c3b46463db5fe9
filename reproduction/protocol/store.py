"""The results of an experiment: Parquet files, written as pieces finish and read together as one table."""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from reproduction.protocol.plan import ExperimentPlan
from reproduction.protocol.tasks import Task
from sparserank.arrow import pa, pq, require_arrow
from sparserank.errors import RunDirectoryError
from sparserank.workdir.directory import WorkDirectory
from sparserank.workdir.pieces import PieceStore, code_hash, name_of

TABLES = ("candidates", "per_query")
MAX_TABLE_BYTES = 1 << 32
NOTHING = "lists of null"  # if all are empty
OF_BOTH = {"dataset": "string", "fold": "int64", "system": "string", "candidate": "int64"}
COLUMNS = {
    "candidates": {
        **OF_BOTH,
        "params": "string",
        **dict.fromkeys(("n_features", "n_features_all", "n_features_varying"), "int64"),
        "features": "lists of int64",
        "coef": "lists of double",
        "chosen_for": "lists of string",
    },
    "per_query": {**OF_BOTH, "qid": "string"},
}


def _all(inside: tuple[str, ...]) -> bool:
    """No file of the package is left out."""
    return False


@cache
def _code() -> str:
    """Hash of the code that fits, chooses and tests: of the package, and of what is not only shown here."""
    root = Path(__file__).parents[1]
    digest = hashlib.sha256(code_hash(_all).encode())
    for file in [root / "datasets.py", root / "protocol/tasks.py", *sorted((root / "systems").glob("*.py"))]:
        digest.update(file.read_bytes())
    return digest.hexdigest()[:12]


class ResultsStore(WorkDirectory):
    """OUT/candidates/*.parquet (one row per fitted model) and OUT/per_query/*.parquet (test values of chosen ones).

    The name of a piece contains a hash of everything it depends on: data, grid, metrics and source code. A changed plan
    or program recomputes only the pieces that it changes. Pieces of earlier plans are kept; plan.json lists those of
    the current one.
    """

    def __init__(self, path: str | os.PathLike, plan: ExperimentPlan) -> None:
        require_arrow()
        super().__init__(path, "experiment")
        self.plan, self.pieces = plan, PieceStore(self.path)

    def record(self, tasks: Sequence[Task], environment: dict[str, Any]) -> None:
        """Write plan.json: the plan, the environment, and the names of its pieces."""
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
            "pieces": [self.name_of(u) for u in tasks],
        }
        self.write_json("plan.json", plan)

    def name_of(self, task: Task) -> str:
        """The name of its piece, with a hash of everything that the piece depends on."""
        p = self.plan
        depends_on = [
            _code(),
            task.content,
            task.dataset.missing,
            task.dataset.scaling,
            task.system,
            sorted((k, list(v)) for k, v in p.grid(task.system).items()),
            p.choose_by,
            p.valid_names,
            p.metric_names,
            p.convention,
            p.max_size,
            p.seed,
        ]
        return name_of(f"{task.dataset.name}-fold{task.fold}-{task.system}", depends_on)

    def load(self, name: str) -> dict[str, bytes] | None:
        """The Parquet files of a piece, by table; None unless all are present and undamaged."""
        files = {f"{table}/{name}.parquet": table for table in TABLES}
        found: dict[str, bytes] | None = self.pieces.load(name, files, lambda given: self._checked(files, given))
        return found

    def save(self, name: str, tables: Any) -> None:
        """tables: (candidates, per_query)"""
        files = {}
        for folder, table in zip(TABLES, tables, strict=True):
            content = io.BytesIO()
            pq.write_table(table, content)
            files[f"{folder}/{name}.parquet"] = content.getvalue()
        self.pieces.save(name, files)

    def table(self, tasks: Sequence[Task], which: str) -> pa.Table:
        """All finished pieces among `tasks` as one table; which is 'candidates' or 'per_query'."""
        found = [_read(files[which]) for u in tasks if (files := self.load(self.name_of(u))) is not None]
        if not found:
            raise RunDirectoryError(f"{self.path}: contains no results of this plan.")
        return pa.concat_tables(found, promote_options="permissive")

    def _checked(self, files: Mapping[str, str], given: Mapping[str, bytes]) -> dict[str, bytes]:
        """{table: its file}; raise ValueError for tables that no task writes."""
        numbers = [f"valid {name}" for name in self.plan.valid_names], self.plan.metric_names
        for (place, name), own in zip(files.items(), numbers, strict=True):
            file = pq.ParquetFile(pa.BufferReader(given[place]))
            if sum(file.metadata.row_group(i).total_byte_size for i in range(file.num_row_groups)) > MAX_TABLE_BYTES:
                raise ValueError(f"{place} is too large")
            table = file.read()
            for column, kind in {**COLUMNS[name], **dict.fromkeys(own, "double")}.items():
                held = table.schema.field(column).type
                shown = f"lists of {held.value_type}" if pa.types.is_list(held) else str(held)
                if shown not in (kind, NOTHING if kind.startswith("lists") else kind):
                    raise ValueError(f"column {column} of {place} has type {held}")
                if table[column].null_count:
                    raise ValueError(f"column {column} of {place} has missing values")
            if name == "candidates" and not all(isinstance(json.loads(p), dict) for p in table["params"].to_pylist()):
                raise ValueError(f"params of {place} are not objects")
        return {name: given[place] for place, name in files.items()}


def _read(content: bytes) -> pa.Table:
    return pq.read_table(pa.BufferReader(content))
