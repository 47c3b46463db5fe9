"""A store that changes under a reader: what was opened goes on to be used, or the change is said;
old and new are never mixed."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sparserank as sr
from sparserank.crossval.fitting import FittedPaths
from sparserank.data.reading import Reading
from sparserank.data.store import opening as stores
from sparserank.errors import DataFormatError

SELECT: dict[str, Any] = {
    "penalties": "l1",
    "n_alphas": 5,
    "cv": 2,
    "half_samples": 0,
    "feature_transform": "none",
    "n_threads": 1,
}


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    """Two stores whose files have the same names and sizes."""
    for name, seed in (("a", 1), ("b", 2)):
        data = sr.datasets.make_ranking(
            30, (8, 8), 6, n_informative=3, n_redundant=1, noise=0.3, random_state=seed
        ).data
        sr.write_letor(data, tmp_path / f"{name}.txt")
        sr.convert([tmp_path / f"{name}.txt"], tmp_path / name, Reading(dtype="float64", sparse=False))
    sizes = [{f.name: f.stat().st_size for f in (tmp_path / name).glob("*.npy")} for name in "ab"]
    assert sizes[0] == sizes[1]
    return tmp_path / "a", tmp_path / "b"


def by_folder(a: Path, b: Path) -> None:
    a.rename(a.with_name("before"))
    shutil.copytree(b, a)


def by_file(a: Path, b: Path) -> None:
    """As rsync and `convert --restart` do."""
    for file in b.iterdir():
        shutil.copy(file, a / "new")
        (a / "new").replace(a / file.name)


def in_place(a: Path, b: Path) -> None:
    """As cp does, which writes into the files that are there."""
    for file in b.glob("*-X.npy"):
        (a / file.name).write_bytes(file.read_bytes())


def once(replacing: Callable[[Path, Path], None], a: Path, b: Path, function: Any) -> Any:
    """The function, before whose first call the store is replaced."""
    done: list[int] = []

    def run(*args: Any, **options: Any) -> Any:
        if not done:
            done.append(1)
            replacing(a, b)
        return function(*args, **options)

    return run


@pytest.mark.parametrize("replacing", [by_folder, by_file, in_place])
def test_between_its_manifest_and_its_files(
    replacing: Any, folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = folders
    monkeypatch.setattr(stores, "map_shard", once(replacing, a, b, stores.map_shard))
    with pytest.raises(DataFormatError, match="a: was rewritten while it was being opened; open it again"):
        sr.read(a)


@pytest.mark.parametrize("replacing", [by_folder, by_file])
def test_after_it_was_opened_the_old_files_are_used(replacing: Any, folders: tuple[Path, Path]) -> None:
    a, b = folders
    held = {
        name: (sr.select(sr.read(p), **SELECT).model.coef, sr.SparseRanker().fit_dataset(sr.read(p)).coef_)
        for name, p in zip("ab", folders, strict=True)
    }
    data = sr.read(a)
    replacing(a, b)
    np.testing.assert_array_equal(sr.select(data, **SELECT).model.coef, held["a"][0])
    np.testing.assert_array_equal(sr.SparseRanker().fit_dataset(data).coef_, held["a"][1])
    np.testing.assert_array_equal(sr.SparseRanker().fit_dataset(sr.read(a)).coef_, held["b"][1])


def test_what_is_written_into_while_it_is_used_is_refused(
    folders: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = folders
    data = sr.read(a)
    monkeypatch.setattr(FittedPaths, "_in_lockstep", once(in_place, a, b, FittedPaths._in_lockstep))
    monkeypatch.setattr(FittedPaths, "_use_processes", lambda *_: False)
    with pytest.raises(DataFormatError, match=r"00000-X\.npy: was modified while it was in use"):
        sr.select(data, out=tmp_path / "run", **SELECT)
    assert not list((tmp_path / "run").glob("arrays/*"))
    assert not (tmp_path / "run/model.json").exists()
    with pytest.raises(DataFormatError, match="was modified while it was in use"):
        sr.SparseRanker().fit_dataset(data)
    with pytest.raises(DataFormatError, match="was changed after it was written"):
        sr.read(a)
