"""Run directories made by somebody else: nothing in them is read or written through a link, nothing without an end is
read, and a piece with other content than its name states is computed again."""

import hashlib
import io
import json
import os
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sparserank as sr
from sparserank.errors import DataWarning, ModelFormatError, RunDirectoryError
from sparserank.model import load_model
from sparserank.workdir.directory import WorkDirectory
from sparserank.workdir.pieces import PieceStore, arrays_of_npz

DATA = sr.datasets.make_ranking(30, 6, 5, n_informative=2, n_redundant=1, random_state=1).data
OPTIONS: dict[str, Any] = {"penalties": ["mcp"], "n_alphas": 5, "cv": 2, "half_samples": 4, "n_threads": 1}
OPTIONS |= {"rival": "none", "feature_transform": ["none", "log"]}
Damage = Callable[[dict[str, np.ndarray]], dict[str, np.ndarray]]


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("others") / "run"
    sr.select(DATA, out=run, **OPTIONS)
    return run


@pytest.fixture
def run(reference: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(reference, tmp_path / "run"))


@pytest.mark.parametrize(
    "name",
    ["plan.json", "log.jsonl", "model.json", "report.html", "result.json", ".sparserank-run", "arrays", "pieces"],
)
def test_nothing_in_a_run_is_read_or_written_through_a_link(run: Path, tmp_path: Path, name: str) -> None:
    file, elsewhere = run / name, tmp_path / "mine"
    if file.exists():
        file.rename(elsewhere)
    else:
        elsewhere.write_text("precious")
    before = {p: p.read_bytes() for p in [elsewhere, *elsewhere.rglob("*")] if p.is_file()}
    file.symlink_to(elsewhere)
    with pytest.raises(
        RunDirectoryError, match=rf"{name}: is a link, which a run neither reads nor replaces; remove it"
    ):
        sr.select(DATA, out=run, **OPTIONS)
    assert {p: p.read_bytes() for p in [elsewhere, *elsewhere.rglob("*")] if p.is_file()} == before
    file.unlink()  # the remedy
    if name in ("plan.json", "model.json"):
        sr.select(DATA, out=run, **OPTIONS)


