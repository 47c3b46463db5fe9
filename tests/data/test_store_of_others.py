"""A store made by somebody else has the right checksums, and is still refused where kernels could not trust it; the
checks against a slow oracle, on mutations of manifests, arrays and files."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sparserank as sr
from sparserank.data.store.opening import MANIFEST, STAMPS
from sparserank.errors import DataFormatError
from tests.oracles.stores import valid_store
from tests.support.command_line import Cli
from tests.support.made_stores import N_FEATURES, dense, made, manifest_of, npy, sparse, write_manifest
from tests.support.store_fuzzer import check

NEEDS_PIPES = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")

X = dense()["X"]


def header(shape: str, descr: str = "'<f8'", length: int | None = None) -> bytes:
    """The bytes of a .npy file with any header."""
    text = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}".encode()
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + (len(text) if length is None else length).to_bytes(2, "little") + text + bytes(192)


def archive() -> bytes:
    content = io.BytesIO()
    np.savez(content, X=X)
    return content.getvalue()


class Evil:
    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, ("pwned",)


SMALL = {  # refused when the store is opened
    "pickles": (dense(label=np.array([Evil()] * 8, dtype=object)), "label.npy: is damaged (NumPy cannot"),
    "code in a header": (dense(X=header("(8, __import__('os').mkdir('pwned'))")), "X.npy: is damaged (NumPy cannot"),
    "header of 65 kB": (dense(X=header("(8, 3)", length=65535)), "X.npy: is damaged (NumPy cannot"),
    "deep header": (dense(X=header("(" * 400 + ")" * 400)), "X.npy: is damaged (NumPy cannot"),
    "fewer bytes than the header says": (dense(X=npy(X)[:-8]), "X.npy: is damaged (NumPy cannot"),
    "huge shape": (dense(X=header("(8, 4611686018427387904)")), "X.npy: is damaged (NumPy cannot"),
    "an archive": (dense(X=archive()), "X.npy: is damaged (its values are of type"),
    "other byte order": (dense(X=X.astype(X.dtype.newbyteorder())), "X.npy: is damaged (its values are of type"),
    "integers": (dense(X=X.astype(np.int64)), "X.npy: is damaged (its values are of type"),
    "half floats": (dense(X=X.astype(np.float16)), "X.npy: is damaged (its values are of type"),
    "complex": (dense(X=X.astype(np.complex64)), "X.npy: is damaged (its values are of type"),
    "floats of another length": (dense(X=X.astype(np.float32)), "X.npy: is damaged (its values are of type"),
    "columns first": (dense(X=np.asfortranarray(X)), "X.npy: is damaged (its values are not aligned, or not row"),
    "one dimension": (dense(X=X.ravel()), "X.npy: is damaged (its shape is (24,)"),
    "too few rows": (dense(X=X[:5]), "X.npy: is damaged (its shape is (5, 3)"),
    "label not finite": (dense(label=np.full(8, np.nan)), "label.npy: is damaged (a label is not finite)"),
    "labels of text": (dense(label=np.array([b"x"] * 8)), "label.npy: is damaged (its values"),
    "query_ptr beyond the rows": (
        dense(query_ptr=np.array([0, 4, 800_000])),
        "query_ptr.npy: is damaged (it must increase from 0 to 8",
    ),
    "query_ptr falls": (dense(query_ptr=np.array([0, 9, 8])), "query_ptr.npy: is damaged (it must increase"),
    "query_ptr begins late": (dense(query_ptr=np.array([1, 4, 8])), "query_ptr.npy: is damaged (it must increase"),
    "an empty query": (dense(query_ptr=np.array([0, 8, 8])), "query_ptr.npy: is damaged (it must increase"),
    "query_ptr of floats": (dense(query_ptr=np.array([0, 4.5, 8])), "query_ptr.npy: is damaged (its values"),
    "query ids twice": (dense(qid=np.array([1, 1])), "manifest.json: is damaged (two queries have the same id)"),
    "query ids no UTF-8": (dense(qid=np.array([b"\xff", b"a"])), "qid.npy: is damaged (a query id is not UTF-8)"),
    "query ids of floats": (dense(qid=np.array([1.5, np.nan])), "qid.npy: is damaged (its values"),
    "weights below 0": (dense(weight=np.full(8, -1.0)), "weight.npy: is damaged (a weight is negative"),
    "too few weights": (dense(weight=np.ones(2)), "weight.npy: is damaged (its shape"),
    "document ids of numbers": (dense(docid=np.arange(8)), "docid.npy: is damaged (its values"),
    "indptr beyond the data": (
        sparse(indptr=np.array([0, 1, 3, 4, 6, 7, 8, 8, 2**30], dtype=np.int32)),
        "indptr.npy: is damaged (it must increase",
    ),
    "indptr falls": (
        sparse(indptr=np.array([0, 1, -(2**30), 4, 6, 7, 8, 8, 10], dtype=np.int32)),
        "indptr.npy: is damaged (it must increase",
    ),
    "too few indices": (
        sparse(indices=np.array([0], dtype=np.int32)),
        "indices.npy: is damaged (indices must have the same length as data",
    ),
    "an array is missing": (sparse(indices=None), "manifest.json: is damaged (a shard must have the arrays"),
    "an array outside": (
        dense(**{"/../../outside/secret": X}),
        "manifest.json: is damaged (a shard must have the arrays",
    ),
}

LATE = {  # refused when the features are first used
    "a value is NaN": (
        dense(X=np.where(np.arange(24).reshape(8, 3) == 10, np.nan, X)),
        "X.npy: is damaged (a value is not finite)",
    ),
    "a sparse value is infinite": (sparse(data=np.full(10, np.inf)), "data.npy: is damaged (a value is not finite)"),
    "index beyond the columns": (
        sparse(indices=np.array([0, 1, 2, 0, 1, 2, 0, 1, 0, 3], dtype=np.int32)),
        "is damaged (an index is not between 0 and 2)",
    ),
    "index below 0": (
        sparse(indices=np.array([0, 1, 2, 0, 1, 2, 0, 1, -1, 0], dtype=np.int32)),
        "is damaged (an index is not between 0 and 2)",
    ),
    "index twice": (
        sparse(indices=np.array([0, 1, 1, 0, 1, 2, 0, 1, 0, 2], dtype=np.int32)),
        "is damaged (the indices of a row are not increasing)",
    ),
    "indices fall": (
        sparse(indices=np.array([0, 1, 2, 0, 1, 2, 0, 1, 2, 0], dtype=np.int32)),
        "is damaged (the indices of a row are not increasing)",
    ),
}

MANIFESTS: dict[str, tuple[dict[str, Any], str]] = {
    "features without number": (
        {"n_features": 2**60, "sparse": True},
        "n_features is 1152921504606846976, but at most",
    ),
    "features below 1": ({"n_features": -3}, "n_features must be a whole number >= 1; got -3"),
    "a number in quotes": ({"n_features": "3"}, "n_features must be a whole number >= 1; got '3'"),
    "true is no number": ({"n_features": True}, "n_features must be a whole number >= 1; got True"),
    "8.0 is no number of documents": ({"n_docs": 8.0}, "n_docs must be a whole number >= 1; got 8.0"),
    "another type": ({"dtype": "float16"}, "dtype must be float32 or float64; got 'float16'"),
    "sparse by number": ({"sparse": 1}, "sparse must be true or false; got 1"),
    "too few names": ({"feature_names": ["a"]}, "feature_names must contain 3 names"),
    "names are numbers": ({"feature_names": [1, 2, 3]}, "feature_names must contain 3 names"),
    "a name twice": ({"feature_names": ["a", "a", "b"]}, "two features have the same name"),
    "names in an object": ({"feature_names": {"a": 1, "b": 2, "c": 3}}, "feature_names must contain 3 names"),
    "infinite filling": ({"fill_values": [1e308 * 10, 1, 2]}, "is damaged (Infinity is not a number)"),
    "filling by true": ({"fill_values": [True, 1, 2]}, "fill_values must be finite numbers or null; got True"),
    "no shards": ({"shards": []}, "shards must be a non-empty list"),
    "shards in an object": ({"shards": {"a": 1}}, "shards must be a non-empty list"),
}
SHARDS: dict[str, tuple[dict[str, Any], str]] = {
    "a number that leaves": ({"number": "../../../etc/passwd"}, "number of a shard must be a whole number >= 0"),
    "a number below 0": ({"number": -1}, "number of a shard must be a whole number >= 0; got -1"),
    "files in a list": ({"files": ["label", "qid", "query_ptr"]}, "a shard must be an object that lists its files"),
    "files of nothing": (
        {"files": dict.fromkeys(("X", "label", "qid", "query_ptr"))},
        "a file of a shard must have bytes and sha256",
    ),
    "a number twice": ({"number": 0}, "two shards have the same number"),
}


def refused(folder: Path) -> str:
    with pytest.raises(DataFormatError) as caught:
        sr.read(folder)
    return str(caught.value)


@pytest.mark.parametrize("case", list(SMALL))
def test_arrays_are_refused_when_the_store_is_opened(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    arrays, message = SMALL[case]
    found = refused(made(tmp_path / "s", arrays))
    assert message in found
    assert found.endswith("; convert the data again.")
    assert not (tmp_path / "pwned").exists()


@pytest.mark.parametrize("case", list(LATE))
def test_features_are_refused_when_they_are_first_used(case: str, tmp_path: Path) -> None:
    arrays, message = LATE[case]
    data = sr.read(made(tmp_path / "s", arrays))
    with pytest.raises(DataFormatError):
        sr.read(tmp_path / "s", verify=True)
    for use in (
        lambda: data.X[[0]],
        data.constant_features,
        lambda: sr.solvers.PairwiseObjective(data),
        lambda: data.X.parts,
    ):
        with pytest.raises(DataFormatError) as caught:
            use()
        assert message in str(caught.value)


def test_only_the_shards_that_are_used_are_read(tmp_path: Path) -> None:
    late, _ = LATE["index below 0"]
    data = sr.read(made(tmp_path / "s", [sparse(), late | {"qid": np.array([3, 4])}]))
    assert data.X[[0, 7]].shape == (2, 3)
    with pytest.raises(DataFormatError, match=r"00001-data\.npy: is damaged"):
        data.X[[8]]


@pytest.mark.parametrize("case", list(MANIFESTS))
def test_manifests_are_refused_by_field(case: str, tmp_path: Path) -> None:
    changed, message = MANIFESTS[case]
    found = refused(made(tmp_path / "s", sparse() if changed.get("sparse") is True else dense(), **changed))
    assert f"{MANIFEST}: is damaged" in found
    assert message in found


@pytest.mark.parametrize("case", list(SHARDS))
def test_shards_are_refused_by_field(case: str, tmp_path: Path) -> None:
    changed, message = SHARDS[case]
    shards = [dense(), dense(qid=np.array([3, 4]))]
    folder, manifest = made(tmp_path / "s", shards), manifest_of(shards)
    manifest["shards"][1] |= changed
    write_manifest(folder, manifest)
    assert message in refused(folder)


@pytest.mark.parametrize("name", [MANIFEST, "00000-X.npy", "00000-label.npy"])
def test_links_are_not_followed(name: str, tmp_path: Path) -> None:
    folder = made(tmp_path / "s", dense())
    (folder / name).rename(tmp_path / "elsewhere")
    (folder / name).symlink_to(tmp_path / "elsewhere")
    assert f"{name}: is a link, but the files of a store must be in its folder" in refused(folder)
    (tmp_path / "link").symlink_to(made(tmp_path / "t", dense()))
    assert sr.read(tmp_path / "link").n_docs == 8  # the user's own


@pytest.mark.parametrize("kind", ["link", pytest.param("pipe", marks=NEEDS_PIPES), "folder"])
def test_stamps_that_are_no_file_are_neither_read_nor_written(kind: str, tmp_path: Path) -> None:
    folder, victim = made(tmp_path / "s", dense()), tmp_path / "victim"
    victim.write_text("mine")
    if kind == "link":
        (folder / STAMPS).symlink_to(victim)
    elif kind == "pipe":
        os.mkfifo(folder / STAMPS)
    else:
        (folder / STAMPS).mkdir()
    assert sr.read(folder).n_docs == 8
    assert victim.read_text() == "mine"


@pytest.mark.parametrize("make", [pytest.param("mkfifo", marks=NEEDS_PIPES), "mkdir"])
def test_only_a_regular_file_is_an_array(make: str, tmp_path: Path) -> None:
    folder = made(tmp_path / "s", dense())
    (folder / "00000-label.npy").unlink()
    getattr(os, make)(folder / "00000-label.npy")
    assert "00000-label.npy: is not a regular file" in refused(folder)


def test_document_ids_are_decoded_when_they_are_asked_for(tmp_path: Path) -> None:
    data = sr.read(made(tmp_path / "s", dense(docid=np.array([b"a"] * 7 + [b"\xff"]))))
    assert data.docid is not None
    assert data.docid[[0]].tolist() == ["a"]
    for use in (lambda: data.docid[[7]], lambda: np.asarray(data.docid), lambda: list(data.docid)):  # type: ignore[index, arg-type]
        with pytest.raises(DataFormatError, match="s: a document id is not UTF-8 text"):
            use()


def test_many_features_without_names_need_as_many_values(tmp_path: Path) -> None:
    wide = made(tmp_path / "s", sparse(), n_features=1_000_000)
    assert sr.read(wide).n_features == 1_000_000
    assert "but at most 52 values are stored" in refused(made(tmp_path / "t", sparse(), n_features=10_000_001))


def test_commands_refuse_in_one_sentence(cli: Cli, tmp_path: Path) -> None:
    late, early = (
        made(tmp_path / name, cases[case][0])
        for name, cases, case in (("l", LATE, "index below 0"), ("e", SMALL, "huge shape"))
    )
    for store in (late, early):
        for command in (
            ["inspect", store],
            ["fit", store, "--out", tmp_path / "m.json"],
            ["convert", store, tmp_path / "c.txt"],
        ):
            done = cli(*command)
            assert done.code == 1
            assert done.err.count("error: ") == 1
            assert "is damaged" in done.err
            assert "Traceback" not in done.err
    assert not (tmp_path / "m.json").exists()
    assert not (tmp_path / "c.txt").exists()


def test_a_store_of_version_0_2_opens(tmp_path: Path) -> None:
    """As sparserank 0.2.0 wrote it, field by field."""
    folder = made(tmp_path / "s", dense(), fill_values=[None, 0.5, 2], feature_names=["a", "b", "c"])
    known = json.loads((folder / MANIFEST).read_text())
    (folder / MANIFEST).write_text(json.dumps(known, indent=1) + "\n")
    data = sr.read(folder)
    assert (data.n_docs, data.n_features, data.feature_names) == (8, N_FEATURES, ("a", "b", "c"))
    np.testing.assert_array_equal(data.fill_values, [np.nan, 0.5, 2])


# -- the checks against a slow oracle ---------------------------------------------------------------------------------


@pytest.mark.slow
def test_mutated_stores_are_used_or_refused(fuzz_seconds: float, fuzz_seed: int, tmp_path: Path) -> None:
    pytest.importorskip("resource")
    command = [sys.executable, "-m", "tests.support.store_fuzzer", str(fuzz_seed), str(fuzz_seconds), str(tmp_path)]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
        cwd=Path(__file__).parents[2],
        env=os.environ | {"PYTHONFAULTHANDLER": "1", "OMP_NUM_THREADS": "1"},
    )
    shown = "\n".join(done.stdout.splitlines()[-3:] + done.stderr.splitlines()[-25:])
    assert done.returncode == 0, shown
    n_stores, n_read = (int(word) for word in done.stdout.splitlines()[-1].split() if word.isdigit())
    assert 0 < n_read < n_stores


@pytest.mark.parametrize("arrays", [dense(), sparse()])
def test_the_comparison_accepts_what_is_right(arrays: dict[str, Any], tmp_path: Path) -> None:
    assert check(made(tmp_path / "s", arrays))


WRONG = {
    "sparserank.data.store.features.fault_of": (lambda X: None, sparse(data=np.full(10, np.nan))),
    "sparserank.data.store.arrays._check_lists": (lambda *_: None, dense(label=np.full(8, np.inf))),
    "sparserank.data.store.manifest._check_names": (lambda *_: None, dense()),
}


@pytest.mark.parametrize("check_name", list(WRONG))
def test_the_comparison_rejects_an_opener_without_one_check(
    check_name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without, arrays = WRONG[check_name]
    changed = {"feature_names": ["a", 2, "b"]} if check_name.endswith("names") else {}
    folder = made(tmp_path / "s", arrays, **changed)
    assert valid_store(folder) is None
    assert not check(folder)
    monkeypatch.setattr(check_name, without)
    with pytest.raises(AssertionError, match="was read"):
        check(folder)
