"""The run directory: finished pieces of work, written as they come, so that a killed run goes on where it stood."""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from sparserank.data.dataset import RankingDataset
from sparserank.errors import RunDirectoryError
from sparserank.files import atomic_write

PLAN = "plan.json"
RESULTS = ("model.json", "path.parquet", "per_query.parquet", "report.html", "log.jsonl")


def fingerprint(*parts: Any) -> str:
    """Hash of data sets and plain values: the same work, the same name."""
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, RankingDataset):
            X = part.X
            arrays = [X.data, X.indices, X.indptr] if part.is_sparse else [X]
            docid = np.zeros(0, dtype="U1") if part.docid is None else part.docid.astype("U")
            for array in [*arrays, part.relevance, part.query_ptr, np.asarray(part.qid).astype("U"), docid]:
                digest.update(f"{array.dtype.str}{array.shape}".encode())
                digest.update(np.ascontiguousarray(array).tobytes())
            digest.update(repr(part.feature_names).encode())
        else:
            digest.update(repr(part).encode())
    return digest.hexdigest()[:16]


class RunDirectory:
    """Named pieces of work under one plan; a piece is either complete or absent.

    Raises
        RunDirectoryError   the directory cannot be written, or holds a run of another plan (unless `restart`)
    """

    def __init__(self, path: str | os.PathLike, plan: dict[str, Any], *, restart: bool = False) -> None:
        self.path = Path(path)
        self.units = self.path / "units"
        try:
            self.units.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RunDirectoryError(
                f"{self.path}: cannot be created ({error.strerror or error}); choose another --out."
            ) from error
        plan_file = self.path / PLAN
        if plan_file.exists() and not restart:
            try:
                known = json.loads(plan_file.read_text(encoding="utf-8"))
            except (OSError, ValueError):
                known = None
            if known != plan:
                raise RunDirectoryError(
                    f"{self.path}: holds a run with other data or options; choose another --out, or --restart to discard it."
                )
        elif not plan_file.exists():
            foreign = [name for name in RESULTS if (self.path / name).exists()]
            if foreign or any(self.units.glob("*.npz")):
                raise RunDirectoryError(
                    f"{self.path}: holds {foreign[0] if foreign else 'units'} that no run here has written; choose another --out."
                )
        else:
            for old in [*self.units.glob("*.npz"), *(self.path / name for name in RESULTS)]:
                old.unlink(missing_ok=True)
        for part in [*self.path.glob(".*.part"), *self.units.glob(".*.part")]:
            part.unlink(missing_ok=True)  # what an earlier, killed run was writing
        with atomic_write(plan_file) as out:
            out.write(json.dumps(plan, indent=1) + "\n")

    def load(self, name: str) -> dict[str, np.ndarray] | None:
        """Arrays of a finished piece; None when it has to be computed."""
        file = self.units / f"{name}.npz"
        if not file.exists():
            return None
        try:
            with np.load(file, allow_pickle=False) as content:
                return {key: content[key] for key in content.files}
        except (OSError, ValueError, zipfile.BadZipFile, EOFError):
            return None

    def save(self, name: str, arrays: dict[str, np.ndarray]) -> None:
        with atomic_write(self.units / f"{name}.npz", "wb") as out:
            np.savez(out, **arrays)  # type: ignore[arg-type]

    def log(self, event: dict[str, Any]) -> None:
        """Append one line to log.jsonl."""
        try:
            with open(self.path / "log.jsonl", "a", encoding="utf-8") as out:
                out.write(json.dumps(event) + "\n")
        except OSError as error:
            raise RunDirectoryError(f"{self.path}: cannot be written ({error.strerror or error}).") from error
