"""Run directories made by somebody else: nothing in them is read or written through a link, nothing without an end is
read, and a piece with other content than its name states is computed again."""

import io
import os
import shutil
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
