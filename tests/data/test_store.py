"""The on-disk store: what it holds, how it is written, found damaged, written on after a kill, and used."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from click.testing import CliRunner

import sparserank as sr
from sparserank.cli.app import app
from sparserank.data.read_files import read_files
from sparserank.data.reading import Reading
from sparserank.data.store import opening
from sparserank.data.store import writing as converting
from sparserank.data.store.arrays import checksum
from sparserank.data.store.convert import convert
from sparserank.data.store.features import StoredFeatures
from sparserank.data.store.opening import MANIFEST, PROGRESS, STAMPS, open_store
from sparserank.data.write_files import write_file
from sparserank.errors import DataError, DataFormatError, RunDirectoryError, SparserankError

DATA = sr.datasets.make_ranking(60, (3, 14), 6, n_informative=3, n_redundant=0, noise=0.5, random_state=5).data
DOUBLE = Reading(dtype="float64")
SHARD = 4096  # bytes: several shards of this data


def text_of(data: sr.RankingDataset, path: Path) -> Path:
    sr.write_letor(data, path)
    return path


@pytest.fixture
def text(tmp_path: Path) -> Path:
    named = sr.RankingDataset(DATA.X, DATA.relevance, DATA.qid, [f"é{i}" for i in range(DATA.n_docs)])
    return text_of(named, tmp_path / "train.txt")


def dense(data: sr.RankingDataset) -> np.ndarray:
    X = data.X[np.arange(data.n_docs)]
    return np.asarray(X.toarray() if sp.issparse(X) else X)


def assert_same(found: sr.RankingDataset, expected: sr.RankingDataset = DATA) -> None:
    np.testing.assert_array_equal(dense(found), dense(expected))
    np.testing.assert_array_equal(found.relevance, expected.relevance)
    np.testing.assert_array_equal(found.query_ptr, expected.query_ptr)
    assert list(found.query_ids) == list(expected.query_ids)


def files_of(folder: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in folder.iterdir() if p.suffix == ".npy" or p.name == MANIFEST}


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("shard_bytes", [SHARD, 1 << 30])
def test_a_store_holds_what_the_text_holds(shard_bytes: int, sparse: bool, text: Path, tmp_path: Path) -> None:
    manifest = convert([text], tmp_path / "s", Reading(dtype="float64", sparse=sparse), shard_bytes=shard_bytes)
    assert (len(manifest["shards"]) > 3) == (shard_bytes == SHARD)
    found = open_store(tmp_path / "s")
    assert found.is_stored
    assert found.is_sparse == sparse
    assert_same(found)
    assert found.docid is not None
    assert found.docid[[0, 50]].tolist() == ["é0", "é50"]
    np.testing.assert_array_equal(np.asarray(found.docid), [f"é{i}" for i in range(DATA.n_docs)])
    np.testing.assert_array_equal(found.constant_features(), DATA.constant_features())
    rows = np.random.default_rng(0).permutation(DATA.n_docs)[:40]
    taken = found.X[rows]
    np.testing.assert_array_equal(taken.toarray() if sparse else taken, dense(DATA)[rows])
    columns = found.X[:, [4, 1]]
    np.testing.assert_array_equal(columns.toarray() if sparse else columns, dense(DATA)[:, [4, 1]])


@pytest.mark.parametrize("sparse", [False, True])
def test_back_to_text_and_parquet(sparse: bool, text: Path, tmp_path: Path) -> None:
    convert([text], tmp_path / "s", Reading(sparse=sparse), shard_bytes=SHARD)
    write_file([tmp_path / "s"], tmp_path / "back.txt")
    again = sr.read(tmp_path / "back.txt", n_features=6, dtype=np.float32)
    assert_same(again, open_store(tmp_path / "s"))
    if sparse:
        with pytest.raises(DataError, match="Parquet files can contain only dense features"):
            write_file([tmp_path / "s"], tmp_path / "back.parquet")
        return
    write_file([tmp_path / "s"], tmp_path / "back.parquet")
    assert_same(read_files(tmp_path / "back.parquet"), open_store(tmp_path / "s"))
    with pytest.raises(RunDirectoryError, match="is also an input"):
        write_file([text], text)


def scattered(path: Path) -> sr.RankingDataset:
    order = np.random.default_rng(3).permutation(DATA.n_docs)
    data = sr.RankingDataset(DATA.X[order], DATA.relevance[order], DATA.qid[order])  # type: ignore[index]
    lines = []
    for i in order:
        one = sr.RankingDataset(DATA.X[[i]], DATA.relevance[[i]], DATA.qid[[i]])  # type: ignore[index]
        sr.write_letor(one, path)
        lines.append(path.read_text())
    path.write_text("".join(lines))
    return data


@pytest.mark.parametrize("sparse", [False, True])
def test_scattered_queries_are_gathered(sparse: bool, tmp_path: Path) -> None:
    expected = scattered(tmp_path / "a.txt")
    manifest = convert([tmp_path / "a.txt"], tmp_path / "s", Reading(dtype="float64", sparse=sparse), shard_bytes=SHARD)
    assert_same(open_store(tmp_path / "s"), expected)
    assert len(manifest["shards"]) > 3
    named = {name for shard in manifest["shards"] for name in (f"{shard['number']:05d}-label.npy",)}
    assert {p.name for p in (tmp_path / "s").glob("*-label.npy")} == named  # nothing of the first writing is left
    with pytest.raises(SparserankError, match=r"not contiguous.*sort -s -k2,2"):
        convert([tmp_path / "a.txt"], tmp_path / "t", Reading(missing="query-min"), shard_bytes=SHARD)


# -- damage ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def store(text: Path, tmp_path: Path) -> Path:
    convert([text], tmp_path / "s", DOUBLE, shard_bytes=SHARD)
    return tmp_path / "s"


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes(content)


def edited(name: str, change: Callable[[bytes], bytes]) -> Callable[[Path], Any]:
    """What rewrites a file of a store."""
    return lambda s: (s / name).write_bytes(change((s / name).read_bytes()))


DAMAGE: dict[str, tuple[Callable[[Path], Any], str]] = {
    "truncated": (edited("00001-X.npy", lambda c: c[:-8]), r"00001-X\.npy: has \d+ bytes, but the manifest states"),
    "gone": (lambda s: (s / "00002-label.npy").unlink(), r"00002-label\.npy: is missing"),
    "flipped": (lambda s: flip(s / "00001-X.npy"), r"00001-X\.npy: was changed after"),
    "manifest cut": (edited(MANIFEST, lambda c: c[:-40]), "manifest.json: is damaged"),
    "manifest edited": (
        edited(MANIFEST, lambda c: c.replace(b'"n_docs": ', b'"n_docs": 1')),
        "manifest.json: is damaged",
    ),
    "manifest without shards": (
        edited(MANIFEST, lambda c: c.replace(b'"shards"', b'"shard5"')),
        "its checksum differs",
    ),
    "another kind of features": (
        edited(MANIFEST, lambda c: c.replace(b'"sparse": false', b'"sparse": true')),
        "its checksum differs",
    ),
    "names edited": (
        edited(MANIFEST, lambda c: c.replace(b'"feature_names": null', b'"feature_names": ["a"]')),
        "its checksum differs",
    ),
    "of the future": (
        edited(MANIFEST, lambda c: c.replace(b'"version": 1,\n', b'"version": 9,\n', 1)),
        "has version 9",
    ),
    "no manifest": (lambda s: (s / MANIFEST).unlink(), "is not a store"),
}


@pytest.mark.parametrize("case", list(DAMAGE))
def test_a_damaged_store_is_named_and_never_used(case: str, store: Path) -> None:
    damage, message = DAMAGE[case]
    damage(store)
    for _ in range(2):
        with pytest.raises(SparserankError, match=message):
            open_store(store)


def test_damage_that_leaves_no_trace_is_found_when_asked_for(store: Path) -> None:
    path = store / "00001-X.npy"
    before = path.stat()
    flip(path)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    open_store(store)
    result = CliRunner().invoke(app, ["inspect", str(store), "--verify"])
    assert "00001-X.npy: was changed" in str(result.exception)


def test_a_copied_store_is_compared_once(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()
    for file in store.iterdir():
        (copy / file.name).write_bytes(file.read_bytes())
    seen: list[Path] = []
    with monkeypatch.context() as patch:
        patch.setattr(opening, "checksum", lambda path: seen.append(path) or checksum(path))
        open_store(copy)
        assert len(seen) > 5
        patch.setattr(opening, "checksum", lambda path: pytest.fail("compared again"))
        open_store(copy)
    (copy / STAMPS).write_text("{broken")
    assert_same(open_store(copy))
    assert convert([copy], tmp_path / "t", Reading(dtype="float32"))["n_docs"] == DATA.n_docs


NEEDS_PIPES = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")


@pytest.mark.parametrize("name", [MANIFEST, "00000-X.npy", "00000-label.npy"])
def test_links_are_not_followed(name: str, store: Path, tmp_path: Path) -> None:
    (store / name).rename(tmp_path / "elsewhere")
    (store / name).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(DataFormatError, match=f"{name}: is a link, but the files of a store must be in its folder"):
        open_store(store)


def test_the_folder_of_a_store_may_be_a_link(store: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(store)
    assert_same(open_store(tmp_path / "link"))


@pytest.mark.parametrize("make", [pytest.param("mkfifo", marks=NEEDS_PIPES), "mkdir"])
def test_only_a_regular_file_is_an_array(make: str, store: Path) -> None:
    (store / "00000-label.npy").unlink()
    getattr(os, make)(store / "00000-label.npy")
    with pytest.raises(DataFormatError, match=r"00000-label\.npy: is not a regular file"):
        open_store(store)


@pytest.mark.parametrize("kind", ["link", pytest.param("pipe", marks=NEEDS_PIPES), "folder"])
def test_stamps_that_are_no_file_are_neither_read_nor_written(kind: str, store: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (store / STAMPS).unlink()
    if kind == "link":
        (store / STAMPS).symlink_to(victim)
    elif kind == "pipe":
        os.mkfifo(store / STAMPS)
    else:
        (store / STAMPS).mkdir()
    assert_same(open_store(store))
    assert victim.read_text() == "mine"


def test_a_store_of_version_0_2_opens(tmp_path: Path) -> None:
    """As sparserank 0.2.0 wrote it, field by field."""
    arrays = {
        "X": np.arange(24.0).reshape(8, 3),
        "label": np.array([0.0, 1, 2, 0, 1, 0, 2, 1]),
        "qid": np.array([1, 2]),
        "query_ptr": np.array([0, 4, 8]),
    }
    for name, array in arrays.items():
        np.save(tmp_path / f"00000-{name}.npy", array)
    contents = {name: (tmp_path / f"00000-{name}.npy").read_bytes() for name in arrays}
    files = {name: {"bytes": len(c), "sha256": hashlib.sha256(c).hexdigest()} for name, c in contents.items()}
    shards = [{"number": 0, "n_docs": 8, "n_queries": 2, "files": files}]
    names, fill_values = ["a", "b", "c"], [None, 0.5, 2]
    content = json.dumps([shards, 3, "float64", names, fill_values], sort_keys=True)
    manifest = {
        "format": "sparserank-store",
        "version": 1,
        "n_docs": 8,
        "n_queries": 2,
        "n_features": 3,
        "dtype": "float64",
        "sparse": False,
        "feature_names": names,
        "shards": shards,
        "plan": {},
        "fill_values": fill_values,
        "identity": hashlib.sha256(content.encode()).hexdigest(),
    }
    (tmp_path / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n")
    data = sr.read(tmp_path)
    assert (data.n_docs, data.n_features, data.feature_names) == (8, 3, ("a", "b", "c"))
    np.testing.assert_array_equal(dense(data), arrays["X"])
    np.testing.assert_array_equal(data.fill_values, [np.nan, 0.5, 2])


# -- written on after a kill, a full disk, a change -------------------------------------------------------------------


def converted(text: Path, out: Path) -> int:
    """The exit code of the command, in this process."""
    return CliRunner().invoke(app, ["convert", str(text), str(out), "--shard-mb", "1"]).exit_code


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Text in several blocks, of several shards of a megabyte."""
    folder = tmp_path_factory.mktemp("large")
    data = sr.datasets.make_ranking(400, 60, 60, n_informative=5, noise=0.5, random_state=1).data
    small = sr.RankingDataset(np.round(data.X, 2), data.relevance, data.qid)
    return text_of(small, folder / "large.txt")


