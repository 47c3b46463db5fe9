"""A store of a gigabyte under a limit of a quarter of it: the solution of memory, and a selection that ends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sparserank as sr

N_QUERIES, LENGTH, N_FEATURES = 5000, 100, 500
SHARE = 0.25  # of the store's bytes, beyond what the process uses once everything is imported and has run once

LIMITED = """
import json, os, resource, sys, tempfile, threading, time
import numpy as np
import sparserank as sr

what, store, share, out = sys.argv[1], sys.argv[2], float(sys.argv[3]), sys.argv[4]
tiny = sr.datasets.make_ranking(20, (5, 9), 6, n_informative=3, n_redundant=0, random_state=0).data
sr.select(tiny, penalties=["l1"], n_alphas=4, cv=2, out=tempfile.mkdtemp() + "/o", n_threads=2, rival="none")

def used():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmData")) << 10

size = sum(os.path.getsize(os.path.join(store, f)) for f in os.listdir(store))
base = used()
resource.setrlimit(resource.RLIMIT_DATA, (base + int(share * size),) * 2)
data = sr.read(store)
began = time.perf_counter()
if what == "fit":
    ranker = sr.SparseRanker(alpha_ratio=0.1, n_threads=2).fit_dataset(data)
    np.save(out, ranker.scaled_coef_)
    facts = {"status": ranker.status_}
elif what == "select":
    result = sr.select(data, penalties=["l1"], n_alphas=10, alpha_min_ratio=0.05, cv=2, n_threads=2, out=out)
    facts = {"sentence": result.sentence, "features": len(result.model.support)}
else:
    objective = sr.solvers.PairwiseObjective(data, n_threads=2)
    w = np.random.default_rng(0).standard_normal(data.n_features) * 0.05
    objective.value_and_gradient(w)
    began = time.perf_counter()
    objective.value_and_gradient(w)
    passed = time.perf_counter() - began
    began = time.perf_counter()
    for f in sorted(os.listdir(store)):
        with open(os.path.join(store, f), "rb") as content:
            while content.read(1 << 22):
                pass
    facts = {"pass": passed, "read": time.perf_counter() - began}
print(json.dumps({**facts, "seconds": time.perf_counter() - began, "MB": (used() - base) / 1e6, "of": size / 1e6}))
"""


@pytest.fixture(scope="module")
def parquet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(0)
    w = np.zeros(N_FEATURES, dtype=np.float32)
    w[:20] = rng.standard_normal(20)
    names = [f"f{j + 1}" for j in range(N_FEATURES)]
    schema = pa.schema([("qid", pa.int64()), ("label", pa.int8()), *((n, pa.float32()) for n in names)])
    path = tmp_path_factory.mktemp("large") / "train.parquet"
    with pq.ParquetWriter(path, schema, compression=None, use_dictionary=False) as out:
        for first in range(0, N_QUERIES, 200):
            X = rng.standard_normal((200 * LENGTH, N_FEATURES), dtype=np.float32)
            score = X @ w + 3 * rng.standard_normal(len(X), dtype=np.float32)
            label = np.clip(np.floor(score / 3 + 1), 0, 4).astype(np.int8)
            qid = np.repeat(np.arange(first, first + 200), LENGTH)
            columns = [pa.array(np.ascontiguousarray(X[:, j])) for j in range(N_FEATURES)]
            out.write_table(pa.table([pa.array(qid), pa.array(label), *columns], schema=schema))
    return path


@pytest.fixture(scope="module")
def store(parquet: Path) -> Path:
    """Converted in a process of its own, which says how much memory that took.

    VmHWM is the peak of this process; ru_maxrss would include that of the process which started it.
    """
    out = parquet.parent / "store"
    code = (
        "import sys, sparserank as sr; sr.convert([sys.argv[1]], sys.argv[2]); "
        "print(*(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(parquet), str(out)], capture_output=True, text=True, check=True
    )
    size, peak = sum(f.stat().st_size for f in out.iterdir()) / 2**20, float(done.stdout) / 2**10
    print(f"converting {size:.0f} MB took {peak:.0f} MB of memory")
    assert peak < 1.2 * size  # libraries and two shards; not the file
    return out


def limited(what: str, store: Path, out: Path) -> dict[str, Any]:
    environment = {**os.environ, "ARROW_DEFAULT_MEMORY_POOL": "system"}  # the usual one reserves a gigabyte at once
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, what, str(store), str(SHARE), str(out)],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    facts: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    print(what, facts)
    return facts


def test_fit_gives_the_solution_of_memory(store: Path, parquet: Path, tmp_path: Path) -> None:
    assert limited("fit", store, tmp_path / "w.npy")["status"] == "optimal"
    whole = sr.SparseRanker(alpha_ratio=0.1).fit_dataset(sr.read(parquet))
    np.testing.assert_allclose(np.load(tmp_path / "w.npy"), whole.scaled_coef_, atol=1e-12)


def test_select_ends(store: Path, tmp_path: Path) -> None:
    assert 10 <= limited("select", store, tmp_path / "run")["features"] <= 40
    assert (tmp_path / "run/report.html").exists()


def test_a_pass_beside_a_read(store: Path, tmp_path: Path) -> None:
    facts = limited("pass", store, tmp_path)
    assert facts["pass"] < 10 * facts["read"]


# A small fit first: an import that meets the limit ends as the imported library ends, or crashes Python 3.11 itself.
TOO_LITTLE = """
import contextlib, resource, sys
from sparserank.__main__ import main

small, large, out = sys.argv[1:]
sys.argv[:] = ["sparserank", "fit", small, "--threads", "1", "--out", out + ".small"]
with contextlib.suppress(SystemExit):
    main()
used = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmData")) << 10
resource.setrlimit(resource.RLIMIT_DATA, (used + (12 << 20),) * 2)
sys.argv[:] = ["sparserank", "fit", large, "--threads", "1", "--out", out]
main()
"""


def test_too_little_memory_ends_in_one_sentence(store: Path, tmp_path: Path) -> None:
    tiny = sr.datasets.make_ranking(20, (5, 9), 6, n_informative=3, n_redundant=0, random_state=0).data
    sr.write_letor(tiny, tmp_path / "tiny.txt")
    sr.convert([tmp_path / "tiny.txt"], tmp_path / "small")
    arguments = [str(tmp_path / "small"), str(store), str(tmp_path / "m.json")]
    done = subprocess.run([sys.executable, "-c", TOO_LITTLE, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert (tmp_path / "m.json.small").exists()
    assert "error: out of memory" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "m.json").exists()
