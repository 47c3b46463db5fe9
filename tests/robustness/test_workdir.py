"""Work directories, pieces and workers: one writer, nobody else's files, nothing left behind."""

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import closing, nullcontext
from pathlib import Path

import numpy as np
import pytest

import sparserank as sr
from sparserank.crossval.cross_validation import CrossValidation
from sparserank.crossval.tree_rivals_on_folds import TreesOnFolds
from sparserank.errors import DataError, DataWarning, RunDirectoryError
from sparserank.workdir.directory import MARK, WorkDirectory
from sparserank.workdir.pieces import PieceStore, WorkStore, name_of
from sparserank.workdir.processes import kept_workers, run_pieces
from tests.support.processes import children_of, gone
from tests.support.tasks import Memorable, moody, square

PATIENCE_S = 20.0  # for what happens at once unless the machine is busy; less than tasks that would last longer
HOLD = (
    "import sys, time; from sparserank.workdir.directory import WorkDirectory as D; d = D(sys.argv[1], 'select'); "
    "print('held', flush=True); time.sleep(60)"
)


@pytest.mark.parametrize("existing", ["", "a", "a/b"])
def test_a_failure_leaves_no_directory_that_it_made(existing: str, tmp_path: Path) -> None:
    """Nor does it remove one that it has not made, or finished work."""
    (tmp_path / existing).mkdir(parents=True, exist_ok=True)
    place = tmp_path / "a/b"

    def fail(finished: bool) -> None:
        with WorkStore(place, {"x": 1}, kind="select") as store:
            store.log({"event": "start"})
            if finished:
                store.save("one", {"values": np.ones(2)})
            raise DataError("no.")

    for finished in (False, True):
        with pytest.raises(DataError):
            fail(finished)
        assert (tmp_path / "a").exists() == (finished or existing != "")
        assert place.exists() == (finished or existing == "a/b")
    with WorkStore(place, {"x": 1}, kind="select") as store:
        assert store.load("one")["values"].tolist() == [1.0, 1.0]


COMMANDS = {
    "select": ("select", "t.txt"),
    "for_model": ("select", "t.txt", "--for-model", "lightgbm"),
    "fuse": ("fuse", "a.run", "b.run", "--qrels", "judged.qrels"),
    "demo": ("demo",),
}


@pytest.mark.usefixtures("no_processes")
@pytest.mark.parametrize("command", COMMANDS)
def test_a_failed_command_leaves_no_empty_run(command, cli_here, monkeypatch):
    def fit(*_, **__):
        raise DataError("no path can be fitted.")

    sr.write_letor(sr.datasets.make_ranking(10, 6, 4, n_informative=2, n_redundant=1, random_state=0).data, "t.txt")
    for name in ("a", "b"):
        Path(f"{name}.run").write_text("".join(f"q{q} Q0 d{d} {d} {9 - d} {name}\n" for q in range(9) for d in (1, 2)))
    Path("judged.qrels").write_text("".join(f"q{q} 0 d{1 + (q == 4)} 1\n" for q in range(9)))
    for owner in (CrossValidation, TreesOnFolds):
        monkeypatch.setattr(owner, "fit", fit)
    failed = cli_here(*COMMANDS[command], "--out", "new/run")
    assert (failed.code, failed.err.splitlines()[-1]) == (1, "error: no path can be fitted.")
    assert Path("new").exists() == (command == "demo")  # its data are there, and no run inside
    assert not Path("new/run/run").exists()


# -- directories ------------------------------------------------------------------------------------------------


def test_one_process_at_a_time_and_the_lock_goes_with_its_process(tmp_path: Path) -> None:
    run = tmp_path / "run"
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(run)], stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    with pytest.raises(RunDirectoryError, match="another sparserank run is writing there"):
        WorkDirectory(run, "select")
    holder.kill()
    holder.wait()
    holder.stdout.close()
    with WorkDirectory(run, "select"), pytest.raises(RunDirectoryError, match="another sparserank run"):
        WorkDirectory(run, "select")
    WorkDirectory(run, "select").close()


