"""Whether a folder is a store that may be read, decided slowly:
every field of the manifest, every value of every array, one by one."""

import io
import json
import math
import os
import stat
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

LISTS = {"label": "f8", "qid": None, "query_ptr": "i8"}
FEATURES = {True: ("data", "indices", "indptr"), False: ("X",)}


def valid_store(folder: Path) -> list[list[float]] | None:
    """The rows of all features where the store may be read; None where it must be refused."""
    try:
        return _rows(folder)
    except NO_STORE:
        return None


class _Refused(Exception):
    pass


NO_STORE = (_Refused, KeyError, TypeError, AttributeError, ValueError, OSError, EOFError, OverflowError, RecursionError)


def _must(condition: Any) -> None:
    if not condition:
        raise _Refused


def _whole(value: Any, least: int) -> int:
    _must(type(value) is int and least <= value < 2**62)
    return int(value)


def _rows(folder: Path) -> list[list[float]]:
    _must(stat.S_ISREG(os.lstat(folder / "manifest.json").st_mode))
    m = json.loads((folder / "manifest.json").read_text())
    _must(m["format"] == "sparserank-store" and m["version"] == 1)
    n_features = _whole(m["n_features"], 1)
    _must(type(m["sparse"]) is bool and m["dtype"] in ("float32", "float64"))
    _must(type(m["shards"]) is list and len(m["shards"]) > 0)
    names = m["feature_names"]
    if names is None:
        _must(n_features <= 10_000_000)  # these stores hold next to nothing
    else:
        _must(type(names) is list and len(names) == n_features and all(type(n) is str for n in names))
        _must(len(set(names)) == n_features)
    if m.get("fill_values") is not None:
        _must(type(m["fill_values"]) is list and len(m["fill_values"]) == n_features)
        for v in m["fill_values"]:
            _must(v is None or (type(v) in (int, float) and math.isfinite(v)))
    rows: list[list[float]] = []
    ids: list[Any] = []
    numbers = []
    totals = [0, 0]
    for shard in m["shards"]:
        numbers.append(_whole(shard["number"], 0))
        n_docs, n_queries = _whole(shard["n_docs"], 1), _whole(shard["n_queries"], 1)
        totals = [totals[0] + n_docs, totals[1] + n_queries]
        wanted = {*FEATURES[m["sparse"]], *LISTS}
        _must(wanted <= set(shard["files"]) <= wanted | {"docid", "weight"})
        a = {name: _array(folder, numbers[-1], name, entry) for name, entry in shard["files"].items()}
        for name, kind in {**LISTS, "weight": "f8"}.items():
            _must(name not in a or kind is None or a[name].dtype == np.dtype(kind))
        _must(
            a["label"].shape == (n_docs,)
            and a["query_ptr"].shape == (n_queries + 1,)
            and a["qid"].shape == (n_queries,)
        )
        for v in a["label"].tolist():
            _must(math.isfinite(v))
        for v in a["weight"].tolist() if "weight" in a else []:
            _must(math.isfinite(v) and v >= 0)
        _must("weight" not in a or a["weight"].shape == (n_docs,))
        _must("docid" not in a or (a["docid"].shape == (n_docs,) and a["docid"].dtype.kind == "S"))
        if "docid" in a:
            [t.decode() for t in a["docid"].tolist()]
        ptr = a["query_ptr"].tolist()
        _must(ptr[0] == 0 and ptr[-1] == n_docs and all(p < q for p, q in pairwise(ptr)))
        _must(a["qid"].dtype.kind == "S" or a["qid"].dtype in (np.int64, np.uint64))
        ids += [str(q) if type(q) is int else q.decode() for q in a["qid"].tolist()]
        rows += _features(a, m["sparse"], np.dtype(m["dtype"]), n_docs, n_features)
    _must(len(set(numbers)) == len(numbers) and len(set(ids)) == len(ids))
    _must(_whole(m["n_docs"], 1) == totals[0] and _whole(m["n_queries"], 1) == totals[1])
    return rows


def _array(folder: Path, number: int, name: str, entry: Any) -> np.ndarray:
    path = folder / f"{number:05d}-{name}.npy"
    _must(stat.S_ISREG(os.lstat(path).st_mode))
    content = path.read_bytes()
    _must(type(entry["sha256"]) is str and len(content) == _whole(entry["bytes"], 1))
    try:
        stream = io.BytesIO(content)
        array = np.load(stream, allow_pickle=False)
    except Exception as error:  # whatever its parser raises on such a header
        raise _Refused from error
    _must(isinstance(array, np.ndarray) and not np.isfortran(array))
    _must((stream.tell() - array.nbytes) % array.dtype.alignment == 0)
    return np.asarray(array)


def _features(
    a: dict[str, np.ndarray], sparse: bool, dtype: np.dtype, n_docs: int, n_features: int
) -> list[list[float]]:
    if not sparse:
        _must(a["X"].dtype == dtype and a["X"].shape == (n_docs, n_features))
        for row in a["X"].tolist():
            _must(all(math.isfinite(v) for v in row))
        return [list(row) for row in a["X"].tolist()]
    _must(a["data"].dtype == dtype and a["data"].ndim == a["indices"].ndim == a["indptr"].ndim == 1)
    _must(a["indices"].dtype in (np.int32, np.int64) and a["indices"].dtype == a["indptr"].dtype)
    data, indices, indptr = (a[name].tolist() for name in FEATURES[True])
    _must(len(data) == len(indices) and len(indptr) == n_docs + 1 and indptr[0] == 0 and indptr[-1] == len(data))
    _must(all(p <= q for p, q in pairwise(indptr)))
    rows = []
    for lo, hi in pairwise(indptr):
        own = indices[lo:hi]
        _must(all(0 <= j < n_features for j in own) and own == sorted(set(own)))
        _must(all(math.isfinite(v) for v in data[lo:hi]))
        rows.append([0.0] * n_features if n_features < 1000 else [])
        for j, v in zip(own, data[lo:hi], strict=True):
            if n_features < 1000:
                rows[-1][j] = v
    return rows
