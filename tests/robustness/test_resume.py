"""An interrupted `select` goes on where it stood and ends with the bytes of one that was left alone."""

import contextlib
import io
import json
import os
import shutil
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from sparserank import write_letor
from sparserank.cli.app import main
from sparserank.datasets import make_ranking
from sparserank.errors import DataWarning, RunDirectoryError
from sparserank.workdir.pieces import PieceStore, WorkStore
from tests.support.finished_runs import differences

PENALTIES = ("--penalty", "l1", "--penalty", "mcp", "--penalty", "log")
PLAN = (*PENALTIES, "--folds", "3", "--n-alphas", "12", "--half-samples", "4", "--seed", "4", "--rival", "none")
# Three penalties, the refits of two (l1 is where the others start) and the dense reference; three folds and the final
# path; half-samples.
N_PIECES = 4 * (3 + 2 + 1) + 1
Select = Callable[..., tuple[int, str]]


@pytest.fixture(scope="module")
def train(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "train.txt"
    write_letor(make_ranking(120, (10, 30), 15, n_informative=4, n_redundant=3, noise=0.5, random_state=3).data, path)
    return path


@pytest.fixture(scope="module")
def undisturbed(train: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run that nobody interrupted, on one thread."""
    out = tmp_path_factory.mktemp("undisturbed") / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["sparserank", "select", str(train), "--out", str(out), *PLAN, "--threads", "1"])
        with pytest.raises(SystemExit) as stop:
            main()
    assert stop.value.code in (0, None)
    return out


@pytest.fixture
def run(undisturbed: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(undisturbed, tmp_path / "run"))


def interrupted(*args: object, **options: object) -> None:
    raise KeyboardInterrupt


@pytest.fixture
def select(train: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Select:
    """`sparserank select` in this process: exit code and standard error."""

    def leave(code: int) -> None:
        raise SystemExit(code)

    monkeypatch.setattr(os, "_exit", leave)  # what Ctrl-C ends with would end the test run

    def run(out: Path, *options: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["sparserank", "select", str(train), "--out", str(out), *PLAN, *options])
        with warnings.catch_warnings():
            try:
                main()
                code = 0
            except SystemExit as stop:
                code = int(stop.code or 0)
        return code, capsys.readouterr().err

    return run


def pieces(run: Path) -> list[Path]:
    """The files of finished pieces that progress counts: those that have a record, but that of the ablation."""
    records = sorted((run / "pieces").glob("*.json"))
    found = [run / inside for record in records for inside in json.loads(record.read_text())]
    return [p for p in found if not p.name.startswith("ablation")]


def test_a_folder_without_work_belongs_to_no_plan(tmp_path: Path) -> None:
    WorkStore(tmp_path / "run", {"a": 1}, kind="select").close()
    with WorkStore(tmp_path / "run", {"a": 2}, kind="select") as store:
        store.save("fold0-l1", {"coefs": np.ones(3)})
    with pytest.raises(RunDirectoryError, match="other data or options"):
        WorkStore(tmp_path / "run", {"a": 1}, kind="select")


@pytest.mark.parametrize("place", ["sparserank.data.read.collect", "sparserank.selection.result.write_results"])
def test_ctrl_c_while_reading_or_writing_is_one_sentence(place, run, select, monkeypatch):
    monkeypatch.setattr(place, interrupted)
    code, err = select(run)
    assert code == 130
    assert "Traceback" not in err
    assert f"interrupted; finished work is kept in {run}." in err
    assert len(pieces(run)) == N_PIECES


def test_a_damaged_piece_is_computed_again(undisturbed: Path, run: Path, select: Select) -> None:
    first, second, third = pieces(run)[:3]
    first.write_bytes(first.read_bytes()[:500])
    second.write_bytes(b"")
    third.unlink()
    ours, foreign = run / "arrays" / ".sparserank-0123456789abcdef.part", run / "arrays" / ".movie.mkv.part"
    ours.write_bytes(b"PK")
    foreign.write_bytes(b"film")
    code, err = select(run)
    assert code == 0
    assert err.count("a damaged piece") == 3
    for piece in (first, second, third):
        assert f"{piece.stem}.json: a damaged piece" in err
    assert f"{N_PIECES - 1 - 3} of {N_PIECES} pieces reused" in err
    assert differences(run, undisturbed) == []
    assert list(run.rglob("*.part")) == [foreign]
    assert foreign.read_bytes() == b"film"


def test_every_flipped_bit_is_seen(run: Path) -> None:
    """In a piece or in its record; the wrong variant, reading without the checksum, takes most of them."""
    rng = np.random.default_rng(1)
    store, unseen = PieceStore(run), 0
    piece = pieces(run)[0]
    record = run / "pieces" / f"{piece.stem}.json"
    for file in (piece, record):
        whole, kept = file.read_bytes(), record.read_bytes()
        for bit in rng.integers(0, 8 * len(whole), size=100):
            damaged = bytearray(whole)
            damaged[bit // 8] ^= 1 << (bit % 8)
            file.write_bytes(damaged)
            with pytest.warns(DataWarning, match="a damaged piece"):
                assert store.load(piece.stem, [f"arrays/{piece.name}"]) is None
            assert not record.exists()
            if file is piece:
                with contextlib.suppress(Exception), np.load(io.BytesIO(bytes(damaged))) as content:
                    unseen += all(content[key].size for key in content.files)
            record.write_bytes(kept)
        file.write_bytes(whole)
    assert store.load(piece.stem, [f"arrays/{piece.name}"]) is not None
    assert unseen > 0


def test_the_comparison_sees_a_changed_piece_and_another_path(undisturbed, run, select):
    """Pieces are read back, not computed again; so one changed by hand must show in the results."""
    table = pq.read_table(run / "path.parquet")
    changed = [v * (1 + 3e-16) for v in table.column("loss").to_pylist()]
    pq.write_table(table.set_column(table.column_names.index("loss"), "loss", [changed]), run / "path.parquet")
    assert differences(run, undisturbed) == ["path.parquet"]
    for piece in (run / "arrays").glob("final-*.npz"):
        with np.load(piece) as content:
            arrays = {key: content[key] for key in content.files}
        np.savez(piece, **(arrays | {"data": arrays["data"] * (1 + 1e-15)}))  # type: ignore[arg-type]
        PieceStore(run).save(piece.stem, {f"arrays/{piece.name}": piece.read_bytes()})
    assert select(run)[0] == 0
    assert "model.json" in differences(run, undisturbed)


def test_restart_discards_the_old_results_at_once_and_runs_another_plan(undisturbed, run, select, monkeypatch):
    """Interrupted after --restart, the directory does not show the old plan's model beside the new plan. That a plan
    which differs is refused without --restart, `test_stale_pieces.py` tries for every option."""
    with monkeypatch.context() as patch:
        patch.setattr("sparserank.selection.job.SelectionJob.execute", interrupted)
        assert select(run, "--restart", "--n-alphas", "6")[0] == 130
    assert pieces(run) == []
    assert not (run / "model.json").exists()
    shutil.copytree(undisturbed, run, dirs_exist_ok=True)
    code, err = select(run, "--restart", "--n-alphas", "6")
    assert code == 0
    assert "reused from an earlier run" not in err
    assert differences(run, undisturbed) != []


def test_another_choice_on_the_same_pieces_computes_nothing(undisturbed: Path, run: Path, select: Select) -> None:
    code, err = select(run, "--k", "2")
    assert code == 0
    assert f"{N_PIECES - 1} of {N_PIECES} pieces reused" in err  # half-samples belong to the choice
    assert len(json.loads((run / "model.json").read_text())["features"]) <= 2
    assert {"model.json", "path.parquet", "per_query.parquet"} & set(differences(run, undisturbed)) == {"model.json"}
