"""A killed `select` goes on where it stood and ends with the same bytes as one that was left alone."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

from sparserank import write_letor
from sparserank.cli.app import main
from sparserank.crossval.checkpoints import drop_points, save_points, stored_points
from sparserank.datasets import make_ranking
from sparserank.errors import DataWarning, RunDirectoryError
from sparserank.paths import Point
from sparserank.runs.pieces import PieceStore
from sparserank.runs.work_store import WorkStore

PENALTIES = ("--penalty", "l1", "--penalty", "mcp", "--penalty", "log")
PLAN = (*PENALTIES, "--folds", "3", "--n-alphas", "12", "--half-samples", "4", "--seed", "4", "--rival", "none")
N_PIECES = (
    4 * (2 * 3 + 1) + 1
)  # three penalties, their refits and the dense reference; three folds and the final path; half-samples
PATIENCE_S = 120.0
CHECKPOINTS_ALWAYS = (
    "-c",
    (
        "import time; from sparserank.crossval import fitting; save = fitting.save_points; fitting.CHECKPOINT_S = 0.0; "
        "fitting.save_points = lambda *points: (save(*points), time.sleep(0.03)); "  # or the run is over before a kill
        "from sparserank.__main__ import main; main()"
    ),
)

Select = Callable[..., tuple[int, str]]


@pytest.fixture(scope="module")
def train(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "train.txt"
    write_letor(make_ranking(120, (10, 30), 15, n_informative=4, n_redundant=3, noise=0.5, random_state=3).data, path)
    return path


def command(train: Path, out: Path, *options: str, python: Sequence[str] = ("-m", "sparserank")) -> list[str]:
    return [sys.executable, *python, "select", str(train), "--out", str(out), *PLAN, *options]


@pytest.fixture(scope="module")
def undisturbed(train: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run that nobody interrupted, on one thread."""
    out = tmp_path_factory.mktemp("undisturbed") / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["sparserank", *command(train, out, "--threads", "1")[3:]])
        with pytest.raises(SystemExit) as stop:
            main()
    assert stop.value.code in (0, None)
    return out


@pytest.fixture
def select(train: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Select:
    """`sparserank select` in this process: exit code and standard error."""

    def leave(code: int) -> None:
        raise SystemExit(code)

    monkeypatch.setattr(os, "_exit", leave)  # what Ctrl-C ends with would end the test run

    def run(out: Path, *options: str, file: Path = train) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["sparserank", *command(file, out, *options)[3:]])
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
    found = []
    for record in records:
        with suppress(FileNotFoundError):  # dropped meanwhile
            found += [run / inside for inside in json.loads(record.read_text())]
    return [p for p in found if not p.name.startswith("ablation")]


def finished(run: Path) -> list[Path]:
    """The pieces that are whole paths."""
    return [p for p in pieces(run) if not p.name.startswith("unfinished")]


def n_points(run: Path) -> int:
    """Points of paths on disk, of finished and of unfinished ones."""
    known: dict[tuple[str, str], int] = {}
    for piece in pieces(run):
        head, label, *_ = piece.name.split("-")
        try:
            with np.load(piece) as content:
                if head == "unfinished":
                    own = {k.split()[1]: len(content[k]) for k in content.files if k.startswith("statuses")}
                else:
                    own = {head.removeprefix("fold").replace("final", "-1"): len(content["losses"])}
        except OSError:  # being replaced
            continue
        known.update({(label, fold): max(n, known.get((label, fold), 0)) for fold, n in own.items()})
    return sum(known.values())