@pytest.mark.parametrize("name", ["train.txt", "model.json", "plan.json", ".hidden", "arrays"])
def test_a_folder_with_other_files_is_refused_untouched(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir() if name == "arrays" else (tmp_path / name).write_text("mine")
    for kind in ("select", "experiment", "demo"):
        with pytest.raises(RunDirectoryError, match=rf"such as {name}\); choose a new or empty directory"):
            WorkDirectory(tmp_path, kind)
    assert [p.name for p in tmp_path.iterdir()] == [name]


def test_a_directory_of_another_kind_of_run_is_refused(tmp_path: Path) -> None:
    WorkDirectory(tmp_path, "select").close()
    with pytest.raises(RunDirectoryError, match="contains a 'select' run, not a 'experiment' run"):
        WorkDirectory(tmp_path, "experiment")
    (tmp_path / MARK).write_text("")  # killed between making the mark and writing it
    WorkDirectory(tmp_path, "experiment").close()


def test_only_our_own_unfinished_files_are_removed(tmp_path: Path) -> None:
    WorkDirectory(tmp_path, "select").close()
    (tmp_path / "arrays").mkdir()
    ours = [tmp_path / ".sparserank-00.part", tmp_path / "arrays" / ".sparserank-11.part"]
    foreign = [tmp_path / ".movie.mkv.part", tmp_path / "arrays" / ".x.npz.abc.part", tmp_path / "a.part"]
    for file in (*ours, *foreign):
        file.write_text("x")
    WorkDirectory(tmp_path, "select").close()
    assert not any(f.exists() for f in ours)
    assert all(f.exists() for f in foreign)


def test_a_changed_identity_is_refused_by_name_and_restart_takes_the_place(tmp_path: Path) -> None:
    old = {"seed": 0, "data": "a", "folds": 5}
    with WorkStore(tmp_path, old, kind="select") as store:
        store.save("final-l1", {"x": np.arange(3.0)})
    with pytest.raises(RunDirectoryError, match=r"\(different: data, seed\)"):
        WorkStore(tmp_path, {"seed": 3, "data": "b", "folds": 5}, kind="select")
    with WorkStore(tmp_path, old, kind="select") as store:
        found = store.load("final-l1")
        assert found is not None
        np.testing.assert_array_equal(found["x"], np.arange(3.0))
    (tmp_path / "arrays" / "keep.npz").write_bytes(b"mine")
    with WorkStore(tmp_path, {**old, "seed": 3}, restart=True, kind="select") as store:
        assert store.load("final-l1") is None
    assert [p.name for p in tmp_path.rglob("*.npz")] == ["keep.npz"]  # pieces go, and nobody else's files


def test_a_folder_around_a_run_leaves_its_unfinished_files_alone(tmp_path: Path) -> None:
    """A demo started while its own selection, or another's inside it, is writing."""
    with WorkDirectory(tmp_path / "run", "select"):
        (tmp_path / "run" / ".sparserank-22.part").write_text("being written")
        WorkDirectory(tmp_path / "around", "demo").close()
        (tmp_path / "run").rename(tmp_path / "around" / "run")
        WorkDirectory(tmp_path / "around", "demo").close()
        assert (tmp_path / "around" / "run" / ".sparserank-22.part").exists()


def test_a_piece_of_another_identity_is_never_taken_for_this_one(tmp_path: Path) -> None:
    """Even where the plan's own check is circumvented: two runs that took turns in one directory."""
    identity = {"seed": 0, "data": "a", "folds": 5, "code": "c"}
    with WorkStore(tmp_path, identity, kind="select") as store:
        store.save("final-l1", {"x": np.arange(3.0)})
    for part in identity:
        (tmp_path / "plan.json").unlink()
        with WorkStore(tmp_path, {**identity, part: "other"}, kind="select") as store:
            assert store.load("final-l1") is None


# -- pieces -----------------------------------------------------------------------------------------------------


def test_names_are_readable_safe_and_tell_everything_apart() -> None:
    names = [name_of("fold0-mcp(gamma=2.0)", [a, b]) for a in (0, 1) for b in ("x", "y", ["x"])]
    assert len(set(names)) == 6
    assert all(n.startswith("fold0-mcp_gamma_2.0_-") for n in names)
    assert "/" not in name_of("../x", 0)


RECORD = "pieces/one.json"


@pytest.mark.parametrize(
    "damage",
    [
        *[None, ("a.bin", b""), (RECORD, b""), (RECORD, b"[1]"), (RECORD, b"{}"), (RECORD, b'{"a.bin": 3}')],
        *[(RECORD, b"[" * 100_000), (RECORD, b"\xff"), (RECORD, b'{"a.bin": "0", "../../x": "0"}')],
    ],
    ids=range(9),
)
def test_damage_is_named_once_and_the_piece_forgotten(tmp_path: Path, damage: tuple[str, bytes] | None) -> None:
    store = PieceStore(tmp_path)
    store.save("one", {"a.bin": b"content"})
    assert store.load("one", ["a.bin"]) == {"a.bin": b"content"}
    if damage is None:
        (tmp_path / "a.bin").unlink()
    else:
        (tmp_path / damage[0]).write_bytes(damage[1])
    with pytest.warns(DataWarning, match=r"one\.json: a damaged piece") as found:
        assert store.load("one", ["a.bin"]) is None
    assert len(found) == 1
    assert store.load("one", ["a.bin"]) is None  # silently now: it was never finished
    store.save("one", {"a.bin": b"again"})
    assert store.load("one", ["a.bin"]) == {"a.bin": b"again"}


def test_a_record_of_another_piece_is_damage(tmp_path: Path) -> None:
    """Two records swapped, or one that names files elsewhere:
    each file matches its checksum, and none is this piece's."""
    with WorkStore(tmp_path / "run", {"a": 1}, kind="select") as store:
        for name in ("fold0-l1", "fold1-l1"):
            store.save(name, {"x": np.arange(3.0)})
        first, second = sorted((tmp_path / "run" / "pieces").glob("*.json"))
        second.write_bytes(first.read_bytes())
        with pytest.warns(DataWarning, match="does not match its files"):
            assert store.load("fold1-l1") is None
        assert store.load("fold0-l1") is not None


def test_a_mark_that_is_a_link_or_was_never_written_claims_nothing(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("")
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / MARK).symlink_to(tmp_path / "mine.txt")
    with pytest.raises(RunDirectoryError, match="is a link, which a run neither reads nor replaces"):
        WorkDirectory(tmp_path / "linked", "select")
    assert (tmp_path / "mine.txt").read_text() == ""
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / MARK).write_text("")
    (tmp_path / "empty" / "data.csv").write_text("mine")
    with pytest.raises(RunDirectoryError, match=r"such as data\.csv"):
        WorkDirectory(tmp_path / "empty", "select")


