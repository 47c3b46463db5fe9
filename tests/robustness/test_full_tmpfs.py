"""A file system that is really full: one sentence, nothing half-written, and the same end when there is room."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import sparserank as sr
from sparserank.files import PART
from tests.support.finished_runs import assert_whole, results_of

SIZE_KB = 528
ROOMS_KB = (0, 4, 40)  # left free at each try
FEW_PIECES = "--folds 2 --n-alphas 8 --half-samples 2 --transform none --penalty l1 --rival none"
LINES: dict[str, str] = {
    "select": f"select train.txt --out OUT/run {FEW_PIECES}",
    "fit": "fit train.txt --out OUT/model.json",
    "convert": "convert train.txt OUT/store",
    "rewrite": "convert train.txt OUT/train.parquet",
    "predict": "predict model.json train.txt --out OUT/scores.txt",
    "run": "predict model.json train.txt --run OUT/a.run --qrels OUT/a.qrels",
    "export": "export model.json --to solr --out OUT/solr",
}


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own in memory; skipped where this user may not mount one."""
    place = tmp_path / "small"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SIZE_KB}k", "tmpfs", str(place)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("this user may not mount a file system")
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    made = sr.datasets.make_ranking(60, (10, 20), 12, n_informative=3, n_redundant=1, noise=0.5, random_state=3).data
    sr.write_letor(made, tmp_path / "train.txt")
    sr.SparseRanker(alpha_ratio=0.2).fit_dataset(made).save(tmp_path / "model.json")
    return tmp_path


def fill(place: Path, room_kb: int) -> Path:
    """A file that leaves so much free."""
    filler = place / "filler"
    with open(filler, "wb", buffering=0) as out:
        free = os.statvfs(place)
        out.write(bytes(max(free.f_bavail * free.f_frsize - room_kb * 1024, 0)))
    return filler


@pytest.mark.slow_but("select")
@pytest.mark.parametrize("name", LINES)
def test_a_full_file_system(name, small, data, tmp_path, cli, monkeypatch):
    monkeypatch.chdir(data)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    line, freely = (LINES[name].replace("OUT", str(place)).split() for place in (small, elsewhere))
    failures = 0
    for room in ROOMS_KB:
        filler = fill(small, room)
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
    assert cli(*freely).code == 0
    assert results_of(small) == results_of(elsewhere)
    for file in elsewhere.rglob("*"):
        if file.is_file() and file.suffix in ("", ".run", ".qrels", ".npy"):
            assert (small / file.relative_to(elsewhere)).read_bytes() == file.read_bytes()
