"""Parquet files that expand to more than memory holds, or declare wrong sizes: read in batches, or refused."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from sparserank.data.read_files import read_files
from sparserank.data.tables import batches as tables
from sparserank.data.tables.batches import open_table
from sparserank.errors import SparserankError

LIMIT_MB = 100  # beyond what the process has when everything is imported
N_MUTANTS = 150

LIMITED = """
import json, os, resource, sys
import numpy as np, pandas, pyarrow.dataset, pyarrow.parquet
import sparserank as sr
from sparserank.data.read_files import open_stream, read_files
from sparserank.data.reading import Reading
from sparserank.errors import SparserankError

small, limit, *paths = sys.argv[1:]
read_files(small)
used = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmData")) << 10
resource.setrlimit(resource.RLIMIT_DATA, (used + (int(limit) << 20),) * 2)
for path in paths:
    told = {}
    for way in ("memory", "stream"):
        try:
            if way == "memory":
                data = read_files(path)
                told[way] = ["read", f"{data.n_docs} {data.n_features}"]
            else:
                n = 0
                for block in open_stream([path], Reading()).blocks():
                    n += len(block.label)
                told[way] = ["read", str(n)]
        except SparserankError as error:
            told[way] = ["refused", str(error)]
        except MemoryError as error:
            told[way] = ["out of memory", str(error)]
    print(json.dumps(told), flush=True)