def test_a_piece_without_its_record_was_not_finished(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(b"half")
    assert PieceStore(tmp_path).load("one", ["a.bin"]) is None


# -- workers ----------------------------------------------------------------------------------------------------


@pytest.mark.slow_but("False")
@pytest.mark.parametrize("processes", [True, False])
def test_every_outcome_comes_once_whatever_the_workers(processes: bool) -> None:
    for n_workers in (1, 2, 9):
        outcomes = list(run_pieces(square, [(i,) for i in range(7)], n_workers, processes=processes))
        assert {o.index: o.result for o in outcomes} == {i: i * i for i in range(7)}
    assert list(run_pieces(square, [], 2, processes=processes)) == []


@pytest.mark.parametrize("processes", [True, False])
def test_errors_and_warnings_travel_and_cost_no_other_piece(processes: bool, capfd: pytest.CaptureFixture[str]) -> None:
    tasks = ["print", "data", "wide", "warn", "fine"]
    with pytest.warns(DataWarning, match="pieces") as warned:
        found = {tasks[o.index]: o for o in run_pieces(moody, [(t,) for t in tasks], 2, processes=processes)}
    assert len(warned) == 1
    assert all(found[task].result == task for task in ("print", "warn", "fine"))
    assert isinstance(found["data"].error, DataError)
    assert "too wide" in str(found["wide"].error)
    assert all(o.seconds >= 0 for o in found.values())
    if processes:
        assert "must not come between" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("given", "words"),
    [("unreadable", ""), (threading.Lock(), ""), ("unpicklable", "local object")],
    ids=["unreadable", "lock", "unpicklable"],
)
def test_what_cannot_travel_is_an_error_and_no_hang(given: object, words: str) -> None:
    outcomes = {o.index: o for o in run_pieces(moody, [("fine",), (given,), ("fine",)], 2, processes=True)}
    assert outcomes[1].error is not None
    assert words in str(outcomes[1].error)
    assert outcomes[0].result == outcomes[2].result == "fine"


SCRIPTS = {  # {what it does: (its lines, what it prints)}
    "runs a class that no other process could import": (
        "class Mine:\n"
        "    def __call__(self, x): return 2 * x\n"
        "print(sorted(o.result for o in run_pieces(Mine(), [(1,), (2,)], 2, processes=True)))\n",
        "[2, 4]\n",
    ),
    "ends with work that nobody waits for": (
        "import time\npieces = run_pieces(time.sleep, [(0.0,), (60.0,), (60.0,)], 2, processes=True)\nnext(pieces)\n",
        "",
    ),
}


@pytest.mark.parametrize("what", SCRIPTS)
def test_a_script_without_a_guard(what: str, tmp_path: Path) -> None:
    lines, printed = SCRIPTS[what]
    script = tmp_path / "mine.py"
    script.write_text(f"from sparserank.workdir.processes import run_pieces\n{lines}")
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=50)
    assert (done.returncode, done.stdout, done.stderr) == (0, printed, "")