def test_the_directory_itself_may_be_a_link(run: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(run)
    sr.select(DATA, out=tmp_path / "link", **OPTIONS)
    assert load_model(tmp_path / "link").n_features == DATA.n_features


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
@pytest.mark.parametrize("name", ["plan.json", "log.jsonl", ".sparserank-run", "arrays/x.npz"])
def test_a_pipe_in_a_run_is_refused_at_once(run: Path, name: str) -> None:
    (run / name).unlink(missing_ok=True)
    os.mkfifo(run / name)
    with pytest.raises(RunDirectoryError, match="is a device, a pipe or a socket"):
        WorkDirectory(run, "select")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
@pytest.mark.parametrize("name", ["model.json", "models.json"])
@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_models_are_regular_files(run: Path, tmp_path: Path, name: str, kind: str) -> None:
    k = None if name == "model.json" else 1
    (run / name).rename(tmp_path / "real")
    if kind == "link":
        (run / name).symlink_to(tmp_path / "real")
        (tmp_path / "current.json").symlink_to(tmp_path / "real")
        load_model(tmp_path / "current.json", k=k)  # which the user names
    else:
        os.mkfifo(run / name)
        with pytest.raises(ModelFormatError, match="not a regular file"):
            load_model(run / name, k=k)
    with pytest.raises(ModelFormatError, match="it is a link" if kind == "link" else "not a regular file"):
        load_model(run, k=k)


def npz(arrays: dict[str, np.ndarray], **options: Any) -> bytes:
    content = io.BytesIO()
    np.savez(content, **arrays, **options)
    return content.getvalue()


def replace_piece(run: Path, piece: Path, content: bytes) -> None:
    """Other content with a right checksum."""
    piece.write_bytes(content)
    record = {f"arrays/{piece.name}": hashlib.sha256(content).hexdigest()}
    (run / "pieces" / f"{piece.stem}.json").write_text(json.dumps(record))


DAMAGES: dict[str, Damage] = {
    "nothing": lambda a: {},
    "texts": lambda a: {k: np.array(["x"]) for k in a},
    "one value": lambda a: {k: np.zeros(1) for k in a},
    "no dimension": lambda a: {k: v.reshape(-1)[:1].reshape(()) if v.size else v for k, v in a.items()},
    "one more": lambda a: {k: np.concatenate([v, v[:1]]) if v.ndim else v for k, v in a.items()},
    "one less": lambda a: {k: v[:-1] if v.ndim else v for k, v in a.items()},
    "turned": lambda a: {k: v.T if v.ndim > 1 else v[None] for k, v in a.items()},
    "far indices": lambda a: {k: v + 10**6 if k.endswith("indices") else v[..., None] for k, v in a.items()},
}


@pytest.mark.slow_but("far", "nothing", "huge")
@pytest.mark.parametrize("damage", [*DAMAGES, "junk", "archive of junk", "compressed", "huge"])
def test_a_piece_with_a_right_checksum_and_other_content_is_computed_again(
    run: Path, reference: Path, damage: str
) -> None:
    pieces = sorted((run / "arrays").glob("*.npz"))
    assert len({p.name.split("-")[0] for p in pieces}) >= 4  # paths of folds and of all, halves, ablations
    for piece in pieces:
        content = b"junk"
        if damage in DAMAGES:
            content = npz(DAMAGES[damage](arrays_of_npz(piece.read_bytes())))
        elif damage != "junk":
            out = io.BytesIO()
            kind = zipfile.ZIP_DEFLATED if damage == "compressed" else zipfile.ZIP_STORED
            with zipfile.ZipFile(out, "w", kind) as archive:
                head = b"\x93NUMPY\x01\x00v\x00" + (
                    b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000000,), }".ljust(117) + b"\n"
                )
                archive.writestr("values.npy", b"junk" if damage == "archive of junk" else head)
            content = out.getvalue()
        replace_piece(run, piece, content)
    with pytest.warns(DataWarning, match="a damaged piece") as found:
        result = sr.select(DATA, out=run, **OPTIONS)
    assert sum("a damaged piece" in str(w.message) for w in found) == len(pieces)
    assert np.array_equal(result.model.coef, load_model(reference).coef)
    for piece in pieces:
        assert (
            arrays_of_npz(piece.read_bytes()).keys()
            == arrays_of_npz((reference / "arrays" / piece.name).read_bytes()).keys()
        )


def test_arrays_are_what_numpy_reads() -> None:
    rng = np.random.default_rng(0)
    arrays = {
        "a": rng.normal(size=(3, 4)),
        "by columns": np.asfortranarray(rng.normal(size=(3, 4))),
        "b": np.array([True, False]),
        "texts": np.array(["optimal", "ü"], dtype="U16"),
        "none": np.zeros((0, 3), dtype=np.int32),
        "one": np.array(7),
    }
    with np.load(io.BytesIO(npz(arrays))) as expected:
        found = arrays_of_npz(npz(arrays))
        assert list(found) == expected.files
        for name in arrays:
            assert found[name].dtype == expected[name].dtype
            assert found[name].shape == expected[name].shape
            assert found[name].tolist() == expected[name].tolist()
            assert found[name].flags.writeable
    with pytest.raises(ValueError, match="not an archive of arrays"):
        arrays_of_npz(npz({"objects": np.array([{}])}, allow_pickle=True))


def test_records_and_pieces_have_a_limit(tmp_path: Path) -> None:
    store = PieceStore(tmp_path)
    store.save("one", {"a.bin": b"content"})
    (tmp_path / "pieces" / "one.json").write_bytes(b" " * (2 << 20))
    with pytest.warns(DataWarning, match="larger than 1 MB"):
        assert store.load("one", ["a.bin"]) is None
