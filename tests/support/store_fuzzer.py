"""Stores mutated at random, each opened and used or refused:
`python -m tests.support.store_fuzzer SEED SECONDS FOLDER`.

A process of its own, with limited memory and an alarm for each case: what crashes or hangs ends it, and the last line
that it printed says where.
"""

import copy
import os
import shutil
import signal
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import sparserank as sr
from sparserank.errors import SparserankError
from tests.oracles.stores import valid_store
from tests.support.made_stores import dense, files_of, manifest_of, npy, sparse, write_manifest

MEMORY_BYTES = 12 << 30  # of addresses: threads and compiled code take a few
CASE_SECONDS = 60
HOSTILE: list[Any] = [None, True, False, -1, 0, 1, 2, 3, 4, 8, 1.0, 8.0, 1.5, 2**31, 2**60, 2**63, 10**400, "", "3"]
HOSTILE += ["X", "../../x", "\x1b[31m", [], {}, [1], ["a"] * 3, ["a", "b", "c"], {"a": 1}, "float32", "float64"]
HOSTILE += ["int64", [1.0, None, 2], 1e308]
NUMBERS: list[Any] = [0, 1, -1, 2, 3, 4, 7, 8, 9, 2**30, -(2**30), 2**31 - 1, 2**62, -(2**63), np.nan, np.inf, -np.inf]
NUMBERS += [0.5, 1e300]
TYPES = ["f2", "f4", "f8", "i1", "i4", "i8", "u8", "c16", "S3", "U2", "?", ">f8", ">i8", "M8[s]", "O"]
SHAPES: list[Any] = [(-1,), (-1, 1), (1, -1), (2, -1), (-1, 3), (3, -1), (-1, 1, 1), ()]


class Store:
    """What a folder will hold; mutations change it in place."""

    def __init__(self, random: Random) -> None:
        kind = random.choice([dense, sparse])
        self.shards = [kind(), kind(qid=np.array([b"q\xc3\xa9", b"7"]))] if random.random() < 0.5 else [kind()]
        if random.random() < 0.3:
            self.shards[0] |= {"docid": np.array([b"d"] * 8), "weight": np.ones(8)}
        named = {"feature_names": ["a", "b", "c"]} if random.random() < 0.3 else {}
        self.manifest: Any = manifest_of(self.shards, **named)
        self.afterwards: list[Callable[[Path], None]] = []  # what is done to the files

    def write(self, folder: Path) -> None:
        folder.mkdir()
        for k, arrays in enumerate(self.shards):
            for name, array in arrays.items():
                (folder / f"{k:05d}-{name}.npy").write_bytes(npy(array))
        write_manifest(folder, self.manifest)
        for change in self.afterwards:
            change(folder)


def change_manifest(store: Store, random: Random) -> str:
    """Any value anywhere becomes another, goes, or comes under another name."""
    at, path = store.manifest, []
    while True:
        key = random.choice(list(at) if isinstance(at, dict) else range(len(at)))
        path.append(str(key))
        if not isinstance(at[key], dict | list) or not at[key] or random.random() < 0.15:
            break
        at = at[key]
    how = random.randrange(6)
    if how == 0 and isinstance(at, dict):
        del at[key]
        return f"manifest {'.'.join(path)} gone"
    if how == 1 and isinstance(at, dict):
        new = random.choice(["X", "data", "weight", "docid", "indptr", "/../../outside", "fill_values", ""])
        at[new] = copy.deepcopy(at[key])
        return f"manifest {'.'.join(path)} again as {new!r}"
    at[key] = copy.deepcopy(random.choice(HOSTILE))
    return f"manifest {'.'.join(path)} = {str(at[key])[:40]}"


def change_array(store: Store, random: Random) -> str:
    """A value, the type, the shape, the length or the bytes of an array; the manifest says what its file holds."""
    k = random.randrange(len(store.shards))
    name = random.choice(list(store.shards[k]))
    array = store.shards[k][name]
    how = random.choice(["value", "value", "value", "type", "shape", "length", "order", "header", "bytes"])
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            array = _changed(array, how, random)
        except (ValueError, TypeError, OverflowError):
            return f"shard {k} {name} as it was"
    store.shards[k][name] = array
    with suppress(KeyError, TypeError, IndexError):  # the manifest may have been changed already
        store.manifest["shards"][k]["files"] = files_of(store.shards[k])
    return f"shard {k} {name} {how}: {str(array)[:60]!r}"