@pytest.fixture(scope="module")
def whole(large: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store of a conversion that nobody interrupted."""
    folder = tmp_path_factory.mktemp("whole") / "s"
    assert converted(large, folder) == 0
    return folder


@pytest.mark.slow_but("[2]")
@pytest.mark.parametrize("after", [1, 2, 4])
def test_a_killed_conversion_goes_on(after: int, large: Path, whole: Path, tmp_path: Path) -> None:
    out = tmp_path / "s"
    process = subprocess.Popen(
        [sys.executable, "-m", "sparserank", "convert", str(large), str(out), "--shard-mb", "1"],
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 60
    while len(list(out.glob("*-X.npy"))) < after and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.002)
    process.kill()
    process.wait()
    if not (out / MANIFEST).exists():
        with pytest.raises(SparserankError, match=r"is an unfinished store|is not a store|neither a store"):
            read_files(out)
    assert converted(large, out) == 0
    expected, found = files_of(whole), files_of(out)
    assert {n: c for n, c in found.items() if n != MANIFEST} == {n: c for n, c in expected.items() if n != MANIFEST}
    assert not (out / PROGRESS).exists()
    assert (converted(large, out), files_of(out)) == (0, found)


@pytest.mark.slow
def test_a_full_disk_ends_in_one_sentence_and_the_conversion_goes_on(large: Path, tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    out = tmp_path / "s"
    limit = 1_500_000  # bytes of one file: what a full disk looks like from inside

    def small_files() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    command = [sys.executable, "-m", "sparserank", "convert", str(large), str(out), "--shard-mb", "3"]
    failed = subprocess.run(command, capture_output=True, text=True, check=False, preexec_fn=small_files)
    assert failed.returncode == 1
    assert failed.stderr.strip().splitlines()[-1].startswith("error: ")
    assert "Traceback" not in failed.stderr
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert open_store(out).n_docs == 24_000


def test_an_input_that_changes_while_it_is_read(text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = converting.write_shard

    def meddling(*arguments: Any) -> Any:
        os.utime(text, ns=(1, 1))
        return real(*arguments)

    monkeypatch.setattr(converting, "write_shard", meddling)
    with pytest.raises(SparserankError, match=r"changed while being read; convert again with restart=True"):
        convert([text], tmp_path / "s", shard_bytes=SHARD)
    monkeypatch.setattr(converting, "write_shard", real)
    with pytest.raises(RunDirectoryError, match="files that have changed since"):
        convert([text], tmp_path / "s", shard_bytes=SHARD)
    convert([text], tmp_path / "s", shard_bytes=SHARD, restart=True)
    open_store(tmp_path / "s")


def test_other_peoples_folders_and_stores_are_left_alone(text: Path, store: Path, tmp_path: Path) -> None:
    with pytest.raises(RunDirectoryError, match="contains a store of other files, of other options, or"):
        convert([text], store, Reading(dtype="float32"), shard_bytes=SHARD)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/notes").write_text("x")
    with pytest.raises(RunDirectoryError, match="contains files that no sparserank run has written"):
        convert([text], tmp_path / "mine")
    assert_same(open_store(store))
    with pytest.raises(SparserankError, match="at least one file"):
        convert([], tmp_path / "none")


# -- feature logs ---------------------------------------------------------------------------------------------------


def test_feature_logs_of_search_engines(tmp_path: Path) -> None:
    solr = [
        {"qid": 1, "label": 2, "id": "a", "[features]": "bm25=1.5,clicks=3"},
        {"qid": 1, "label": 0, "id": "b", "[features]": "clicks:4 age:0.5"},
    ]
    both = [{"name": "bm25", "value": 1.5}, {"name": "clicks", "value": 3}]
    without = [{"name": "bm25"}, {"name": "clicks", "value": 4}, {"name": "age", "value": 0.5}]
    elastic = [
        {"_id": "a", "_source": {"qid": "1", "label": 2}, "fields": {"_ltrlog": [{"e": both}]}},
        {"_id": "b", "qid": 1, "label": "0", "fields": {"_ltrlog": [{"e": without}]}},
    ]
    for name, lines in {"solr": solr, "elastic": elastic}.items():
        path = tmp_path / f"{name}.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        convert([path], tmp_path / name, DOUBLE)
        for found in (open_store(tmp_path / name), read_files(path)):
            assert list(found.feature_names or ()) == ["bm25", "clicks", "age"]
            np.testing.assert_array_equal(dense(found), [[1.5, 3, 0], [0, 4, 0.5]])
            assert (list(found.query_ids), list(found.relevance)) == ([1], [2, 0])
            assert list(np.asarray(found.docid)) == ["a", "b"]


# -- in use ---------------------------------------------------------------------------------------------------------


def test_the_commands_take_stores(text: Path, tmp_path: Path, printed: Callable[..., str]) -> None:
    store, model = tmp_path / "s", tmp_path / "m.json"
    assert "60 queries, 6 features (dense float64)" in printed("convert", text, store, "--dtype", "float64")
    printed("fit", store, "--out", model)
    printed("fit", text, "--out", tmp_path / "n.json")
    assert model.read_bytes() == (tmp_path / "n.json").read_bytes()
    assert "on disk" in printed("inspect", store)
    assert "every file is unchanged since it was written" in printed("inspect", store, "--verify")
    for command in (("predict", model), ("evaluate", "--system", model, "--format", "csv")):
        first, rest = command[0], command[1:]
        by_store, by_text = (printed(first, *rest, d).replace(str(d), "DATA") for d in (store, text))
        assert by_store == by_text
    printed("predict", model, store, "--run", tmp_path / "a.run")
    printed("predict", model, text, "--run", tmp_path / "b.run")
    assert (tmp_path / "a.run").read_bytes() == (tmp_path / "b.run").read_bytes()
    other = tmp_path / "other"
    renumbered = tmp_path / "renumbered.txt"
    renumbered.write_text(text.read_text().replace("qid:", "qid:v"))
    printed("convert", renumbered, other, "--dtype", "float64")
    quick = ["--allow-overlap", "--penalty", "l1", "--n-alphas", "6", "--folds", "2", "--half-samples", "0"]
    for out, train, valid in (("r1", store, other), ("r2", text, renumbered)):
        printed("select", train, "--valid", valid, "--test", valid, *quick, "--out", tmp_path / out)
    first, second = (sr.load_model(tmp_path / out / "model.json") for out in ("r1", "r2"))
    np.testing.assert_allclose(first.coef, second.coef, rtol=1e-9)


@pytest.mark.slow_but("False")
@pytest.mark.parametrize("sparse", [False, True])
def test_memory_and_store_are_cut_and_added_up_alike(
    sparse: bool, text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sparserank.shards.local.SHARD_BYTES", SHARD)
    reading = Reading(dtype="float64", sparse=sparse)
    convert([text], tmp_path / "s", reading, shard_bytes=SHARD)
    stored, memory = open_store(tmp_path / "s"), read_files(text, reading)
    objectives = [sr.solvers.PairwiseObjective(d) for d in (stored, memory)]
    found, expected = ([s.rows.n_docs for s in o.shards.shards] for o in objectives)  # type: ignore[attr-defined]
    assert found == expected
    assert len(found) > 3
    options: dict[str, Any] = {"penalties": ["l1", "log"], "n_alphas": 8, "cv": 2, "half_samples": 2}
    for data, out in ((stored, "a"), (memory, "b")):
        sr.select(data, out=tmp_path / out, **options)
    assert (tmp_path / "a/model.json").read_bytes() == (tmp_path / "b/model.json").read_bytes()


def test_what_would_copy_a_store_is_refused(store: Path) -> None:
    data = open_store(store)
    with pytest.raises(DataError, match="would copy all features, but features in a store are read in place"):
        sr.select(data, scaling="log-standard", n_alphas=4)
    assert isinstance(data.X, StoredFeatures)
