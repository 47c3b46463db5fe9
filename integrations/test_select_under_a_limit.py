"""`select` on a store under a memory limit smaller than the store:
the model and the statement of a run without limit."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import sparserank as sr

N_QUERIES, LENGTH, N_FEATURES = 1500, 100, 150
SHARE = 0.95  # of the store's bytes, beyond what the process uses once everything is imported and has run once

RUN = """
import json, os, resource, sys, tempfile
import numpy as np, scipy.linalg
import sparserank as sr

store, out, share = sys.argv[1], sys.argv[2], float(sys.argv[3])
tiny = sr.datasets.make_ranking(20, (5, 9), 6, n_informative=3, n_redundant=0, random_state=0).data
options = dict(
    penalties=["l1"], n_alphas=5, alpha_min_ratio=0.1, cv=2, half_samples=0, feature_transform="none", n_threads=1,
    rival="none",
)
sr.select(tiny, out=tempfile.mkdtemp() + "/o", **options)
square = np.ones((700, 700))
# their buffers of 32 MB
square @ square, scipy.linalg.blas.dgemm(1.0, square, square), np.linalg.solve(square + np.eye(700), square)
if share:
    used = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmData")) << 10
    size = sum(os.path.getsize(os.path.join(store, f)) for f in os.listdir(store))
    resource.setrlimit(resource.RLIMIT_DATA, (used + int(share * size),) * 2)
result = sr.select(sr.read(store), out=out, **options)
print(json.dumps([result.sentence, result.model.coef.tolist()]))
"""


def run(store: Path, out: Path, share: float) -> list[object]:
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(store), str(out), str(share)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found: list[object] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_the_same_result_to_the_bit(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N_QUERIES * LENGTH, N_FEATURES)).astype(np.float32)
    score = X[:, :10] @ rng.standard_normal(10) + 3 * rng.standard_normal(len(X))
    label = np.clip(np.floor(score / 3 + 1), 0, 4).astype(np.int8)
    columns = {
        "qid": np.repeat(np.arange(N_QUERIES), LENGTH),
        "label": label,
        **{f"f{j}": np.ascontiguousarray(x) for j, x in enumerate(X.T)},
    }
    pq.write_table(pa.table(columns), tmp_path / "train.parquet", compression=None, use_dictionary=False)
    sr.convert([tmp_path / "train.parquet"], tmp_path / "store", shard_bytes=4 << 20)
    free = run(tmp_path / "store", tmp_path / "free", 0.0)  # first: it compiles what the limited run only loads
    assert run(tmp_path / "store", tmp_path / "limited", SHARE) == free
    assert (tmp_path / "limited/model.json").read_bytes() == (tmp_path / "free/model.json").read_bytes()