def _changed(array: Any, how: str, random: Random) -> Any:
    if isinstance(array, bytes):
        return array
    if how == "value":
        array = array.copy()
        value = random.choice([b"\xff\xfe", b"", b"q\xc3\xa9"]) if array.dtype.kind == "S" else random.choice(NUMBERS)
        array.reshape(-1)[random.randrange(array.size)] = value
    elif how == "type":
        array = array.astype(random.choice(TYPES))
    elif how == "shape":
        array = array.reshape(random.choice(SHAPES))
    elif how == "length":
        array = array[: random.randrange(len(array))] if random.random() < 0.5 else np.concatenate([array, array[-1:]])
    elif how == "order":
        array = np.asfortranarray(array)[::-1] if random.random() < 0.5 else np.asfortranarray(array)
    else:
        content = bytearray(npy(array))
        for _ in range(random.randrange(1, 4)):
            at = random.randrange(128 if how == "header" else len(content))
            content[at] = random.choice([random.randrange(256), *b"0123456789(),'<>|fiSO "])
        array = bytes(content)
    return array


def change_files(store: Store, random: Random) -> str:
    """A file becomes a link, a folder, a pipe, is cut, grows or goes; for the stamps too."""
    name = random.choice(["manifest.json", "stamps.json", "00000-label.npy", "00000-query_ptr.npy", "00000-qid.npy"])
    how = random.choice(["link", "folder", "pipe", "cut", "more", "gone", "zero"])

    def change(folder: Path) -> None:
        path, outside = folder / name, folder.parent / "outside"
        content = path.read_bytes() if path.is_file() else b"{}"
        path.unlink(missing_ok=True)
        if how == "link":
            outside.write_bytes(content)
            path.symlink_to(outside)
        elif how == "zero":
            path.symlink_to("/dev/zero")
        elif how == "folder":
            path.mkdir()
        elif how == "pipe":
            os.mkfifo(path)
        elif how != "gone":
            path.write_bytes(content[: len(content) // 2] if how == "cut" else content + b" \0")

    store.afterwards.append(change)
    return f"{name}: {how}"


CHANGES = [change_manifest, change_manifest, change_array, change_array, change_array, change_files]


def check(folder: Path) -> bool:
    """Whether the store is read; compares with the oracle, and fails where one reads what the other refuses,
    or other values."""
    expected, refusal = valid_store(folder), None
    try:
        data = sr.read(folder)
        X = data.X[np.arange(data.n_docs)]
        data.constant_features()
        texts = None if data.docid is None else np.asarray(data.docid)
    except SparserankError as error:
        refusal = str(error)
    if refusal is not None:
        assert expected is None, f"refused: {refusal}"
        assert str(folder) in refusal, f"names no file: {refusal}"
        return False
    assert expected is not None, "was read"
    assert texts is None or len(texts) == data.n_docs
    if data.n_features < 1000:
        np.testing.assert_array_equal(X.toarray() if data.is_sparse else X, np.array(expected))
    if data.X.dtype == np.float64 and data.n_features < 1000:
        try:
            sr.SparseRanker(alpha_ratio=0.2, n_threads=1, max_iter=50).fit_dataset(data)
        except SparserankError as error:
            print(f"  not fitted: {error}")
    return True


def main(seed: int, seconds: float, folder: Path) -> None:
    import resource  # not on Windows, where the checks below are imported too

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    warnings.simplefilter("ignore")
    end, case, n_read = time.monotonic() + seconds, 0, 0
    while time.monotonic() < end or case < 40:
        random = Random(f"{seed} {case}")
        store = Store(random)
        described = []
        for _ in range(random.choice([0, 1, 1, 1, 1, 2])):
            described.append(random.choice(CHANGES)(store, random))
        print(f"case {case}: {described}", flush=True)
        signal.alarm(CASE_SECONDS)
        at = folder / "store"
        store.write(at)
        n_read += check(at)
        shutil.rmtree(at)
        signal.alarm(0)
        case += 1
    print(f"{case} stores, {n_read} of them read")


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]), Path(sys.argv[3]))