"""
COLUMNS = [f"x{j}" for j in range(8)]


def _named(X: list[pa.Array], qid: np.ndarray) -> pa.Table:
    label = pa.array((np.arange(len(qid)) % 2).astype(np.int8))
    return pa.table([pa.array(qid), label, *X], names=["qid", "label", *(f"x{j}" for j in range(len(X)))])


def _runs(path: Path) -> None:
    """Two million rows of eight features, 130 MB, as runs of one value."""
    rows = _named([pa.array(np.ones(1_000_000))] * 8, np.arange(1_000_000) // 1000)
    with pq.ParquetWriter(path, rows.schema, compression="zstd") as out:
        for _ in range(2):
            out.write_batch(rows.to_batches()[0], row_group_size=2**31 - 1)


def _pages(path: Path) -> None:
    """Eight pages of 16 MB of zeros, which are read beside each other."""
    n = 2_000_000
    rows = _named([pa.array(np.zeros(n))] * 8, np.arange(n) // 1000)
    pq.write_table(
        rows, path, compression="zstd", use_dictionary=False, data_page_size=2**30, write_batch_size=n, row_group_size=n
    )


def _list(path: Path) -> None:
    """Four rows of five million features."""
    lists = pa.FixedSizeListArray.from_arrays(pa.array(np.zeros(20_000_000)), 5_000_000)
    pq.write_table(pa.table({"qid": [1, 1, 2, 2], "label": [0, 1, 0, 1], "features": lists}), path, compression="zstd")


def _ids(path: Path) -> None:
    """Query ids of 40 MB."""
    ids = pa.array(["a" * 40_000_000, "b"] * 2)
    pq.write_table(pa.table({"qid": ids, "label": [0, 1, 0, 1], "x": [1.0, 2.0, 3.0, 4.0]}), path, compression="zstd")


def _deep(path: Path) -> None:
    nested: pa.Array = pa.array([1.0, 2.0])
    for _ in range(100):
        nested = pa.StructArray.from_arrays([nested], ["s"])
    pq.write_table(pa.table({"qid": [1, 1], "label": [0, 1], "x": nested}), path)


def _nested_list(path: Path) -> None:
    nested: pa.Array = pa.array([1.0, 2.0])
    for _ in range(10):
        nested = pa.FixedSizeListArray.from_arrays(nested, 1)
    pq.write_table(pa.table({"qid": [1, 1], "label": [0, 1], "x": nested}), path)


def _wide(path: Path) -> None:
    wide = {f"c{j}": np.arange(4.0) + j for j in range(1000)}
    pq.write_table(pa.table({"qid": [1, 1, 2, 2], "label": [0, 1, 0, 1], **wide}), path)


# how each ends in memory, and in a stream; the sentence holds this
BOMBS: dict[str, tuple[Callable[[Path], None], tuple[str, str], tuple[str, str]]] = {
    "runs": (_runs, ("out of memory", "allocate"), ("read", "2000000")),
    "pages": (_pages, ("refused, out of memory", ""), ("refused, read", "")),  # as Arrow holds pages
    "a list": (_list, ("refused", "does not fit into memory"), ("refused", "does not fit into memory")),
    "ids": (_ids, ("refused", "does not fit into memory"), ("refused", "does not fit into memory")),
    "deep": (_deep, ("refused", "deep"), ("refused", "deep")),
    "nested lists": (_nested_list, ("refused", "column 'x' is not numeric"), ("refused", "column 'x' is not numeric")),
    "wide": (_wide, ("read", "4 1000"), ("read", "4")),
}


def _small(path: Path) -> bytes:
    n = 400
    rng = np.random.default_rng(0)
    X = [pa.array(rng.integers(0, 5, n).astype(float)), pa.array(rng.random(n))]
    pq.write_table(_named(X, np.arange(n) // 10), path, compression="zstd", row_group_size=150)
    return path.read_bytes()


def _limited(small: Path, paths: list[Path]) -> list[dict[str, list[str]]]:
    environment = {**os.environ, "ARROW_DEFAULT_MEMORY_POOL": "system"}  # the usual one reserves a gigabyte at once
    command = [sys.executable, "-W", "ignore", "-c", LIMITED, str(small), str(LIMIT_MB), *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)
    assert done.returncode == 0, done.stderr[-2000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.slow
def test_bombs_under_a_memory_limit(tmp_path: Path) -> None:
    _small(tmp_path / "small.parquet")
    paths = [tmp_path / f"{name}.parquet" for name in BOMBS]
    for path, (make, *_) in zip(paths, BOMBS.values(), strict=True):
        make(path)
        assert path.stat().st_size < 4 << 20
    for path, told, (_, *expected) in zip(
        paths, _limited(tmp_path / "small.parquet", paths), BOMBS.values(), strict=True
    ):
        for (how, words), (expected_how, held) in zip(told.values(), expected, strict=True):
            assert how in expected_how.split(", "), (path.stem, words)
            assert held in words
            assert "\n" not in words
            assert how != "refused" or words.startswith(f"{path}: ")


def test_wrong_sizes_and_other_damage_under_a_memory_limit(tmp_path: Path, fuzz_seed: int) -> None:
    """Changed bytes of pages, page headers and the footer: what is read has the shape that was written,
    or is refused."""
    whole, rng = _small(tmp_path / "small.parquet"), np.random.default_rng(fuzz_seed)
    paths = []
    for k in range(N_MUTANTS):
        damaged = bytearray(whole)
        for at in rng.integers(4, len(whole) - 8, size=rng.integers(1, 4)):
            damaged[at] = rng.integers(0, 256)
        paths.append(tmp_path / f"{k}.parquet")
        paths[-1].write_bytes(damaged)
    told = _limited(tmp_path / "small.parquet", paths)
    assert len(told) == N_MUTANTS
    ends = {how for each in told for how, _ in each.values()}
    assert "refused" in ends
    for each in told:
        for how, words in each.values():
            assert "\n" not in words
            assert how != "read" or words.split()[0].isdigit()


def test_an_error_in_the_first_row_is_reported_without_reading_the_rest(tmp_path, monkeypatch):
    n = 500_000
    values = np.ones(n)
    values[0] = np.nan
    pq.write_table(_named([pa.array(values)], np.arange(n) // 10), tmp_path / "a.parquet")
    read: list[int] = []
    whole = tables._in_schema
    monkeypatch.setattr(
        tables, "_in_schema", lambda records, *more: (read.append(records.num_rows), whole(records, *more))[1]
    )
    with pytest.raises(SparserankError, match="row 0, column 'x0': missing"):
        read_files(tmp_path / "a.parquet")
    assert len(read) == 1
    assert sum(read) < n / 4


@pytest.mark.parametrize("off", [-3, 3])
def test_a_file_that_lies_about_its_rows_is_refused(off: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _small(tmp_path / "a.parquet")
    found = open_table(tmp_path / "a.parquet", "parquet")
    found.n_rows = 400 + off
    monkeypatch.setattr("sparserank.data.read_files.open_table", lambda *_: found)
    with pytest.raises(SparserankError, match=f"contains 400 rows, but its metadata state {400 + off}"):
        read_files(tmp_path / "a.parquet")


class _Asked:
    """Roles that ask for these columns."""

    packed, features = None, ("a",) * 100

    def __init__(self, read: list[str]) -> None:
        self.read = read


def test_batches_are_those_of_a_scanner(tmp_path: Path) -> None:
    """Files of other types, without a column, with names that look nested; partitions by text and number."""
    rng, n = np.random.default_rng(0), 1000
    for day in ("2024", "x y"):
        for k in range(3):
            made: dict[str, Any] = {
                "qid": rng.integers(0, 9, n),
                "label": rng.integers(0, 3, n).astype(np.int8 if k else np.int64),
                "a": rng.random(n).astype(np.float32),
                "a.b": pa.array(rng.random(n), mask=rng.random(n) < 0.1),
                "s": pa.array(["x", "y"] * (n // 2)).dictionary_encode(),
            }
            if k != 1:
                made["late"] = rng.random(n)
            place = tmp_path / f"d/day={day}/hour={k}"
            place.mkdir(parents=True)
            pq.write_table(pa.table(made), place / "x.parquet", row_group_size=333)
    for columns in (["qid", "label", "day", "hour", "s", "a.b", "a"], ["hour"], ["a"]):
        asked: Any = _Asked(columns)
        ours = list(open_table(tmp_path / "d", "folder").record_batches(columns, tables._rows(asked)))
        scanner = ds.dataset(str(tmp_path / "d"), partitioning="hive").scanner(
            columns=columns, batch_size=tables._rows(asked), use_threads=False
        )
        theirs = list(scanner.to_batches())
        assert [b.num_rows for b in ours] == [b.num_rows for b in theirs]  # on which an unfinished conversion goes on
        assert pa.Table.from_batches(ours).equals(pa.Table.from_batches(theirs))
