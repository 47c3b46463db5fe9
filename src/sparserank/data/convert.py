"""From any input to a store, in bounded memory: killed and started again it goes on where it stood."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparserank.data.grouping import query_codes
from sparserank.data.missing import MissingPolicy
from sparserank.data.reading import Reading
from sparserank.data.side_files import SUFFIXES
from sparserank.data.store import (
    FORMAT,
    MANIFEST,
    PROGRESS,
    STAMPS,
    VERSION,
    checksum,
    decoded,
    file_name,
    identity_of_shards,
    is_store,
    map_shard,
    open_store,
    read_manifest,
    write_shard,
    write_stamps,
)  # fmt: skip
from sparserank.data.streams import Position, RowBlock, Stream, below, open_stream
from sparserank.errors import DataError, DataFormatError, RunDirectoryError
from sparserank.execution.blocks import SHARD_BYTES, shard_end
from sparserank.quoting import brief
from sparserank.runs.directory import RunDirectory

FILE_NAME = re.compile(r"\d{5,}-(X|data|indices|indptr|label|qid|query_ptr|docid|weight)\.npy")
Progress = Callable[[int, str], None]  # documents written, what is going on


def convert(
    paths: Sequence[str | os.PathLike],
    out: str | os.PathLike,
    reading: Reading | None = None,
    *,
    shard_bytes: int = SHARD_BYTES,
    restart: bool = False,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Write a store; returns its manifest.

    Parameters
        paths     files of one kind, as for `read_data`, or feature logs
        out       a new or empty folder, or one that an unfinished or finished conversion of the same files made
        reading   how to read them; dtype float32 unless it says otherwise
        restart   discard what an earlier conversion left
    Raises
        DataFormatError     names file and line, or row and column; what was written so far stays, and is used when the same
                            conversion is started again
        RunDirectoryError   the folder cannot be written, holds something else, the disk is full
    """
    reading = reading or Reading()
    if not paths:
        raise DataError("convert needs at least one file to read.")
    _refuse_itself(paths, out)
    plan = _plan(paths, reading, shard_bytes)
    with RunDirectory(out, "store") as folder:
        if restart:
            _discard(folder.path)
        known = read_manifest(folder.path) if (folder.path / MANIFEST).exists() else None
        unfinished = _progress(folder)
        for held in (known, unfinished):
            if held is not None and held.get("plan") != plan:
                raise RunDirectoryError(
                    f"{folder.path}: holds a store of other files or options, or of files that have changed since; choose another folder, or "
                    "--restart to discard it."
                )
        if known is not None:
            open_store(folder.path)
            _drop_others(folder.path, known)
            return known
        work = _Conversion(folder, plan, open_stream(paths, reading), MissingPolicy.parse(reading.missing), progress)
        manifest = work.run(unfinished)
        if _plan(paths, reading, shard_bytes) != plan:
            raise DataFormatError(
                f"{', '.join(map(str, paths))}: changed while being read; convert again with --restart."
            )
        manifest["identity"] = identity_of_shards(manifest)
        stamps = {}
        for shard in manifest["shards"]:
            for name in shard["files"]:
                found = os.stat(folder.path / file_name(shard, name))
                stamps[file_name(shard, name)] = [found.st_size, found.st_mtime_ns]
        write_stamps(folder.path, stamps)
        folder.write_json(MANIFEST, manifest)
        (folder.path / PROGRESS).unlink(missing_ok=True)
        _drop_others(folder.path, manifest)
        return manifest


def _progress(folder: RunDirectory) -> dict[str, Any] | None:
    """How far an earlier conversion came; None where there was none."""
    if not (folder.path / PROGRESS).exists():
        return None
    state = folder.read_json(PROGRESS)
    try:
        whole = {"plan": state["plan"], "shards": list(state["shards"]), "scattered": bool(state["scattered"])}
        file, block, row = (int(v) for v in state["next"])
        if state["sum"] != _sum_of({**whole, "next": [file, block, row]}):
            raise ValueError("sum")
    except (TypeError, KeyError, ValueError) as error:
        raise RunDirectoryError(f"{folder.path / PROGRESS}: is damaged; convert again with --restart.") from error
    return {**whole, "next": [file, block, row]}


def _sum_of(state: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(state, sort_keys=True).encode()).hexdigest()


def _plan(paths: Sequence[str | os.PathLike], reading: Reading, shard_bytes: int) -> dict[str, Any]:
    """What a conversion depends on, as plain JSON values."""
    files: list[list[Any]] = []
    given = reading.feature_names
    named = [Path(given)] if isinstance(given, str | os.PathLike) else []
    reading = replace(reading, n_threads=None)  # which changes nothing
    for path in paths:
        place = Path(path)
        if is_store(place):
            files.append([os.path.abspath(place), read_manifest(place)["identity"]])
            continue
        inside = sorted(p for p in place.rglob("*") if p.is_file()) if place.is_dir() else [place]
        beside = [Path(f"{place}{suffix}") for suffix in SUFFIXES if Path(f"{place}{suffix}").is_file()]
        for file in [*inside, *beside, *named]:
            try:
                found = os.stat(file)
            except OSError as error:
                raise DataFormatError(f"{file}: no such file; check the path.") from error
            files.append([os.path.abspath(file), found.st_size, found.st_mtime_ns])
    return {"version": VERSION, "files": files, "reading": repr(reading), "shard_bytes": shard_bytes}


