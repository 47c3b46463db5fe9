"""Write the shards of a store from a stream of rows, in bounded memory; each shard contains whole queries, and
scattered queries are gathered."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from sparserank.data.matrices import arrays_of, bytes_until, stored_bytes
from sparserank.data.query_ids import query_codes, run_starts
from sparserank.data.store.arrays import checksum, columns_of, decoded, map_shard, write_shard
from sparserank.data.store.features import StoredFeatures
from sparserank.data.store.manifest import (
    FORMAT,
    MANIFEST,
    PROGRESS,
    VERSION,
    files_of,
    identity_of_shards,
)
from sparserank.data.store.opening import size_and_time, write_stamps
from sparserank.data.streams import BEGIN, RowBlock, Stream, StreamPosition, one_below_the_other
from sparserank.errors import DataFormatError
from sparserank.execution import shard_end
from sparserank.options import option
from sparserank.strict_json import plain
from sparserank.text import brief
from sparserank.workdir.directory import WorkDirectory
from sparserank.workdir.pieces import RECORDS, PieceStore, name_of

Progress = Callable[[int, str], None]  # (documents written, current activity)


class Conversion:
    """Write shards of whole queries from a stream; the features of a shard take about a given number of bytes.

    The progress of a conversion is one piece of work, which is written anew after each shard: where a shard begins is
    known only when those before it are written.
    """

    def __init__(
        self,
        folder: WorkDirectory,
        plan: dict[str, Any],
        stream: Stream,
        progress: Progress | None = None,
    ) -> None:
        self.folder = folder
        self.plan = plan
        self.stream = stream
        self.progress = progress
        self._pieces = PieceStore(folder.path)
        stream.look()
        self.filling = stream.filling()
        self.shards: list[dict[str, Any]] = []
        self.waiting: list[RowBlock] = []  # rows that are not in a shard yet
        self.seen: set[Any] = set()  # queries whose rows have ended
        self.last: Any = None  # the query of the last row
        self.scattered = False  # whether a query continues after others

    def run(self) -> dict[str, Any]:
        """Write all shards, after those of an interrupted conversion; return the manifest."""
        unfinished = self._pieces.load(progress_name(self.plan), [PROGRESS], self._checked)
        start = BEGIN if unfinished is None else self._resume(unfinished)
        size = 0
        for block in self.stream.blocks(start):
            self._look_for_scattered(block)
            self.waiting.append(block)
            size += stored_bytes(block.X)
            if size >= self.plan["shard_bytes"]:
                self._flush()
                size = sum(stored_bytes(b.X) for b in self.waiting)
        self._flush(whole=True)
        if self.scattered:
            self.shards = self._gathered()
        stream = self.stream
        filled = {} if self.filling is None else {"fill_values": plain(self.filling.values)}
        return {
            "format": FORMAT,
            "version": VERSION,
            "n_docs": self._n_docs(),
            "n_queries": sum(s["n_queries"] for s in self.shards),
            "n_features": stream.n_features,
            "dtype": stream.dtype.name,
            "sparse": stream.sparse,
            "feature_names": None if stream.feature_names is None else list(stream.feature_names),
            "shards": self.shards,
            "plan": self.plan,
            **filled,
            **({} if stream.text_base != 0 else {"index_base": 0}),
        }

    def finish(self, manifest: dict[str, Any]) -> None:
        """Make the folder a store."""
        folder = self.folder
        manifest["identity"] = identity_of_shards(manifest)
        names = [name for name, _ in files_of(manifest["shards"])]
        write_stamps(folder.path, {name: size_and_time(folder.path / name) for name in names})
        folder.write_json(MANIFEST, manifest)
        self._pieces.drop(progress_name(self.plan), [PROGRESS])
        with suppress(OSError):  # there was no piece
            (folder.path / RECORDS).rmdir()

    def _checked(self, files: dict[str, bytes]) -> dict[str, Any]:
        """The progress of an interrupted conversion, whose shards must be as they were written."""
        state: dict[str, Any] = json.loads(files[PROGRESS])
        for name, entry in files_of(state["shards"]):
            if checksum(self.folder.path / name) != entry["sha256"]:
                raise ValueError(f"{name} was changed")
        return state

    def _resume(self, unfinished: dict[str, Any]) -> StreamPosition:
        """Take over the complete shards; return the position of the first row after them."""
        self.shards = unfinished["shards"]
        self.scattered = unfinished["scattered"]
        for shard in self.shards:
            arrays = map_shard(self.folder.path, shard, self.stream.n_features)
            self.seen.update(decoded(arrays["qid"]).tolist())
        if self.progress is not None and self.shards:
            self.progress(self._n_docs(), "resumed")
        return StreamPosition(*unfinished["next"])

    def _n_docs(self) -> int:
        return sum(s["n_docs"] for s in self.shards)

    def _look_for_scattered(self, block: RowBlock) -> None:
        for q in block.qid[run_starts(block.qid)].tolist():
            if q == self.last:
                continue
            self.seen.add(self.last)
            self.last = q
            if q in self.seen and not self.scattered:
                self.scattered = True
                if self.filling is not None and self.filling.by_query.any():
                    raise DataFormatError(
                        f"{self.plan['files'][0][0]}: the rows of query {brief(q)} are not contiguous, as "
                        f"{option('missing', 'query-min')} requires. Sort the rows by query id first (for text: sort "
                        f"-s -k2,2 FILE), or choose {option('missing', 'zero')}."
                    )

    def _flush(self, *, whole: bool = False) -> None:
        """Write the waiting rows to shards: all if `whole`, else without the last query, which may continue."""
        if not self.waiting:
            return
        rows = one_below_the_other(self.waiting)
        n = len(rows.label)
        at = 0
        ends = np.append(run_starts(rows.qid)[1:], [n] if whole else []).astype(np.int64)  # ends of complete queries
        until = bytes_until(rows.X)
        while len(ends) and at < ends[-1] and (whole or until[n] - until[at] >= self.plan["shard_bytes"]):
            stop = shard_end(ends, until, at, self.plan["shard_bytes"])
            self.shards.append(self._write(rows.take(slice(at, stop)), len(self.shards)))
            at = stop
            self._note(rows.where[at] if at < n else rows.where[-1] + [0, 0, 1])
        self.waiting = [rows.take(slice(at, None))] if at < n else []

    def _note(self, position: np.ndarray) -> None:
        """Record how far the shards reach, for resuming."""
        state = {"shards": self.shards, "scattered": self.scattered, "next": position.tolist()}
        self._pieces.save(progress_name(self.plan), {PROGRESS: json.dumps(state).encode()})
        if self.progress is not None:
            self.progress(self._n_docs(), "written")

    def _write(self, rows: RowBlock, number: int) -> dict[str, Any]:
        """Write one shard; return its entry in the manifest."""
        if self.filling is not None:
            self.filling.fill(rows.X, query_codes(rows.qid))
        starts = run_starts(rows.qid)
        ids = rows.qid[starts]
        features = arrays_of(rows.X)
        if "indptr" in features:
            features["indptr"] = features["indptr"].astype(features["indices"].dtype)
        arrays = {
            **features,
            "label": rows.label,
            "qid": ids if ids.dtype.kind in "iu" else np.char.encode(ids, "utf-8"),
            "query_ptr": np.append(starts, len(rows.label)).astype(np.int64),
        }
        # Only the rows of this shard decide whether document ids are written.
        if rows.docid is not None and rows.docid.astype(bool).any():
            arrays["docid"] = np.char.encode(rows.docid.astype(str), "utf-8")
        if rows.weight is not None:
            arrays["weight"] = rows.weight
        files = write_shard(self.folder.path, number, arrays)
        return {"number": number, "n_docs": len(rows.label), "n_queries": len(starts), "files": files}

    def _gathered(self) -> list[dict[str, Any]]:
        """New shards with the rows of each query together, queries in order of first appearance.

        The earlier shards are mapped and read as their rows are needed; they are removed when the store is finished.
        """
        parts = [map_shard(self.folder.path, shard, self.stream.n_features) for shard in self.shards]
        X = StoredFeatures([p["X"] for p in parts], "")
        columns = columns_of(parts)
        ids = columns["query_ids"]
        run = np.repeat(np.arange(len(ids)), np.diff(columns["query_ptr"]))
        code = query_codes(ids)[run]
        order = np.argsort(code, kind="stable")
        ends = np.cumsum(np.bincount(code))
        until = np.arange(len(order) + 1) * (X.nbytes / len(order))
        shards: list[dict[str, Any]] = []
        at = 0
        while at < len(order):
            rows = order[at : shard_end(ends, until, at, self.plan["shard_bytes"])]
            docid, weight = (None if c is None else c[rows] for c in (columns["docid"], columns["doc_weight"]))
            label = columns["relevance"][rows]
            block = RowBlock(X[rows], label, ids[run[rows]], docid, weight, np.empty((len(rows), 0)))
            shards.append(self._write(block, len(self.shards) + len(shards)))
            at += len(rows)
            if self.progress is not None:
                self.progress(at, "gathered by query")
        return shards


def progress_name(plan: dict[str, Any]) -> str:
    """The name of the piece that says how far the shards of a plan reach."""
    return name_of("shards", plan)
