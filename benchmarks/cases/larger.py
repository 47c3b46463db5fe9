"""A store of 8 GB (4,000,000 documents x 500 float32 features) in a process whose data segment may grow by a quarter of
that, 2 GB, beyond what it uses when everything is imported and has run once: an l1 fit, a selection, a pass beside one
plain read of the store.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.report import Verdict, megabytes, seconds, table

GIGABYTES = float(os.environ.get("SPARSERANK_LARGER_GB", "8"))
LENGTH, N_FEATURES, LISTS_AT_ONCE = 100, 500, 500
SHARE = 0.25

JOB = """
import json, os, resource, sys, tempfile, time
import numpy as np
import sparserank as sr

store, limit, what = sys.argv[1], int(sys.argv[2]), sys.argv[3]
tiny = sr.datasets.make_ranking(20, (5, 9), 6, n_informative=3, n_redundant=0, random_state=0).data
sr.select(tiny, penalties=["l1"], n_alphas=4, cv=2, out=tempfile.mkdtemp() + "/o", n_threads=2)

def used():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmData")) << 10

base = used()
resource.setrlimit(resource.RLIMIT_DATA, (base + limit,) * 2)
data = sr.read(store)
began, cpu = time.perf_counter(), time.process_time()
if what == "fit":
    kept = sr.SparseRanker(alpha_ratio=0.1, n_threads=2).fit_dataset(data).get_support(indices=True)
    result = f"{len(kept)} features"
elif what == "select":
    result = sr.select(
        data, penalties=["l1"], n_alphas=20, alpha_min_ratio=0.02, cv=3, n_threads=2, out=tempfile.mkdtemp() + "/o"
    ).sentence.partition(",")[0]
else:
    objective = sr.solvers.PairwiseObjective(data, n_threads=2)
    w = np.random.default_rng(0).standard_normal(data.n_features) * 0.05
    objective.value_and_gradient(w)
    began, cpu = time.perf_counter(), time.process_time()
    objective.value_and_gradient(w)
    result = ""
print(json.dumps([time.perf_counter() - began, time.process_time() - cpu, used() - base, result]))
"""


def run() -> list[Verdict]:
    with tempfile.TemporaryDirectory(prefix="larger-") as folder:
        store = _store(Path(folder))
        size = sum(f.stat().st_size for f in store.iterdir())
        limit = int(SHARE * size)
        read = _read(store)
        rows = []
        for what in ("pass", "fit", "select"):
            wall, cpu, taken, result = _job(store, limit, what)
            rows.append([what, seconds(wall), seconds(cpu), megabytes(taken), f"{wall / read:.1f}", result])
        print(
            f"\nThe store holds {megabytes(size)}; the limit is {megabytes(limit)}; one plain read takes "
            f"{seconds(read)}.\n"
        )
        print(table(["job", "time", "CPU", "memory taken", "in reads", "result"], rows))
    return []


def _store(folder: Path) -> Path:
    """Written by `convert` from Parquet, 250 MB after 250 MB."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    import sparserank as sr

    rng = np.random.default_rng(0)
    w = np.zeros(N_FEATURES, dtype=np.float32)
    w[:20] = rng.standard_normal(20)
    names = [f"x{j + 1}" for j in range(N_FEATURES)]
    schema = pa.schema([("qid", pa.int64()), ("label", pa.int8()), *((n, pa.float32()) for n in names)])
    n_lists = int(GIGABYTES * 1e9 / (4 * N_FEATURES * LENGTH))
    path = folder / "train.parquet"
    with pq.ParquetWriter(path, schema, compression=None, use_dictionary=False) as out:
        for first in range(0, n_lists, LISTS_AT_ONCE):
            qid = np.repeat(np.arange(first, min(first + LISTS_AT_ONCE, n_lists)), LENGTH)
            X = rng.standard_normal((len(qid), N_FEATURES), dtype=np.float32)
            score = X @ w + 3 * rng.standard_normal(len(X), dtype=np.float32)
            label = np.clip(np.floor(score / 3 + 1), 0, 4).astype(np.int8)
            columns = [pa.array(np.ascontiguousarray(X[:, j])) for j in range(N_FEATURES)]
            out.write_table(pa.table([pa.array(qid), pa.array(label), *columns], schema=schema))
    began = time.perf_counter()
    sr.convert([path], folder / "store")
    print(f"converting {megabytes(path.stat().st_size)} of Parquet: {seconds(time.perf_counter() - began)}")
    path.unlink()
    return folder / "store"


def _read(store: Path) -> float:
    """Seconds that one plain read of all its files takes."""
    began = time.perf_counter()
    for file in sorted(store.iterdir()):
        with open(file, "rb") as content:
            while content.read(1 << 22):
                pass
    return time.perf_counter() - began


def _job(store: Path, limit: int, what: str) -> Any:
    environment = {**os.environ, "ARROW_DEFAULT_MEMORY_POOL": "system"}  # the usual one reserves a gigabyte at once
    done = subprocess.run(
        [sys.executable, "-c", JOB, str(store), str(limit), what],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    return json.loads(done.stdout.splitlines()[-1])
