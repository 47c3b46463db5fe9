"""A file system that is really full: one sentence, nothing half-written,
and the same command ends the same when there is room again."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import sparserank as sr
from sparserank.files import PART
from tests.robustness.test_kills_and_full_disks import assert_whole, results_of
from tests.support.command_line import Cli

SIZE_KB = 528
ROOMS_KB = (0, 4, 40)  # left free at each try


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own in memory; skipped where this user may not mount one."""
    place = tmp_path / "small"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={SIZE_KB}k", "tmpfs", str(place)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("this user may not mount a file system")
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    data = sr.datasets.make_ranking(60, (10, 20), 12, n_informative=3, n_redundant=1, noise=0.5, random_state=3).data
    sr.write_letor(data, tmp_path / "train.txt")
    sr.SparseRanker(alpha_ratio=0.2).fit_dataset(data).save(tmp_path / "model.json")
    return tmp_path


FEW = (
    "--folds",
    "2",
    "--n-alphas",
    "8",
    "--half-samples",
    "2",
    "--transform",
    "none",
    "--penalty",
    "l1",
    "--rival",
    "none",
)
LINES: dict[str, tuple[str, ...]] = {
    "select": ("select", "train.txt", "--out", "OUT/run", *FEW),
    "fit": ("fit", "train.txt", "--out", "OUT/model.json"),
    "convert": ("convert", "train.txt", "OUT/store"),
    "rewrite": ("convert", "train.txt", "OUT/train.parquet"),
    "predict": ("predict", "model.json", "train.txt", "--out", "OUT/scores.txt"),
    "run": ("predict", "model.json", "train.txt", "--run", "OUT/a.run", "--qrels", "OUT/a.qrels"),
    "export": ("export", "model.json", "--to", "solr", "--out", "OUT/solr"),
}


def _fill(place: Path, room_kb: int) -> Path:
    """A file that leaves so much free."""
    filler = place / "filler"
    with open(filler, "wb", buffering=0) as out:
        free = os.statvfs(place)
        out.write(bytes(max(free.f_bavail * free.f_frsize - room_kb * 1024, 0)))
    return filler


@pytest.mark.slow_but("select")
@pytest.mark.parametrize("name", LINES)
def test_a_full_file_system(name: str, small: Path, inputs: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(inputs)
    line = [a.replace("OUT", str(small)) for a in LINES[name]]
    failures = 0
    for room in ROOMS_KB:
        filler = _fill(small, room)
        outcome = cli(*line)
        filler.unlink()
        assert outcome.code in (0, 1), outcome.err
        assert "Traceback" not in outcome.err
        if outcome.code:
            failures += 1
            assert len(outcome.sentences) == 1, outcome.err
            assert outcome.sentences[0].startswith(f"error: {small}")
            assert "No space left on device" in outcome.sentences[0]
        assert not list(small.rglob(PART))
        assert_whole(small)
    assert failures >= 1
    outcome = cli(*line)
    if name != "export":  # which writes over nothing
        assert outcome.code == 0, outcome.err
    (inputs / "elsewhere").mkdir()
    assert cli(*(a.replace("OUT", str(inputs / "elsewhere")) for a in LINES[name])).code == 0
    assert results_of(small) == results_of(inputs / "elsewhere")
    for file in (inputs / "elsewhere").iterdir():
        if file.is_file() and file.suffix != ".parquet":
            assert (small / file.name).read_bytes() == file.read_bytes()
    if name == "convert":
        np.testing.assert_array_equal(
            sr.open_store(small / "store").X[:], sr.open_store(inputs / "elsewhere/store").X[:]
        )


@pytest.mark.slow
def test_an_answer_for_which_there_is_no_room(small: Path, inputs: Path) -> None:
    """Standard output goes to a file on the full file system:
    exit 1 and one sentence, not half an answer and exit 0."""
    filler = _fill(small, 0)
    for line in (["evaluate", "train.txt", "--system", "model.json"], ["predict", "model.json", "train.txt"]):
        with open(small / "answer", "w") as out:
            done = subprocess.run(
                ["sparserank", *line, "--format", "json"],
                cwd=inputs,
                stdout=out,
                stderr=subprocess.PIPE,
                text=True,
                check=False,
                env={**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
            )
        assert done.returncode == 1
        assert done.stderr.splitlines()[-1].startswith("error: ")
        assert "No space left on device" in done.stderr.splitlines()[-1]
        assert "Traceback" not in done.stderr
    filler.unlink()
