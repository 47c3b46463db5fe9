"""Resumable work: what is there is not done again, what is finished is kept before it is told of, and time left is that
of whole pieces."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import sparserank as sr
from sparserank.runs.progress import TimeLeft
from sparserank.runs.work import Work

DATA = sr.datasets.make_ranking(30, (6, 12), 6, n_informative=3, n_redundant=1, noise=0.5, random_state=4).data


class Shelf:
    """A keeper in memory."""

    def __init__(self, **held: int) -> None:
        self.held: dict[str, int] = dict(held)

    def load(self, name: str) -> int | None:
        return self.held.get(name)

    def save(self, name: str, result: int) -> None:
        self.held[name] = result


def square(x: int) -> int:
    if x < 0:
        raise ValueError("below 0")
    return x * x


def test_what_is_there_is_not_done_again() -> None:
    told: list[tuple[int, int, str]] = []
    shelf = Shelf(a=100)
    work = Work(
        dict.fromkeys("abc", "square"), keeper=shelf, progress=lambda done, n, what, left: told.append((done, n, what))
    )
    work.begin()
    work.run(square, {"a": (1,), "b": (2,), "c": (3,)}, dict(zip("abc", "ABC", strict=True)), processes=False)
    assert work.results == shelf.held == {"a": 100, "b": 4, "c": 9}
    assert told[0] == (1, 3, "resumed")
    assert [t[:2] for t in told[1:]] == [(2, 3), (3, 3)]


def test_a_piece_is_kept_before_it_is_told_of() -> None:
    """The wrong variant tells first: what raises there loses the piece."""
    shelf = Shelf()

    def stop(done: int, n: int, what: str, left: float | None) -> None:
        if done:
            raise KeyboardInterrupt

    work = Work({"a": "square"}, keeper=shelf, progress=stop)
    with pytest.raises(KeyboardInterrupt):
        work.finish("a", "A", 1, 0.1)
    assert shelf.held == {"a": 1}


def test_an_error_ends_the_others_or_is_noted() -> None:
    arguments, what = {"a": (-1,), "b": (2,)}, {"a": "A", "b": "B"}
    with pytest.raises(ValueError, match="below 0"):
        Work(dict.fromkeys("ab", "square")).run(square, arguments, what, processes=False)
    failed: dict[str, Exception] = {}
    told: list[int] = []
    work = Work(dict.fromkeys("ab", "square"), progress=lambda done, n, what, left: told.append(done))
    work.run(square, arguments, what, processes=False, failed=failed.__setitem__)
    assert list(failed) == ["a"]
    assert work.results == {"b": 4}
    assert told == [1, 2]


def test_results_may_be_in_the_keeper_alone() -> None:
    shelf = Shelf(a=1)
    work = Work(dict.fromkeys("ab", "square"), keeper=shelf, in_memory=False)
    work.finish("b", "B", 4, 0.1)
    assert work.done == {"a", "b"}
    assert work.results == {}
    assert shelf.held == {"a": 1, "b": 4}


def test_the_last_piece_takes_its_whole_time() -> None:
    """Five equal pieces on four workers; the wrong variant divides seconds among the workers."""
    left = TimeLeft(["piece"] * 5, 4)
    wrong = TimeLeft(["piece"] * 5, 1)
    seen, divided = [], []
    for _ in range(5):
        left.finished("piece", 0.8)
        wrong.finished("piece", 0.8 / 4)
        seen.append(left.seconds())
        divided.append(wrong.seconds())
    assert seen == pytest.approx([0.8, 0.8, 0.8, 0.8, 0.0])
    assert divided != pytest.approx(seen)


def test_pieces_that_have_all_workers_come_on_top() -> None:
    left = TimeLeft(["ours", "ours", "trees", "trees", "trees", "trees"], 2, alone=("ours",))
    left.finished("ours", 3.0)
    left.finished("trees", 1.0)
    assert left.seconds() == pytest.approx(3.0 + 1.5)


@pytest.mark.slow
def test_an_end_at_any_report_leaves_no_checkpoint_of_a_finished_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sparserank.crossval.fitting.CHECKPOINT_S", 0.0)
    options: dict[str, Any] = {
        "penalties": "l1",
        "feature_transform": "none",
        "n_alphas": 4,
        "cv": 2,
        "half_samples": 0,
    }
    n_reports = 0

    def count(done: int, n: int, what: str, left: float | None) -> None:
        nonlocal n_reports
        n_reports += 1

    sr.select(DATA, progress=count, out=tmp_path / "whole", **options)
    for last in (n_reports // 2, n_reports - 1, n_reports):
        seen = 0

        def stop(done: int, n: int, what: str, left: float | None, last: int = last) -> None:
            nonlocal seen
            seen += 1
            if seen == last:
                raise KeyboardInterrupt

        run = tmp_path / f"run {last}"
        with pytest.raises(KeyboardInterrupt):
            sr.select(DATA, progress=stop, out=run, **options)
        sr.select(DATA, out=run, **options)
        assert not list((run / "arrays").glob("unfinished-*"))
        logged = [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]
        units = [e["what"] for e in logged if e["event"] == "piece"]
        pieces = [p for p in (run / "arrays").glob("*.npz") if not p.name.startswith(("half", "ablation"))]
        assert len(units) == len(set(units)) == len(pieces)
