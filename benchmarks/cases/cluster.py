"""A store in this process, by threads, and on a Dask cluster of two local processes (needs 'sparserank[dask]'): an l1
path of 40 strengths, 1,500 lists, 136 features, float32."""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.datasets import mslr_shaped
from benchmarks.measure import isolated
from benchmarks.report import Verdict, megabytes, seconds, table

TARGET = 1.2  # round trips in a path's time beyond that of threads
SHARD_BYTES = 16 << 20


@dataclass(frozen=True)
class Outcome:
    bytes_X: int
    memory_s: float
    store_s: float
    read_s: float
    pass_s: float
    cluster_s: float
    rounds: int
    trip_s: float
    same: bool


def run() -> list[Verdict]:
    try:
        import distributed  # noqa: F401
    except ImportError:
        print("skipped: dask is not installed")
        return []
    o = isolated(_paths, threads=2)
    print(
        table(
            [
                "X",
                "path, memory",
                "path, store",
                "one read of the store",
                "one pass",
                "path, cluster",
                "rounds",
                "round trip",
                "same path",
            ],
            [
                [
                    megabytes(o.bytes_X),
                    seconds(o.memory_s),
                    seconds(o.store_s),
                    seconds(o.read_s),
                    seconds(o.pass_s),
                    seconds(o.cluster_s),
                    o.rounds,
                    seconds(o.trip_s),
                    "yes" if o.same else "NO",
                ]
            ],
        )
    )
    return [
        Verdict(
            "cluster",
            "(path - threads) / (rounds x round trip)",
            (o.cluster_s - o.store_s) / (o.rounds * o.trip_s),
            TARGET,
            False,
        )
    ]


def _paths() -> Outcome:
    from distributed import Client, LocalCluster

    import sparserank as sr
    from sparserank.data.reading import Reading
    from sparserank.data.store.convert import convert
    from sparserank.paths import feature_scale, fit_path_on
    from sparserank.shards.dask import DaskShards, sums_on

    data, _ = mslr_shaped(1500, dtype=np.float32)
    ours = sr.RankingDataset(data.X, data.relevance, np.repeat(np.arange(len(data.lengths)), data.lengths))
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "train.parquet"
        _write(ours, text)
        convert([text], Path(folder) / "store", Reading(), shard_bytes=SHARD_BYTES)
        stored = sr.read(Path(folder) / "store")
        options: Any = {"n_alphas": 40, "tol": 1e-4}
        sr.fit_path(ours, n_alphas=2, n_threads=2)
        times, paths = [], []
        for source in (ours, stored):
            began = time.perf_counter()
            paths.append(sr.fit_path(source, n_threads=2, **options))
            times.append(time.perf_counter() - began)
        objective = sr.solvers.PairwiseObjective(stored, n_threads=2)
        w = np.zeros(136)
        objective.value_and_gradient(w)
        began = time.perf_counter()
        objective.value_and_gradient(w)
        pass_s = time.perf_counter() - began
        began = time.perf_counter()
        for file in sorted((Path(folder) / "store").iterdir()):
            file.read_bytes()
        read_s = time.perf_counter() - began
        with (
            LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
            Client(cluster) as client,
        ):
            client.wait_for_workers(2)
            sr.fit_path(stored, n_alphas=2, client=client)  # compiles and loads on every worker
            trips = []
            for _ in range(30):
                began = time.perf_counter()
                client.gather([client.submit(_nothing, pure=False, workers=[worker]) for worker in client.nthreads()])
                trips.append(time.perf_counter() - began)
            scale = feature_scale(stored, "within-query-std", None, sums_on(client, stored.X))
            remote = sr.solvers.PairwiseObjective(stored, scale=scale, client=client)
            began = time.perf_counter()
            found = fit_path_on(remote, sr.penalties.parse_penalty("l1"), **options)
            cluster_s = time.perf_counter() - began
            assert isinstance(remote.shards, DaskShards)
            rounds = remote.shards.n_rounds
    same = bool(np.abs(found.scaled_coefs - paths[1].scaled_coefs).max() <= 1e-12)
    return Outcome(data.X.nbytes, times[0], times[1], read_s, pass_s, cluster_s, rounds, float(np.median(trips)), same)


def _nothing() -> None:
    return None


def _write(data: object, path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {"qid": pa.array(data.qid), "label": pa.array(data.relevance)}  # type: ignore[attr-defined]
    X = data.X  # type: ignore[attr-defined]
    pq.write_table(
        pa.table(columns | {f"f{j + 1}": pa.array(np.ascontiguousarray(X[:, j])) for j in range(X.shape[1])}), path
    )