def test_a_job_keeps_its_workers_from_one_stage_to_the_next_and_no_longer() -> None:
    with kept_workers():
        first = list(run_pieces(square, [(i,) for i in range(5)], 2, processes=True))
        workers = children_of(os.getpid())
        with kept_workers():  # a job inside a job
            second = list(run_pieces(moody, [("fine",), ("data",), ("fine",)], 2, processes=True))
        (alone,) = run_pieces(square, [(3,)], 1, processes=True)
        assert sorted(children_of(os.getpid())) == sorted(workers)
    assert len(workers) == 2
    assert gone(workers, within_s=0.0)
    assert sorted(o.result for o in first) == [0, 1, 4, 9, 16]
    assert [o.result for o in sorted(second, key=lambda o: o.index)] == ["fine", None, "fine"]
    assert alone.result == 9


def test_a_worker_forgets_its_task_when_the_stage_is_over(tmp_path: Path) -> None:
    with kept_workers():
        assert [o.result for o in run_pieces(Memorable(tmp_path / "mark"), [(1,)], 1, processes=True)] == [1]
        give_up = time.monotonic() + PATIENCE_S
        while not (tmp_path / "mark").exists() and time.monotonic() < give_up:
            time.sleep(0.01)
        assert (tmp_path / "mark").read_text() == str(*children_of(os.getpid()))


def test_a_worker_that_is_lost_between_two_stages_is_replaced() -> None:
    with kept_workers():
        list(run_pieces(square, [(1,), (2,)], 2, processes=True))
        lost, _ = workers = children_of(os.getpid())
        os.kill(lost, signal.SIGKILL)
        assert gone([lost], within_s=PATIENCE_S)
        assert {o.result for o in run_pieces(square, [(1,), (2,)], 2, processes=True)} == {1, 4}
        now = children_of(os.getpid())
        assert len(now) == 2
        assert lost not in now
    assert gone([*workers, *now], within_s=0.0)


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("lost", [True, False])
def test_what_ends_a_stage_early_ends_its_workers_and_not_the_job(lost: bool, kept: bool) -> None:
    with kept_workers() if kept else nullcontext():
        list(run_pieces(square, [(1,), (2,)], 2, processes=True))
        workers = children_of(os.getpid())
        assert len(workers) == (2 if kept else 0)
        if lost:
            with pytest.raises(RunDirectoryError, match="worker process ended unexpectedly"):
                list(run_pieces(moody, [("exit",), ("exit",)], 2, processes=True))
        else:
            with closing(run_pieces(time.sleep, [(0.0,), (60.0,), (60.0,)], 2, processes=True)) as pieces:
                assert next(pieces).index == 0
                workers = children_of(os.getpid())
                assert workers
        assert gone(workers, within_s=0.0 if kept else PATIENCE_S)
        assert children_of(os.getpid()) == []
        assert [o.result for o in run_pieces(square, [(3,)], 1, processes=True)] == [9]
    assert children_of(os.getpid()) == []


IDLE = """
import time
from sparserank.workdir.processes import kept_workers, run_pieces
with kept_workers():
    list(run_pieces(time.sleep, [(0.0,), (0.0,)], 2, processes=True))
    print("idle", flush=True)
    time.sleep(60)
"""
UNPICKLING = """
import time
from sparserank.workdir.processes import run_pieces
class Slow:
    def __reduce__(self): return (time.sleep, (30,))
list(run_pieces(Slow(), [(1,), (2,)], 2, processes=True))
"""


@pytest.mark.slow_but("-0.3]")
@pytest.mark.parametrize("after_s", [0.0, 0.05, 0.3, 1.0])
@pytest.mark.parametrize("program", [IDLE, UNPICKLING], ids=["idle", "unpickling"])
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_workers_leave_with_their_parent_however_early(program: str, after_s: float, how: signal.Signals) -> None:
    """Those that wait for the next stage, and those whose task takes seconds to unpickle: they notice before they have
    read it."""
    parent = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert parent.stdout is not None
    if program is IDLE:
        assert parent.stdout.readline() == b"idle\n"
    workers: list[int] = []
    while len(workers) < 2:
        assert parent.poll() is None
        workers = children_of(parent.pid)
    time.sleep(after_s)
    parent.send_signal(how)
    parent.communicate(timeout=PATIENCE_S)
    assert gone(workers, within_s=PATIENCE_S)
