"""Shards on a Dask cluster: each is created where it is used, from a store on a disk that every worker can read.

A shard is a future of a pure loader. If its worker is lost, the scheduler creates it again on another one, and its
weights are sent again. One call is one task per worker, whatever the number of shards. Results are put in shard order,
so that sums do not depend on the number of workers. No future is pinned to a worker and no actor is used, because both
would be lost with the worker. A shard that moves is not sent, but loaded on the other worker.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from sparserank.data.dataset import RankingDataset
from sparserank.data.store.arrays import map_shard
from sparserank.data.store.features import StoredFeatures, StoredTexts, StoreShard
from sparserank.data.store.manifest import MANIFEST, read_manifest
from sparserank.errors import DataError, DataFormatError
from sparserank.execution import BlockExecutor
from sparserank.losses import PairwiseLoss, SquaredHinge
from sparserank.shards.local import as_rows
from sparserank.shards.moments import MomentSums
from sparserank.shards.shard import Shard
from sparserank.text import brief

LEAST = 1 << 14  # array size from which compression is tried
MAX_FILLED = 0.5  # largest fraction of nonzero values to compress; an index takes half a value


def placed(client: Any, data: RankingDataset) -> RankingDataset:
    """`data` with its features in a store that every worker sees: the existing store, or a temporary one.

    Raises
        DataError           a worker does not see the folder
        RunDirectoryError   it cannot be written, or the disk is full
    """
    usable_client(client)
    if not _in_stores(data.X):
        from sparserank.data.store.temporary import DatasetRows, in_temporary_store

        data = replace(data, X=in_temporary_store(DatasetRows(data)).X)
    folders = sorted({source.folder for source in data.X.sources})
    for worker, seen in client.run(_sees, folders, on_error="ignore").items():  # lost workers are ignored
        if not seen:
            raise DataError(
                f"worker {worker} cannot access {', '.join(folders)}; use a store on a disk that every worker can "
                "access ('sparserank convert'), or set TMPDIR to a folder on such a disk."
            )
    return data


def usable_client(client: Any) -> None:
    """Refuse an object that is not a client of a usable cluster, before anything is written.

    Raises
        DataError   it is not a client, or is closed; a worker has no sparserank, or another version
    """
    if not all(hasattr(client, name) for name in ("submit", "gather", "nthreads", "run")):
        raise DataError(f"client must be a dask.distributed Client; got {brief(type(client).__name__)}.")
    if getattr(client, "status", "running") != "running":
        raise DataError("the dask.distributed Client is closed; open it again.")
    version_here = version("sparserank")
    # uses only the standard library: functions of another sparserank version may differ
    for worker, version_there in client.run(version, "sparserank", on_error="return").items():
        if isinstance(version_there, PackageNotFoundError) or (
            isinstance(version_there, str) and version_there != version_here
        ):
            has = f"sparserank {version_there}" if isinstance(version_there, str) else "no sparserank"
            raise DataError(
                f"worker {worker} has {has}; install sparserank {version_here}, the version on this machine."
            )


def _sees(folders: list[str]) -> bool:
    return all((Path(folder) / MANIFEST).is_file() for folder in folders)


def _in_stores(X: Any) -> bool:
    return isinstance(X, StoredFeatures) and all(source is not None for source in X.sources)


def shards_on(
    client: Any,
    data: RankingDataset,
    relevance: np.ndarray,
    loss: PairwiseLoss,
    shape: Any = None,
) -> DaskShards:
    """The shards of `placed` data with these labels (n_docs,) on the workers of a dask.distributed Client. shape: how
    values become columns (a `bins.Shape`), by default one column each.

    Raises
        DataError   document weights differ from those in the store; there is no worker
    """
    X = data.X
    manifests = {folder: read_manifest(Path(folder)) for folder in {s.folder for s in X.sources}}
    entries = [manifests[s.folder]["shards"][s.number] for s in X.sources]
    shards = [map_shard(Path(s.folder), entry, X.shape[1]) for s, entry in zip(X.sources, entries, strict=True)]
    labels = np.concatenate([np.asarray(h["label"], dtype=np.float64) for h in shards])
    weights = np.concatenate([np.asarray(h.get("weight", np.ones(len(h["label"])))) for h in shards])
    if not np.array_equal(weights, np.ones(data.n_docs) if data.doc_weight is None else data.doc_weight):
        raise DataError(
            "on a cluster, document weights must be those of the store; convert the data again with their column."
        )
    return DaskShards(client, X, loss, shape, None if np.array_equal(labels, relevance) else relevance)


def sums_on(client: Any, X: Any) -> MomentSums:
    """The sums for moments, computed by the workers from `placed` features."""
    shards = DaskShards(client, X, SquaredHinge())
    return lambda used, unit, around: shards.call("moments", unit, around, per_query=used)


def connect(address: str) -> Any:
    """Connect a Client to the scheduler at an address.

    Raises
        DataError   dask is not installed, or no scheduler answers
    """
    try:
        from distributed import Client
    except ImportError as error:
        raise DataError("a cluster needs dask; install it with: pip install 'sparserank[dask]'.") from error
    try:
        return Client(address, timeout=CONNECT_S)
    except Exception as error:  # any exception: another service's answer is misread as lengths, versions, messages
        raise DataError(
            f"no scheduler answers at {address}; start one with 'dask scheduler', or correct the address."
        ) from error


class LoadedShard:
    """A shard on a worker; it is pickled as the arguments that load it."""

    def __init__(
        self,
        source: StoreShard,
        loss: PairwiseLoss,
        shape: Any,
        relevance: np.ndarray | None,
    ) -> None:
        self._arguments = (source, loss, shape, relevance)
        folder, number, identity = source
        manifest = read_manifest(Path(folder))
        if manifest["identity"] != identity:
            raise DataFormatError(f"{folder}: was rewritten while it was in use; open it again.")
        arrays = map_shard(Path(folder), manifest["shards"][number], manifest["n_features"])
        X = arrays["X"]
        rows: Any = as_rows(X) if shape is None else shape.rows(X)
        self.shard = Shard(
            rows,
            np.asarray(arrays["label"] if relevance is None else relevance, dtype=np.float64),
            np.array(arrays["query_ptr"]),
            loss,
            arrays.get("weight"),
            BlockExecutor(_threads()),
            StoredTexts([arrays["docid"]]) if "docid" in arrays else None,
        )
        self.received: set[str] = set()  # keys of the weightings that it has received

    def __reduce__(self) -> tuple[Any, ...]:
        return LoadedShard, self._arguments


def _threads() -> int | None:
    """The number of threads of the worker that runs this."""
    with contextlib.suppress(ImportError, ValueError):
        from distributed import get_worker

        return int(get_worker().state.nthreads)
    return None


CONNECT_S = 10  # seconds to wait for a scheduler
LACKS_WEIGHTING = "lacks weighting"  # the result of a shard that was recreated and lost the weighting


def _on_worker(
    shards: list[LoadedShard],
    forgotten: list[str],
    method: str,
    small: tuple[Any, ...],
    query_parts: list[tuple[Any, ...]],
    key: str | None,
    weightings: list[Any] | None,
) -> list[Any]:
    """Run one call on the shards of a group, where they are."""
    results = []
    small = unpacked(small)
    weightings = unpacked(weightings)
    for i, (loaded, query_part) in enumerate(zip(shards, query_parts, strict=True)):
        for old in forgotten:
            loaded.shard.forget(old)
            loaded.received.discard(old)
        if key is not None and key not in loaded.received and weightings is not None:
            loaded.shard.set_weights(key, *weightings[i])
            loaded.received.add(key)
        if key is not None and key not in loaded.received:
            results.append(LACKS_WEIGHTING)
        else:
            results.append(packed(getattr(loaded.shard, method)(*small, *query_part)))
    return results


class _Call(NamedTuple):
    """The arguments of a call for every shard; key: the key of the weighting in use, or None."""

    method: str
    small: tuple[Any, ...]
    per_query: np.ndarray | None
    key: str | None


def _lacks_weighting(results: list[Any]) -> bool:
    return any(isinstance(r, str) and r == LACKS_WEIGHTING for r in results)


class DaskShards:
    """`Shards` on a cluster, with the labels of their store or others (n_docs,)."""

    def __init__(
        self,
        client: Any,
        X: StoredFeatures,
        loss: PairwiseLoss,
        shape: Any = None,
        relevance: np.ndarray | None = None,
    ) -> None:
        self.client = client
        self.loss = loss
        self.column_blocks: tuple[tuple[int, ...], ...] | None = None
        self._features = X  # keeps a temporary store alive
        self.n_docs = X.shape[0]
        self.n_columns = X.shape[1] * (1 if shape is None else shape.m)
        workers = sorted(client.nthreads())
        if not workers:
            raise DataError("the cluster has no workers; start some and try again.")
        sources = [source for source in X.sources if source is not None]
        n = min(len(workers), len(sources))
        cuts = np.linspace(0, len(sources), n + 1).round().astype(int)  # neighbours share a worker: fewer sums are sent
        self._groups = [list(range(a, b)) for a, b in pairwise(cuts)]
        self._homes = [workers[g * len(workers) // n] for g in range(n)]
        manifests = {folder: read_manifest(Path(folder)) for folder in {s.folder for s in sources}}
        shards = [manifests[s.folder]["shards"][s.number] for s in sources]
        ends = np.cumsum([s["n_docs"] for s in shards])
        labels = [None] * len(shards) if relevance is None else np.split(relevance, ends[:-1])
        self._futures = [
            client.submit(
                LoadedShard,
                sources[k],
                loss,
                shape,
                labels[k],
                workers=[self._homes[g]],
                allow_other_workers=True,
            )
            for g, group in enumerate(self._groups)
            for k in group
        ]
        self._sizes = [s["n_queries"] for s in shards]
        self.n_queries = sum(self._sizes)
        self._starts = np.concatenate([[0], np.cumsum(self._sizes)])
        self._weights: dict[str, tuple[Any, np.ndarray]] = {}
        self._forgotten: list[str] = []
        self._known: set[str] = set()  # weightings that were sent to the workers
        self.n_rounds = 0

    def call(self, method: str, *small: Any, per_query: np.ndarray | None = None) -> list[Any]:
        """Call `method(*small)` of every shard, with one task per worker; the results are in shard order."""
        if method == "set_weights":
            key, inverse = small
            assert per_query is not None
            self._weights[key] = (inverse, per_query)
            return [None] * len(self._futures)  # sent with the first call that needs it
        if method == "forget":  # sent with the next call: the client may already be closed now
            self._weights.pop(small[0], None)
            self._known.discard(small[0])
            self._forgotten.append(small[0])
            return []
        request = _Call(method, small, per_query, self._key(small))
        results = self._round(range(len(self._groups)), request, send_weights=request.key not in self._known)
        if request.key is not None:
            self._known.add(request.key)
        again = [g for g, answers in results.items() if _lacks_weighting(answers)]
        if again:
            results |= self._round(again, request, send_weights=True)
        return [r for g in range(len(self._groups)) for r in results[g]]

    def in_order(self, method: str, *small: Any) -> Iterator[Any]:
        """The results in shard order, regardless of arrival, with the results of one group in memory at a time."""
        request = _Call(method, small, None, self._key(small))
        tasks = self._submit(range(len(self._groups)), request, send_weights=request.key not in self._known)
        for g in range(len(self._groups)):
            answers = self._gather([tasks.pop(g)])[0]
            if _lacks_weighting(answers):
                answers = self._round([g], request, send_weights=True)[g]
            yield from answers

    def _key(self, small: tuple[Any, ...]) -> str | None:
        """The weighting that a call names."""
        return next((a for a in small if isinstance(a, str) and a in self._weights), None)

    def _round(self, groups: Any, request: _Call, *, send_weights: bool) -> dict[int, list[Any]]:
        tasks = self._submit(groups, request, send_weights=send_weights)
        return dict(zip(tasks, self._gather(list(tasks.values())), strict=True))

    def _gather(self, tasks: list[Any]) -> list[Any]:
        try:
            return [unpacked(answer) for answer in self.client.gather(tasks)]
        except Exception as error:
            if type(error).__module__.partition(".")[0] not in ("distributed", "asyncio", "concurrent"):
                raise
            raise DataError(
                f"the cluster could not finish ({type(error).__name__}: {brief(str(error))}); docs/scale.md explains "
                "the memory limit of workers. Run again; finished work is kept."
            ) from error

    def _submit(self, groups: Any, request: _Call, *, send_weights: bool) -> dict[int, Any]:
        """Submit a task per group; with `send_weights`, also send the weighting that the call names, if any."""
        tasks = {}
        method, small, per_query, key = request
        small = packed(small)
        forgotten = self._forgotten
        self._forgotten = []
        for g in groups:
            members = self._groups[g]
            query_parts = [() if per_query is None else (self._of(per_query, k),) for k in members]
            weightings = None
            if send_weights and key is not None:
                inverse, scale = self._weights[key]
                weightings = packed([(inverse, self._of(scale, k)) for k in members])
            tasks[g] = self.client.submit(
                _on_worker,
                [self._futures[k] for k in members],
                forgotten,
                method,
                small,
                query_parts,
                key,
                weightings,
                workers=[self._homes[g]],
                allow_other_workers=True,
                pure=False,
            )
        self.n_rounds += 1
        return tasks

    def _of(self, per_query: np.ndarray, shard: int) -> np.ndarray:
        return per_query[..., self._starts[shard] : self._starts[shard + 1]]


class _Parcel(NamedTuple):
    """An array of float64 in which most values are 0."""

    shape: tuple[int, ...]
    values: sp.csr_array  # (1, number of values)


def packed(value: Any) -> Any:
    """The value (arrays, tuples and lists of arrays) with its large sparse arrays compressed."""
    if isinstance(value, np.ndarray) and value.dtype == np.float64 and value.size >= LEAST:
        is_sparse = np.count_nonzero(value) <= MAX_FILLED * value.size
        return _Parcel(value.shape, sp.csr_array(value.reshape(1, -1))) if is_sparse else value
    if type(value) in (tuple, list):
        return type(value)(packed(v) for v in value)
    return value


def unpacked(value: Any) -> Any:
    """The value that `packed` received; zeros are +0."""
    if isinstance(value, _Parcel):
        return value.values.toarray().reshape(value.shape)
    if type(value) in (tuple, list):
        return type(value)(unpacked(v) for v in value)
    return value
