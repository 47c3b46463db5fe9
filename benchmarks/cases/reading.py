"""Reading 100 MB of LETOR text with comments, plain and gzip, from a warm file cache.

scikit-learn's reader drops the comments, ours keeps them and takes the document ids from them; both read the same
labels, query ids and values, which is checked.
"""

from __future__ import annotations

import gzip
import shutil
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.measure import isolated, measure
from benchmarks.report import Verdict, figure, megabytes, seconds, table

N_FEATURES = 46  # as LETOR 4.0
N_QUERIES, DOCS = 2300, 80
GZIP_LEVEL = 6
TARGETS = {"plain": 10.0, "gzip": 7.0}


@dataclass(frozen=True)
class Outcome:
    bytes_text: int
    theirs_s: float
    ours_s: dict[int, float]  # by number of threads


def run() -> list[Verdict]:
    with TemporaryDirectory() as folder:
        plain, packed = Path(folder) / "train.txt", Path(folder) / "train.txt.gz"
        _write(plain)
        with plain.open("rb") as text, gzip.open(packed, "wb", compresslevel=GZIP_LEVEL) as out:
            shutil.copyfileobj(text, out)
        outcomes = {
            name: isolated(_read, str(path), plain.stat().st_size, threads=2)
            for name, path in (("plain", plain), ("gzip", packed))
        }
    rows = []
    for name, o in outcomes.items():
        rows.append([name, "load_svmlight_file", 1, seconds(o.theirs_s), _rate(o, o.theirs_s), "1x"])
        for threads, s in o.ours_s.items():
            rows.append([name, "read", threads, seconds(s), _rate(o, s), f"{figure(o.theirs_s / s)}x faster"])
    print(table(["file", "reader", "threads", "time", "text per second", "ratio"], rows))
    return [
        Verdict("reading", f"{name}, faster than load_svmlight_file", o.theirs_s / o.ours_s[2], TARGETS[name])
        for name, o in outcomes.items()
    ]


def _rate(o: Outcome, time_s: float) -> str:
    return f"{megabytes(o.bytes_text / time_s)}/s"


def _write(path: Path) -> None:
    """LETOR 4.0 lines: six decimals, every feature present, a comment with the document id."""
    rng = np.random.default_rng(4)
    template = "%d qid:%d " + " ".join(f"{j + 1}:%.6f" for j in range(N_FEATURES)) + " #docid = GX%09d inc = %.6f\n"
    with path.open("w") as out:
        for q in range(N_QUERIES):
            X = rng.random((DOCS, N_FEATURES)).tolist()
            grades = rng.integers(0, 3, DOCS).tolist()
            out.writelines(
                template % (grade, q + 1, *row, q * DOCS + i, row[0])
                for i, (grade, row) in enumerate(zip(grades, X, strict=True))
            )


def _read(path: str, bytes_text: int) -> Outcome:
    from sklearn.datasets import load_svmlight_file

    from sparserank import read

    small = Path(path).with_name("small.txt")
    small.write_text("1 qid:1 1:0.5 2:0.25 #docid = a\n0 qid:1 1:0.1 2:1 #docid = b\n")
    read(small)  # compilation, outside the clock
    load_svmlight_file(str(small), query_id=True)
    Path(path).read_bytes()  # the file cache is warm from here on
    theirs = measure(lambda: load_svmlight_file(path, query_id=True), repeats=3)
    X, y, qid = theirs.result
    ours_s = {}
    for threads in (1, 2):
        measured = measure(lambda n=threads: read(path, n_threads=n), repeats=3)  # type: ignore[misc]
        ours_s[threads], data = measured.time_s, measured.result
    assert np.array_equal(data.X, X.toarray())
    assert np.array_equal(data.relevance, y)
    assert np.array_equal(np.asarray(data.qid).astype(np.int64), qid)
    return Outcome(bytes_text, theirs.time_s, ours_s)