def start_and_wait(
    args: list[str], run: Path, at_least: int, count: Callable[[Path], int], every_s: float
) -> subprocess.Popen[str]:
    """A running `select` that has so much on disk, counted so often, or has ended."""
    process = subprocess.Popen(args, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    give_up = time.monotonic() + PATIENCE_S
    while process.poll() is None and not ((run / "plan.json").exists() and count(run) >= at_least):
        if time.monotonic() > give_up:
            process.kill()
            pytest.fail(f"select made no progress: {process.communicate()[1]}")
        time.sleep(every_s)  # counting takes time from what is counted
    return process


def assert_whole_or_absent(run: Path) -> None:
    """Nothing under a final name is half-written."""
    for piece in pieces(run):
        with np.load(piece) as content:
            assert all(content[key].size or piece.name.startswith("unfinished") for key in content.files)
    for name in ("plan.json", "model.json"):
        assert not (run / name).exists() or json.loads((run / name).read_text())
    for name in ("path.parquet", "per_query.parquet"):
        assert not (run / name).exists() or pq.read_table(run / name).num_rows > 0


def differences(a: Path, b: Path) -> list[str]:
    """What differs between two finished runs, times apart."""
    found = [] if (a / "model.json").read_bytes() == (b / "model.json").read_bytes() else ["model.json"]
    for name in ("path.parquet", "per_query.parquet"):
        left, right = pq.read_table(a / name).to_pydict(), pq.read_table(b / name).to_pydict()
        columns = (left.keys() | right.keys()) - {"time_s"}
        found += [f"{name}: {c}" for c in sorted(columns) if repr(left.get(c)) != repr(right.get(c))]  # repr is exact
    return found


@pytest.mark.slow
def test_kills_in_the_middle_of_paths_change_nothing(
    train: Path, undisturbed: Path, tmp_path: Path, select: Select
) -> None:
    run, rng = tmp_path / "run", np.random.default_rng(10)
    seen, points = [], []
    for more in (0, 15, 15, 15):
        at_least = n_points(run) + more
        process = start_and_wait(command(train, run, python=CHECKPOINTS_ALWAYS), run, at_least, n_points, 0.2)
        time.sleep(rng.uniform(0.0, 0.02))
        process.kill()
        process.communicate()
        seen.append(len(finished(run)))
        points.append(n_points(run))
        assert_whole_or_absent(run)
    assert seen == sorted(seen)  # finished work is kept
    assert points == sorted(points)  # and unfinished paths go on
    assert len(set(points)) >= 4, f"the kills came at {points} points: not in the middle of paths"
    code, err = select(run)
    assert code == 0, err
    assert f"{seen[-1]} of {N_PIECES} pieces reused from an earlier run" in err
    assert differences(run, undisturbed) == []
    assert list(run.rglob("*.part")) == []
    events = [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]
    assert max(Counter(e["what"] for e in events if e["event"] == "piece").values()) == 1  # nothing was done twice


def test_a_kill_while_a_checkpoint_is_written_leaves_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def points(n: int) -> dict[int, list[Point]]:
        return {
            0: [Point(sp.csr_array(np.full((1, 3), float(i))), 1.0, 1.0, 0.0, 0.0, 1, 0.1, "optimal") for i in range(n)]
        }

    write = PieceStore._write

    def killed(self: PieceStore, path: Path, content: bytes) -> None:
        if path.suffix == ".json":
            raise KeyboardInterrupt
        write(self, path, content)

    with WorkStore(tmp_path / "run", {"a": 1}, kind="select") as store:
        for turn in range(5):
            with monkeypatch.context() as patched:
                patched.setattr(PieceStore, "_write", killed)
                with pytest.raises(KeyboardInterrupt):
                    save_points(store, "l1", points(10 * (turn + 1)), turn)
            with warnings.catch_warnings():
                warnings.simplefilter("error")  # nothing is damaged
                known = stored_points(store, "l1", [0, 1], 3)
            assert [len(known[0]), len(known[1])] == [10 * turn, 0]
            save_points(store, "l1", points(10 * (turn + 1)), turn)
        drop_points(store, "l1")
        assert stored_points(store, "l1", [0], 3) == {0: []}


def test_a_folder_without_work_belongs_to_no_plan(tmp_path: Path) -> None:
    WorkStore(tmp_path / "run", {"a": 1}, kind="select").close()
    with WorkStore(tmp_path / "run", {"a": 2}, kind="select") as store:
        store.save("fold0-l1", {"coefs": np.ones(3)})
    with pytest.raises(RunDirectoryError, match="other data or options"):
        WorkStore(tmp_path / "run", {"a": 1}, kind="select")


@pytest.mark.slow
def test_ctrl_c_says_so_and_keeps_finished_work(train: Path, undisturbed: Path, tmp_path: Path, select: Select) -> None:
    run = tmp_path / "run"
    slow = command(train, run, python=CHECKPOINTS_ALWAYS)
    process = start_and_wait(slow, run, 1, lambda run: len(finished(run)), 0.01)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130
    assert f"interrupted; finished work is kept in {run}." in err
    assert "Traceback" not in err
    kept = len(finished(run))
    assert 1 <= kept < N_PIECES
    code, err = select(run)
    assert code == 0
    assert f"{kept} of {N_PIECES} pieces reused from an earlier run" in err
    assert differences(run, undisturbed) == []


@pytest.mark.parametrize("place", ["sparserank.data.read.collect", "sparserank.jobs.select.write_results"])
def test_ctrl_c_while_reading_or_writing_says_so_too(
    place: str, undisturbed: Path, tmp_path: Path, select: Select, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "run"
    shutil.copytree(undisturbed, run)

    def interrupted(*args: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(place, interrupted)
    code, err = select(run)
    assert code == 130
    assert "Traceback" not in err
    assert "interrupted" in err
    assert len(pieces(run)) == N_PIECES


def test_a_damaged_piece_is_computed_again(undisturbed: Path, tmp_path: Path, select: Select) -> None:
    run = tmp_path / "run"
    shutil.copytree(undisturbed, run)
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


def test_every_flipped_bit_is_seen(undisturbed: Path, tmp_path: Path) -> None:
    """In a piece or in its record; the wrong variant, reading without the checksum, takes most of them."""
    run, rng = tmp_path / "run", np.random.default_rng(1)
    shutil.copytree(undisturbed, run)
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


def test_the_comparison_sees_a_changed_piece(undisturbed: Path, tmp_path: Path, select: Select) -> None:
    """Pieces are read back, not computed again; so one changed by hand must show in the results."""
    run = tmp_path / "run"
    shutil.copytree(undisturbed, run)
    for piece in (run / "arrays").glob("final-*.npz"):
        with np.load(piece) as content:
            arrays = {key: content[key] for key in content.files}
        np.savez(piece, **(arrays | {"coefs data": arrays["coefs data"] * (1 + 1e-15)}))  # type: ignore[arg-type]
        PieceStore(run).save(piece.stem, {f"arrays/{piece.name}": piece.read_bytes()})
    assert select(run)[0] == 0
    assert "model.json" in differences(run, undisturbed)


def test_the_comparison_sees_another_path(undisturbed: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(undisturbed, run)
    table = pq.read_table(run / "path.parquet")
    loss = table.column_names.index("loss")
    changed = [v * (1 + 3e-16) for v in table.column("loss").to_pylist()]
    pq.write_table(table.set_column(loss, "loss", [changed]), run / "path.parquet")
    assert differences(run, undisturbed) == ["path.parquet: loss"]


@pytest.mark.slow_but("options")
@pytest.mark.parametrize("change", ["options", "data"])
def test_another_plan_is_refused_and_restart_accepts_it(
    change: str, train: Path, undisturbed: Path, tmp_path: Path, select: Select
) -> None:
    run, file, options = tmp_path / "run", train, ()
    shutil.copytree(undisturbed, run)
    if change == "options":
        options = ("--n-alphas", "6")
    else:
        file = tmp_path / "train.txt"
        file.write_text("".join(line + "\n" for line in train.read_text().splitlines()[:-1]))
    before = {p: p.read_bytes() for p in run.rglob("*") if p.is_file()}
    code, err = select(run, *options, file=file)
    assert code == 1
    assert err.startswith(f"error: {run}: contains a run with other data or options; ")
    assert "--restart" in err
    assert err.count("\n") == 1
    assert {p: p.read_bytes() for p in run.rglob("*") if p.is_file()} == before
    code, err = select(run, "--restart", *options, file=file)
    assert code == 0
    assert "reused from an earlier run" not in err
    assert differences(run, undisturbed) != []


def test_restart_discards_the_old_results_at_once(
    undisturbed: Path, tmp_path: Path, select: Select, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Interrupted after --restart, the directory does not show the old plan's model beside the new plan."""
    run = tmp_path / "run"
    shutil.copytree(undisturbed, run)

    def interrupted(*args: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("sparserank.jobs.selection_job.SelectionJob.execute", interrupted)
    assert select(run, "--restart", "--n-alphas", "6")[0] == 130
    assert pieces(run) == []
    assert not (run / "model.json").exists()


def test_another_choice_on_the_same_pieces_computes_nothing(undisturbed: Path, tmp_path: Path, select: Select) -> None:
    run = tmp_path / "run"
    shutil.copytree(undisturbed, run)
    code, err = select(run, "--k", "2")
    assert code == 0
    assert f"{N_PIECES - 1} of {N_PIECES} pieces reused" in err  # half-samples belong to the choice
    assert len(json.loads((run / "model.json").read_text())["features"]) <= 2
    assert differences(run, undisturbed) == ["model.json"]
