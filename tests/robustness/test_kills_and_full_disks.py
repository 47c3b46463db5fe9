"""Whatever ends a command, and when: nothing half-written, nobody left behind, the next run ends the same."""

import json
import resource
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path

import click
import numpy as np
import pytest
import reproduction.app as reproduction

import sparserank as sr
from sparserank.cli.app import app, main
from sparserank.cli.interrupts import UNDONE
from sparserank.files import PART
from tests.support.finished_runs import assert_whole, results_of
from tests.support.processes import children_of, gone
from tests.support.shortcuts import no_processes

N_KILLS = 3  # of each command: one by each signal
START_S = 2.0  # in which Python and what it imports are there
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
CODES = {signal.SIGKILL: -9, signal.SIGTERM: 143, signal.SIGINT: 130}
COMMANDS = ("select", "letor", "demo")
FEW = {"rival": "none", "cv": 2, "half_samples": 4, "feature_transform": "none"}
QUICK_DEMO = {"penalties": "mcp", "n_alphas": 30, **FEW}
DEMO = f"""
import sparserank
def select(*data, **options):
    from sparserank.crossval import fitting
    from sparserank.selection.select import select
    fitting.MIN_PROCESS_WORK = 0  # in processes, which the other commands' work is too small for
    return select(*data, **{QUICK_DEMO} | options)
sparserank.select = select
from sparserank.__main__ import main
main()
"""
SLOWLY = """
from sparserank.cli.interrupts import leave_on_signals
leave_on_signals()  # first of all, as `python -m sparserank` does
import time
from sparserank.crossval import fitting
save = fitting.FittedPaths.save
fitting.FittedPaths.save = lambda *piece: (save(*piece), time.sleep(0.1))  # or the run is over before a kill
from sparserank.__main__ import main
main()
"""
STARTED = {"select": ("-c", SLOWLY), "letor": ("-m", "reproduction"), "demo": ("-c", DEMO)}
SHORT = "--folds 3 --n-alphas 15 --half-samples 8 --transform none --penalty l1 --penalty mcp --rival none"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A LETOR folder S1.txt ... S5.txt."""
    folder = tmp_path_factory.mktemp("data")
    problem = sr.datasets.make_ranking(60, (10, 30), 20, n_informative=4, n_redundant=3, noise=0.5, random_state=3).data
    for k in range(5):
        sr.write_letor(problem.take_queries(np.arange(12 * k, 12 * k + 12)), folder / f"S{k + 1}.txt")
    return folder


def arguments(command: str, data: Path, out: Path) -> list[str]:
    given = {
        "select": [*(str(data / f"S{k}.txt") for k in (1, 2, 3)), *SHORT.split()],
        "letor": [str(data), "--system", "greedy_rank_rls", "--system", "rank_rls", "--system", "rank_svm"],
        "demo": [],
    }
    return [command, *given[command], "--out", str(out), "--threads", "1" if command == "demo" else "2"]


def application(command: str) -> click.Group:
    """The one that has the command."""
    return reproduction.app if command == "letor" else app


def run_here(args: list[str]) -> None:
    """A command in this process, without worker processes."""
    with no_processes(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(sr, "select", partial(sr.select, **QUICK_DEMO))  # which the demo calls, and no other command
        patch.setattr(sys, "argv", ["sparserank", *args])
        with pytest.raises(SystemExit) as stop:
            main(application(args[0]))
    assert stop.value.code in (0, None)


@pytest.fixture(scope="module")
def undisturbed(data: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, float]]:
    """{command: (its directory, seconds that it takes as a process of its own, about)}."""
    out = {}
    for command in COMMANDS:
        place, began = tmp_path_factory.mktemp("undisturbed") / command, time.monotonic()
        run_here(arguments(command, data, place))
        out[command] = (place, START_S + time.monotonic() - began)
    return out


def test_an_interrupt_in_the_middle_of_an_import_is_one_sentence() -> None:
    begun = "".join(f"sys.modules[{module!r}] = types.ModuleType({module!r})\n" for module, _ in UNDONE)
    leaving = f"import sys, types\nfrom sparserank.cli.interrupts import leave\n{begun}leave(143)"
    ended = subprocess.run([sys.executable, "-c", leaving], capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stdout, ended.stderr) == (143, "", "\ninterrupted.\n")
    assert all(callable(getattr(import_module(module), undo)) for module, undo in UNDONE)


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_kills_at_random_moments_change_nothing(command, data, undisturbed, tmp_path, fuzz_seconds, fuzz_seed):
    whole, duration = undisturbed[command]
    rng, out, ended = np.random.default_rng(fuzz_seed), tmp_path / "out", 0
    for n in range(max(N_KILLS, int(fuzz_seconds))):
        how = SIGNALS[(n + COMMANDS.index(command)) % len(SIGNALS)]
        args = [sys.executable, *STARTED[command], *arguments(command, data, out)]
        killed_before = set(tmp_path.rglob(PART))  # removed by the next run that gets as far as its directory
        process = subprocess.Popen(args, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        time.sleep(rng.uniform(0.05, duration) if n % 3 else rng.uniform(0.05, 0.6))  # a third of them while it starts
        workers = children_of(process.pid) if process.poll() is None else []
        process.send_signal(how)
        _, err = process.communicate(timeout=60)
        assert gone(workers, within_s=20.0)
        ended += process.returncode == CODES[how]
        if process.returncode == -how or (
            "KeyboardInterrupt" in err and any(place in err for place in ("site", "runpy", "<string>"))
        ):
            continue  # while Python itself was starting: before the first line of this program
        assert process.returncode in (0, CODES[how]), err
        assert "Traceback" not in err
        assert "leaked" not in err
        if how is not signal.SIGKILL:
            assert set(tmp_path.rglob(PART)) <= killed_before
            assert process.returncode == 0 or "interrupted" in err
        assert_whole(out)
    assert ended >= 2
    run_here(arguments(command, data, out))
    assert results_of(out) == results_of(whole)
    assert not list(tmp_path.rglob(PART))
    if command == "select":
        events = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
        assert max(Counter(e["what"] for e in events if e["event"] == "piece").values()) == 1  # nothing was done twice


@contextmanager
def largest_file(n_bytes: int) -> Iterator[None]:
    """Every write past this size fails, as on a full disk, in this process and its children."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.slow
@pytest.mark.usefixtures("no_processes")
@pytest.mark.parametrize("command", COMMANDS)
def test_a_disk_full_at_any_point_is_one_sentence_and_costs_nothing_finished(
    command, data, undisturbed, tmp_path, monkeypatch, cli
):
    out, failures = tmp_path / "out", 0
    monkeypatch.setattr(sr, "select", partial(sr.select, **QUICK_DEMO))
    line = [*(["reproduction"] if command == "letor" else []), *arguments(command, data, out)]
    for n_bytes in (0, 5, 300, 1500, 6000, 15_000, 30_000, 60_000, 120_000):
        with largest_file(n_bytes):
            outcome = cli(*line)
        assert outcome.code in (0, 1)
        if outcome.code:
            failures += 1
            lines = outcome.err.splitlines()
            assert [text for text in lines if text.startswith("error: ")] == [lines[-1]]
            assert "cannot be written (File too large)" in outcome.err
        assert not list(tmp_path.rglob(PART))
        assert_whole(out)
    assert failures >= 4
    assert cli(*line).code == 0
    assert results_of(out) == results_of(undisturbed[command][0])