def _refuse_itself(paths: Sequence[str | os.PathLike], out: str | os.PathLike) -> None:
    """Refuse to write into what is read."""
    target = Path(os.path.realpath(out))
    for path in paths:
        source = Path(os.path.realpath(path))
        if target == source or target in source.parents or source in target.parents:
            raise RunDirectoryError(
                f"{out}: is, holds or lies in what is read ({path}); choose another folder to write."
            )


def _discard(folder: Path) -> None:
    for old in [*_shard_files(folder), folder / MANIFEST, folder / PROGRESS, folder / STAMPS]:
        old.unlink(missing_ok=True)


def _shard_files(folder: Path) -> list[Path]:
    """Files that only a store has."""
    return [f for f in folder.glob("*.npy") if FILE_NAME.fullmatch(f.name)]


def _drop_others(folder: Path, manifest: dict[str, Any]) -> None:
    """Remove shards that the manifest does not know: what was there before scattered queries were gathered."""
    ours = {file_name(shard, name) for shard in manifest["shards"] for name in shard["files"]}
    for file in _shard_files(folder):
        if file.name not in ours:
            file.unlink(missing_ok=True)


class _Conversion:
    """Shards from a stream: whole queries each, about so many bytes of features."""

    def __init__(
        self,
        folder: RunDirectory,
        plan: dict[str, Any],
        stream: Stream,
        policy: MissingPolicy | None,
        progress: Progress | None,
    ) -> None:
        self.folder, self.plan, self.stream, self.policy, self.progress = folder, plan, stream, policy, progress
        self.shards: list[dict[str, Any]] = []
        self.waiting: list[RowBlock] = []  # rows that are in no shard yet
        self.seen: set[Any] = set()  # queries whose rows have ended
        self.last: Any = None  # the query of the last row
        self.scattered = False  # whether a query goes on after others

    def run(self, unfinished: dict[str, Any] | None) -> dict[str, Any]:
        """The manifest."""
        start = Position(0, 0, 0) if unfinished is None else self._resume(unfinished)
        size = 0
        for block in self.stream.blocks(start):
            self._look_for_scattered(block)
            self.waiting.append(block)
            size += _bytes(block.X)
            if size >= self.plan["shard_bytes"]:
                self._flush()
                size = sum(_bytes(b.X) for b in self.waiting)
        self._flush(whole=True)
        if not self.shards:
            raise DataFormatError("no row is left: every label is -1 (unjudged).")
        if self.scattered:
            self.shards = self._gathered()
        stream = self.stream
        return {
            "format": FORMAT, "version": VERSION, "n_docs": self._n_docs(),
            "n_queries": sum(s["n_queries"] for s in self.shards), "n_features": stream.n_features,
            "dtype": stream.dtype.name, "sparse": stream.sparse,
            "feature_names": None if stream.feature_names is None else list(stream.feature_names),
            "shards": self.shards, "plan": self.plan,
        }  # fmt: skip

    def _resume(self, unfinished: dict[str, Any]) -> Position:
        """Take over the shards that are there whole; the position of the first row behind them."""
        self.shards, self.scattered = unfinished["shards"], unfinished["scattered"]
        for shard in self.shards:
            for name, entry in shard["files"].items():
                path = self.folder.path / file_name(shard, name)
                if not path.is_file() or checksum(path) != entry["sha256"]:
                    raise DataFormatError(f"{path}: is missing or was changed; convert again with --restart.")
            self.seen.update(decoded(np.load(self.folder.path / file_name(shard, "qid"))).tolist())
        if self.progress is not None and self.shards:
            self.progress(self._n_docs(), "resumed")
        return Position(*unfinished["next"])

    def _n_docs(self) -> int:
        return sum(s["n_docs"] for s in self.shards)

    def _look_for_scattered(self, block: RowBlock) -> None:
        for q in block.qid[_starts(block.qid)].tolist():
            if q == self.last:
                continue
            self.seen.add(self.last)
            self.last = q
            if q in self.seen and not self.scattered:
                self.scattered = True
                if self.policy is not None and self.policy.by_query:
                    raise DataFormatError(
                        f"{self.plan['files'][0][0]}: the rows of query {brief(q)} stand in several places, and --missing query-min needs them "
                        "together; sort the rows by query id first (for text: sort -s -k2,2 FILE), or choose --missing zero."
                    )

    def _flush(self, *, whole: bool = False) -> None:
        """Write shards of the waiting rows: of all, or of those before the last query, which may go on."""
        if not self.waiting:
            return
        rows = below(self.waiting)
        n, at = len(rows.label), 0
        ends = np.append(_starts(rows.qid)[1:], [n] if whole else []).astype(np.int64)  # of queries that are whole
        until = _bytes_until(rows.X)
        while len(ends) and at < ends[-1] and (whole or until[n] - until[at] >= self.plan["shard_bytes"]):
            stop = shard_end(ends, until, at, self.plan["shard_bytes"])
            self.shards.append(self._write(rows.take(slice(at, stop)), len(self.shards)))
            at = stop
            self._note(rows.where[at] if at < n else rows.where[-1] + [0, 0, 1])
        self.waiting = [rows.take(slice(at, None))] if at < n else []

    def _note(self, position: np.ndarray) -> None:
        """How far the shards reach, for another start."""
        state = {"plan": self.plan, "shards": self.shards, "scattered": self.scattered, "next": position.tolist()}
        self.folder.write_json(PROGRESS, {**state, "sum": _sum_of(state)})
        if self.progress is not None:
            self.progress(self._n_docs(), "written")

    def _write(self, rows: RowBlock, number: int) -> dict[str, Any]:
        """One shard."""
        if self.policy is not None:
            self.policy.fill(rows.X, query_codes(rows.qid), 1)
        starts = _starts(rows.qid)
        ids = rows.qid[starts]
        X = rows.X
        features = (
            {"data": X.data, "indices": X.indices, "indptr": X.indptr.astype(X.indices.dtype)}
            if sp.issparse(X)
            else {"X": X}
        )
        arrays = {
            **features,
            "label": rows.label,
            "qid": ids if ids.dtype.kind in "iu" else np.char.encode(ids, "utf-8"),
            "query_ptr": np.append(starts, len(rows.label)).astype(np.int64),
        }
        if (
            rows.docid is not None and rows.docid.astype(bool).any()
        ):  # what is asked here are the rows of the shard alone
            arrays["docid"] = np.char.encode(rows.docid.astype(str), "utf-8")
        if rows.weight is not None:
            arrays["weight"] = rows.weight
        files = write_shard(self.folder.path, number, arrays)
        return {"number": number, "n_docs": len(rows.label), "n_queries": len(starts), "files": files}

    def _gathered(self) -> list[dict[str, Any]]:
        """New shards with the rows of each query together, queries in the order in which they first came.

        The shards so far are mapped and read where their rows are needed; they go when the store is finished.
        """
        parts = [map_shard(self.folder.path, shard, self.stream.n_features) for shard in self.shards]
        ids = np.concatenate([decoded(p["qid"]) for p in parts])
        part = np.repeat(np.arange(len(parts)), [len(p["qid"]) for p in parts])
        run = np.concatenate([np.arange(len(p["qid"])) for p in parts])
        sizes = np.concatenate([np.diff(p["query_ptr"]) for p in parts])
        code = query_codes(ids)
        order = np.argsort(code, kind="stable")
        size = sum(_bytes(p["X"]) for p in parts) / sizes.sum()
        shards: list[dict[str, Any]] = []
        lo, waiting = 0, 0.0
        for k, r in enumerate(order):
            waiting += sizes[r] * size
            last = k + 1 == len(order)
            if last or (waiting >= self.plan["shard_bytes"] and code[order[k + 1]] != code[r]):
                blocks = [self._run(parts[part[i]], run[i], ids[i]) for i in order[lo : k + 1]]
                shards.append(self._write(below(blocks), len(self.shards) + len(shards)))
                lo, waiting = k + 1, 0.0
                if self.progress is not None:
                    self.progress(sum(s["n_docs"] for s in shards), "gathered by query")
        return shards

    def _run(self, part: dict[str, Any], run: int, qid: Any) -> RowBlock:
        """Consecutive rows of one query in a shard."""
        lo, hi = part["query_ptr"][run : run + 2]
        docid, weight = part.get("docid"), part.get("weight")
        return RowBlock(
            part["X"][lo:hi], part["label"][lo:hi], np.repeat(qid, hi - lo),
            None if docid is None else decoded(docid[lo:hi]).astype(object), None if weight is None else weight[lo:hi], np.zeros((hi - lo, 3), dtype=int),
        )  # fmt: skip


def _starts(qid: np.ndarray) -> np.ndarray:
    """The rows with which runs of a query begin."""
    return np.concatenate([[0], np.flatnonzero(qid[1:] != qid[:-1]) + 1])


def _bytes_until(X: Any) -> np.ndarray:
    """(n + 1,) bytes of the rows before each."""
    if sp.issparse(X):
        return X.indptr.astype(np.int64) * (X.data.itemsize + X.indices.itemsize)
    return np.arange(len(X) + 1) * X.itemsize * X.shape[1]


def _bytes(X: Any) -> int:
    return int(X.data.nbytes + X.indices.nbytes) if sp.issparse(X) else int(X.nbytes)
